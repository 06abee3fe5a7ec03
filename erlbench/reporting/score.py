"""The one number by which a run is judged, its score, of several kinds; and runs as they were at one moment.

An unsteady mean is judged by its curve: the mean over the same stretch of the axis for all runs of a comparison,
without the final evaluation. A comparison of which a run has no such curve is judged by the final evaluation instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from erlbench.errors import UsageError
from erlbench.records.read import ignore
from erlbench.records.run import NEVER_TRAINED
from erlbench.reporting.cells import Warn, list_rows, select_counted_runs
from erlbench.reporting.formats import number
from erlbench.reporting.runs import disagreement
from erlbench.reporting.statistics import Array, mean

AUTO, FINAL, CURVE = "auto", "final", "curve"  # AUTO: the curve where all runs have it, else final
SUCCESS, SUCCESS_EVER = "success", "success-ever"
TIMESTEPS, MINUTES = "timesteps", "minutes"  # axes: training steps, minutes of training
LEARNING = "simulator-steps"  # an axis: training steps and the steps that evaluate the mean for learning
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


METRICS = {
    CURVE: Metric("Mean of the evaluation curve", "mean of the curve", None),
    FINAL: Metric("Return of the final evaluation", "final return", final),
    "final-10": Metric("Mean return of the last ten evaluations", "return of the last ten evaluations", final_10),
    "area": Metric("Mean return over training (area under the curve divided by its steps)", "area", area),
    SUCCESS: Metric(
        "Share of the final evaluation's episodes that end in success", "success", lambda run: mean(run.last_success)
    ),
    SUCCESS_EVER: Metric(
        "Share of the final evaluation's episodes with success at any step",
        "success at any step",
        lambda run: mean(run.last_success_ever),
    ),
}


def score(run: Any, metric: str, stretch: CurveStretch | None = None) -> float:
    """The score of a run; NaN where it has none of this kind."""
    if (of := METRICS[metric].of) is not None:
        return of(run)
    if stretch is None:
        return float("nan")
    return stretch_mean(*training_curve(run.evaluations, stretch.axis), stretch.start, stretch.end)


def common_stretch(evaluations: Iterable[Any], budget: float, axis: str = TIMESTEPS) -> CurveStretch | None:
    """The last stretch that the curves of all runs span, a fifth of the budget long.

    None where one of them ends before three quarters of the budget, or has fewer than two evaluations on it.
    """
    curves = [training_curve(rows, axis)[0] for rows in evaluations]
    if not (curves and budget and all(len(x) for x in curves)):
        return None
    end = min(budget, *(float(x[-1]) for x in curves))
    stretch = CurveStretch(axis, end - SHARE * budget, end)
    fewest = min(int(((x >= stretch.start) & (x <= end)).sum()) for x in curves)
    begin = max(float(x[0]) for x in curves)
    return stretch if end >= EARLIEST * budget and begin <= stretch.start and fewest >= FEWEST else None


def training_curve(evaluations: Any, axis: str) -> tuple[Array, Array]:
    """Axis (of `UNITS`) and mean return (points,) without the final evaluation."""
    kept = evaluations.final != 1
    if np.isnan(evaluations.final).all():
        kept[-1:] = False  # an older file does not mark the final one
    x = {TIMESTEPS: evaluations.timesteps, LEARNING: evaluations.learning_steps}.get(axis, evaluations.seconds / 60)
    return x[kept], evaluations.return_mean[kept]


def stretch_mean(x: Array, y: Array, start: float, end: float) -> float:
    """The mean of a curve from `start` to `end`, linear between its points (points,), x increasing.

    NaN where the curve does not span the stretch.
    """
    if not (len(x) and x[0] <= start and x[-1] >= end):
        return float("nan")
    points = np.concatenate([[start], x[(x > start) & (x < end)], [end]])
    values = np.interp(points, x, y)
    return float(np.trapezoid(values, points) / (end - start))


NEAR = 0.1  # how far from the moment an evaluation may be, as a share of it
UNIT = "min"


@dataclass(frozen=True)
class Moment:
    """A number of training steps, or of minutes of training."""

    value: float
    minutes: bool = False

    def __str__(self) -> str:
        return f"{self.value:,.15g} training {'minute' if self.minutes else 'step'}{'' if self.value == 1 else 's'}"

    def of(self, evaluations: Any) -> Array:
        """When each evaluation was, in the same unit (evaluations,); infinite where not recorded."""
        when = evaluations.seconds / 60 if self.minutes else evaluations.timesteps
        return np.nan_to_num(when, nan=math.inf)

    def span(self, runs: Sequence[Any]) -> str:
        """The earliest and the latest end of the runs, in the same unit."""
        ends = [float(self.of(run.evaluations)[-1]) for run in runs]
        return f"{_exact(min(ends))} to {_exact(max(ends))}"


def parse_moment(text: str) -> Moment:
    """The moment of `300000`, `3e5` or `30min`. Raises `UsageError` for anything else."""
    minutes = text.endswith(UNIT)
    try:
        value = float(text.removesuffix(UNIT))
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0 and (minutes or value % 1 == 0)):
        raise UsageError(f"--at {text}: no training steps or minutes; give 300000, 3e5 or 30min, for example")
    return Moment(value, minutes)


def cut_runs(runs: pd.DataFrame, moment: Moment, warn: Warn) -> pd.DataFrame:
    """Each run up to its evaluation that is nearest to `moment`, the later of two, as if this had been its end.

    A run without an evaluation within a tenth of it, or with a damaged one there, is left out with a warning, but a
    failed one stays as it is, as does one that never counts. One that makes its first gradient step later does not
    count. Runs of several budgets are one cell then, if their algorithm does not compute with its budget (`cells.py`).
    Raises `UsageError` when no run is left.
    """
    failed, never = runs.status == "failed", runs.status.isin(["altered", NEVER_TRAINED])
    budget: dict[str, Any] = {"total_generations": 0, "total_minutes": 0.0}
    budget |= {"total_timesteps": 0 if moment.minutes else int(moment.value)}
    counting = list_rows(runs[~never])
    all_ends = {run.Index: _find_end(run, moment, ignore if failed[run.Index] else warn) for run in counting}
    ends = {index: end for index, end in all_ends.items() if end is not None}
    if not ends:
        raise UsageError(f"--at: no run has an evaluation within {NEAR:.0%} of {moment}")
    shortened = runs.loc[[*ends]].copy()
    lengths, ends_of = shortened.evaluations.map(len), pd.Series(ends)
    for name in ("last_success", "last_success_ever"):  # known of the last evaluation alone
        shortened[name] = shortened[name].where(lengths == ends_of, pd.Series([()] * len(shortened), shortened.index))
    shortened["evaluations"] = [rows[:end] for rows, end in zip(shortened.evaluations, ends_of)]
    last = pd.DataFrame(np.concatenate([rows[-1:] for rows in shortened.evaluations]), index=shortened.index)
    shortened["final_episodes"] = shortened.final_episodes.where(last.final == 1, shortened.eval_episodes)
    untrained = ~shortened.evaluations.map(_has_learnt) & runs.evaluations[[*ends]].map(_has_learnt)
    for path in shortened.path[untrained]:
        warn(f"{path}: made no gradient step before {moment}; it has no score there and is compared with nothing")
    shortened = shortened.assign(
        **budget,
        status=untrained.map({True: NEVER_TRAINED, False: "done"}),
        done=~untrained,
        message="",
        timesteps=last.timesteps.astype(int),
        train_time_s=last.train_time_s,
        seconds=last.seconds,
    )
    before = runs.loc[(failed | never) & ~runs.index.isin(ends)].assign(**budget)
    return select_counted_runs(pd.concat([shortened, before]) if len(before) else shortened, warn)


def _has_learnt(rows: Any) -> bool:
    """Whether a run has made a gradient step by the last of its evaluations `rows`."""
    return bool(rows[-1].critic_updates + rows[-1].actor_updates > 0)


def _find_end(run: Any, moment: Moment, warn: Warn) -> int | None:
    """How many of a run's evaluations are before the cut; None, with a warning, where it is left out."""
    if moment.minutes and not run.timed:
        warn(f"{run.path}: other cells ran on its cores, so that its minutes do not count; left out")
        return None
    last = nearest_index(moment.of(run.evaluations), moment.value)
    if last is None:
        warn(f"{run.path}: no evaluation within {NEAR:.0%} of {moment}; left out")
        return None
    problem = disagreement(run.evaluations.return_mean[-1], run.last_returns)
    if last + 1 == len(run.evaluations) and problem:
        warn(f"{run.path}: the last row of eval.csv is damaged: {problem}; left out")
        return None
    return last + 1


def nearest_index(steps: Array, wanted: float) -> int | None:
    """The index of the point nearest to `wanted`, of equally near ones the last; None if none is within a tenth of it.

    steps: (points,). At the last one the run has had at least the wanted steps.
    """
    if not len(steps):
        return None
    distances = np.abs(steps - wanted)
    index = len(steps) - 1 - int(distances[::-1].argmin())
    return index if distances[index] <= NEAR * wanted else None


def _exact(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")
