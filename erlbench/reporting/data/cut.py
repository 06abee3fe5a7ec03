"""Runs as they were at one moment of their training, whatever their budgets are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from erlbench.errors import UsageError
from erlbench.reporting.data.cells import count_runs, list_rows
from erlbench.reporting.data.remarks import Warn
from erlbench.reporting.data.runs import Array, disagreement

NEAR = 0.1  # how far from the moment an evaluation may be, as a share of it
MINUTES = "min"


@dataclass(frozen=True)
class Moment:
    """A number of training steps, or of minutes of training."""

    value: float
    minutes: bool = False

    def __str__(self) -> str:
        return f"{_exact(self.value)} training {'minute' if self.minutes else 'step'}{'' if self.value == 1 else 's'}"

    def of(self, evaluations: Any) -> Array:
        """When each evaluation was, in the same unit (evaluations,); infinite where the file does not say."""
        when = evaluations.seconds / 60 if self.minutes else evaluations.timesteps
        return np.nan_to_num(when, nan=math.inf)

    def span(self, runs: Sequence[Any]) -> str:
        """The earliest and the latest end of the runs, in the same unit."""
        ends = [float(self.of(run.evaluations)[-1]) for run in runs]
        return f"{_exact(min(ends))} to {_exact(max(ends))}"


def parse_moment(text: str) -> Moment:
    """The moment of `300000`, `3e5` or `30min`. Raises `UsageError` for anything else."""
    minutes = text.endswith(MINUTES)
    try:
        value = float(text.removesuffix(MINUTES))
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0 and (minutes or value % 1 == 0)):
        raise UsageError(f"--at {text}: no training steps or minutes; give 300000, 3e5 or 30min, for example")
    return Moment(value, minutes)


def cut_runs(runs: pd.DataFrame, moment: Moment, warn: Warn) -> pd.DataFrame:
    """Each run up to its evaluation that is nearest to `moment`, the later of two, as if this had been its end.

    A run without an evaluation within a tenth of it, or with a damaged one there, is left out with a warning. Runs of
    several budgets are one cell then, if their algorithm does not compute with its budget (`cells.py`). Raises
    `UsageError` when no run is left.
    """
    ends = {run.Index: end for run in list_rows(runs) if (end := _end(run, moment, warn)) is not None}
    if not ends:
        raise UsageError(f"--at: no run has an evaluation within {NEAR:.0%} of {moment}")
    cut = runs.loc[[*ends]].copy()
    lengths, ends_of = cut.evaluations.map(len), pd.Series(ends)
    for name in ("last_success", "last_success_ever"):  # known of the last evaluation alone
        cut[name] = cut[name].where(lengths == ends_of, pd.Series([()] * len(cut), cut.index))
    cut["evaluations"] = [rows[:end] for rows, end in zip(cut.evaluations, ends_of, strict=True)]
    last = pd.DataFrame(np.concatenate([rows[-1:] for rows in cut.evaluations]), index=cut.index)
    cut["final_episodes"] = cut.final_episodes.where(last.final == 1, cut.eval_episodes)
    cut = cut.assign(
        total_timesteps=0 if moment.minutes else int(moment.value), total_generations=0, total_minutes=0.0,
        status="done", done=True, message="", timesteps=last.timesteps.astype(int), train_time_s=last.train_time_s,
        seconds=last.seconds,
    )  # fmt: skip
    return count_runs(cut, warn)


def _end(run: Any, moment: Moment, warn: Warn) -> int | None:
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
