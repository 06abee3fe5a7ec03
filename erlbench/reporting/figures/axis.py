"""What curves are drawn over: training steps, training minutes, generations or episodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from erlbench.reporting.data.runs import Array, Evaluations
from erlbench.reporting.figures import style

Series = tuple[Array, Array]  # x and y of a run


@dataclass(frozen=True)
class Axis:
    """One horizontal axis: its label, and where a run's values on it stand."""

    label: str
    words: str  # for captions
    of: Callable[[Evaluations], Array]
    train_column: str | None  # of train.csv; None when it has none
    scale: float = 1.0  # of train.csv's values

    def evaluations(self, evaluations: Evaluations, smooth: int) -> Series:
        """A run's returns over this axis."""
        return self.series(self.of(evaluations), evaluations.return_mean, smooth)

    @staticmethod
    def series(x: Array, y: Array, smooth: int) -> Series:
        """The points (x, y) whose values are numbers, y smoothed; of several at one x the last."""
        there = np.isfinite(x) & np.isfinite(y)
        x, y = x[there], moving_average(y[there], smooth)
        last = np.append(x[1:] > x[:-1], True)[: len(x)]
        return x[last], y[last]

    def finish(self, axes: Any) -> None:
        """Label and ticks of a figure's axes; they begin at zero."""
        axes.set(xlabel=self.label)
        axes.set_xlim(left=0)
        style.steps_axis(axes.xaxis)


AXES = {
    "timesteps": Axis("Training steps", "training steps", lambda e: e.timesteps, "timesteps"),
    "time": Axis(
        "Training time (minutes)", "training time without evaluation", lambda e: e.train_time_s / 60, "train_time_s",
        1 / 60,
    ),
    "generation": Axis("Generations", "generations", lambda e: e.generation, "generation"),
    "episodes": Axis("Training episodes", "training episodes", lambda e: e.episodes, None),
}  # fmt: skip


def moving_average(values: Array, points: int) -> Array:
    """The mean of the last `points` values at each of them (values,); at the beginning, of those there are."""
    if points <= 1 or not len(values):
        return values
    sums = np.concatenate([[0.0], np.cumsum(values)])
    stop = np.arange(1, len(values) + 1)
    start = np.maximum(0, stop - points)
    return np.asarray((sums[stop] - sums[start]) / (stop - start), dtype=np.float64)


def smoothing_note(points: int, what: str) -> str:
    """How a figure's curves were smoothed, for its caption; empty when they were not."""
    if points <= 1:
        return ""
    return (
        f"Each run's curve is the moving average over its last {points} {what} (at the beginning over those there are)"
    )
