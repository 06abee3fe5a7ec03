"""The one number by which a run is judged: its score, of several kinds.

An unsteady mean is judged by its curve: the mean over the same stretch of the axis for all runs of a comparison,
without the final evaluation. A comparison of which a run has no such curve is judged by the final evaluation instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erlbench.reporting.documents.formats import number

Array = NDArray[np.float64]

AUTO, FINAL, CURVE = "auto", "final", "curve"  # AUTO: the curve where all runs have it, else final
SUCCESS, SUCCESS_EVER = "success", "success-ever"
TIMESTEPS, MINUTES = "timesteps", "minutes"  # axes: training steps, and those of training
LEARNING = "simulator-steps"  # an axis: training steps and those that measure the mean for learning
LAST = 10  # evaluations of `final_10`
SHARE, EARLIEST = 0.2, 0.75  # of the budget: the stretch's length, and before which it does not end
FEWEST = 2  # evaluations of a run on the stretch
UNITS = {TIMESTEPS: "training steps", MINUTES: "minutes", LEARNING: "simulator steps"}


@dataclass(frozen=True)
class CurveStretch:
    """A part of an axis, over which a curve is averaged."""

    axis: str  # of `UNITS`
    start: float
    end: float

    def __str__(self) -> str:
        show = number if self.axis == MINUTES else lambda value: f"{value:,.0f}"
        return f"from {show(self.start)} to {show(self.end)} {UNITS[self.axis]}"


@dataclass(frozen=True)
class Metric:
    """A kind of score."""

    words: str  # what a caption calls it
    title: str  # what a heading calls it
    of: Callable[[Any], float] | None  # of a run; None: of a stretch of its curve


def final(run: Any) -> float:
    """The mean return of the last evaluation's episodes."""
    return float(run.evaluations.return_mean[-1])


def final_10(run: Any) -> float:
    """The mean return of the last ten evaluations; NaN when there are fewer."""
    returns = run.evaluations.return_mean
    return float(returns[-LAST:].mean()) if len(returns) >= LAST else float("nan")


def area(run: Any) -> float:
    """The area under the curve over training steps (trapezoids) divided by the steps it spans: a mean return."""
    x, y = run.evaluations.timesteps, run.evaluations.return_mean
    return float(np.trapezoid(y, x) / (x[-1] - x[0])) if len(x) > 1 else float("nan")


def success(run: Any) -> float:
    """The share of the last evaluation's episodes that end in success; NaN where no info says it."""
    return float(np.mean(run.last_success)) if run.last_success else float("nan")


def success_ever(run: Any) -> float:
    """The share of the last evaluation's episodes with a success at any step; NaN where no info says it."""
    return float(np.mean(run.last_success_ever)) if run.last_success_ever else float("nan")


METRICS = {
    CURVE: Metric("Mean of the evaluation curve", "mean of the curve", None),
    FINAL: Metric("Return of the final evaluation", "final return", final),
    "final-10": Metric("Mean return of the last ten evaluations", "return of the last ten evaluations", final_10),
    "area": Metric("Mean return over training (area under the curve divided by its steps)", "area", area),
    SUCCESS: Metric("Share of the final evaluation's episodes that end in success", "success", success),
    SUCCESS_EVER: Metric(
        "Share of the final evaluation's episodes with success at any step", "success at any step", success_ever
    ),
}


def score(run: Any, metric: str, stretch: CurveStretch | None = None) -> float:
    """The score of a run; NaN where it has none of this kind."""
    if (of := METRICS[metric].of) is not None:
        return of(run)
    if stretch is None:
        return float("nan")
    return stretch_mean(*on_the_way(run.evaluations, stretch.axis)[:2], stretch.start, stretch.end)


def common_stretch(evaluations: Iterable[Any], budget: float, axis: str = TIMESTEPS) -> CurveStretch | None:
    """The last stretch that the curves of all runs span, a fifth of the budget long.

    None where one of them ends before three quarters of the budget, or has fewer than two evaluations on it.
    """
    curves = [on_the_way(rows, axis)[0] for rows in evaluations]
    if not (curves and budget and all(len(x) for x in curves)):
        return None
    end = min(budget, *(float(x[-1]) for x in curves))
    found = CurveStretch(axis, end - SHARE * budget, end)
    fewest = min(int(((x >= found.start) & (x <= end)).sum()) for x in curves)
    begin = max(float(x[0]) for x in curves)
    return found if end >= EARLIEST * budget and begin <= found.start and fewest >= FEWEST else None


def on_the_way(evaluations: Any, axis: str) -> tuple[Array, Array, Array]:
    """Axis (of `UNITS`), mean return and all simulator steps (points,) without the final evaluation."""
    kept = evaluations.final != 1
    if np.isnan(evaluations.final).all():
        kept[-1:] = False  # an older file does not say which is the final one
    x = {TIMESTEPS: evaluations.timesteps, LEARNING: evaluations.learning_steps}.get(
        axis, evaluations.train_time_s / 60
    )
    return x[kept], evaluations.return_mean[kept], evaluations.all_steps[kept]


def stretch_mean(x: Array, y: Array, start: float, end: float) -> float:
    """The mean of a curve from `start` to `end`, linear between its points (points,), x increasing.

    NaN where the curve does not span the stretch.
    """
    if not len(x) or x[0] > start or x[-1] < end:
        return float("nan")
    points = np.concatenate([[start], x[(x > start) & (x < end)], [end]])
    values = np.interp(points, x, y)
    return float(np.trapezoid(values, points) / (end - start))
