"""What curves are drawn over: training steps, all steps, training time, updates, generations or episodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np

from erlbench.reporting.data.comparison import RunSet, with_runs
from erlbench.reporting.data.nominal import with_known_steps
from erlbench.reporting.data.runs import Array, Evaluations, Run
from erlbench.reporting.statistics.curves import MOST_POINTS, Curve, Points, by_seed, curve

TIME_UNITS = (("seconds", 1.0), ("minutes", 60.0), ("hours", 3600.0), ("days", 86400.0))


@dataclass(frozen=True)
class Axis:
    """One horizontal axis: its label, and where a run's values on it stand."""

    label: str
    words: str  # for captions
    of: Callable[[Evaluations], Array]
    train_column: str | None  # of train.csv; None when it has none
    note: str  # what it counts
    _: KW_ONLY
    seconds: bool = False  # its values are seconds, shown in the unit that fits
    nominal: bool = False  # runs without nominal steps are left out; train.csv is read by generations, if they count

    def evaluations(self, evaluations: Evaluations, smooth: int) -> Points:
        """A run's returns over this axis."""
        return self.series(self.of(evaluations), evaluations.return_mean, smooth)

    @staticmethod
    def series(x: Array, y: Array, smooth: int) -> Points:
        """The points (x, y) whose values are numbers, y smoothed; of several at one x the last."""
        there = np.isfinite(x) & np.isfinite(y)
        x, y = x[there], moving_average(y[there], smooth)
        last = np.append(x[1:] > x[:-1], True)[: len(x)]
        return x[last], y[last]

    def train(self, evaluations: Evaluations) -> tuple[str | None, float]:
        """The column of a run's train.csv, and by what its values are multiplied."""
        if self.nominal and evaluations.generation_steps:
            return "generation", evaluations.generation_steps
        return self.train_column, 1.0

    def drawable(self, run_sets: Sequence[RunSet]) -> tuple[list[RunSet], str]:
        """The run sets with those of their runs that this axis can show, and a note on the others, or an empty text."""
        if self.nominal:
            return with_known_steps(run_sets)
        if not self.seconds:
            return list(run_sets), ""
        known, left_out = with_runs(run_sets, lambda run: run.timed)
        return known, shared_note(left_out) if left_out else ""

    def unit(self, largest: float) -> tuple[str, float]:
        """The label with its unit for values up to `largest`, and by what to divide values."""
        if not self.seconds:
            return self.label, 1.0
        name, scale = time_unit(largest)
        return f"{self.label} ({name})", scale


def shared_note(names: Sequence[str]) -> str:
    """That runs are left out because they shared cores, and what to do."""
    return (
        f"Not drawn over training time: {', '.join(dict.fromkeys(names))}. Other cells of the command ran on the cores "
        "of these runs, so that their minutes do not count; `--jobs 1` runs one cell at a time."
    )


def time_unit(seconds: float) -> tuple[str, float]:
    """The largest unit of which `seconds` are at least two, and its seconds."""
    fitting = [unit for unit in TIME_UNITS if seconds >= 2 * unit[1]]
    return fitting[-1] if fitting else TIME_UNITS[0]


AXES = {
    "timesteps": Axis(
        "Training steps", "training steps", lambda e: e.timesteps, "timesteps",
        "Environment steps that the budget counts, the papers' axis.",
    ),
    "nominal": Axis(
        "Nominal steps", "nominal steps", lambda e: e.nominal, "timesteps",
        "Steps as the ESAC paper counts them: one episode of full length for a generation of ESAC and ES, all steps of "
        "SAC, TD3, DDPG and PPO. Other runs are left out: their nominal steps are not known.",
        nominal=True,
    ),
    "simulator-steps": Axis(
        "Simulator steps used", "simulator steps used", lambda e: e.learning_steps, None,
        "Training steps and steps that measure the mean for learning: all that an algorithm uses.",
    ),
    "all-steps": Axis(
        "All simulator steps", "all simulator steps", lambda e: e.all_steps, None,
        "Training steps, steps that measure the mean for learning, steps of the evaluations, and PPO's replayed ones.",
    ),
    "time": Axis(
        "Training time", "training time without evaluation", lambda e: e.seconds, "train_time_s",
        "Time on the clock without the evaluations of the reported policy and without pauses.", seconds=True,
    ),
    "updates": Axis(
        "Critic updates", "critic updates", lambda e: e.critic_updates, "critic_updates",
        "Gradient updates of the critic; none for evolution strategies.",
    ),
    "generation": Axis(
        "Generations", "generations", lambda e: e.generation, "generation",
        "Generations, which differ between algorithms.",
    ),
    "episodes": Axis(
        "Training episodes", "training episodes", lambda e: e.episodes, None, "Episodes of training.",
    ),
}  # fmt: skip


def averaged(run_set: RunSet) -> tuple[Run, ...]:
    """The runs that the mean is over: the finished ones, without any of these all."""
    return run_set.done or run_set.runs


def seed_curve(runs: Sequence[tuple[int, Points]], band: str, most: int = MOST_POINTS) -> Curve:
    """The mean over seeds, a seed by the mean of its runs (seed, (x, y)), with a band.

    `range` is from the lowest to the highest run: means of several runs spread less.
    """
    line = curve(by_seed(runs), band, most)
    if band == "interval" or not len(line.x):
        return line
    values = np.array([np.interp(line.x, *points) for _, points in runs if len(points[0])])
    return replace(line, low=values.min(axis=0), high=values.max(axis=0))


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
