"""Runs as they were at one moment of their training, whatever their budgets are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from erlbench.errors import UsageError
from erlbench.reporting.data.cells import cells_of
from erlbench.reporting.data.remarks import RemarkKind, Warn, remark
from erlbench.reporting.data.runs import Array, StoredEvaluations, StoredRun, disagreement

NEAR = 0.1  # how far from the moment an evaluation may be, as a share of it
MINUTES = "min"


@dataclass(frozen=True)
class Moment:
    """A number of training steps, or of minutes of training."""

    value: float
    minutes: bool = False

    def __str__(self) -> str:
        return f"{_exact(self.value)} training {'minute' if self.minutes else 'step'}{'' if self.value == 1 else 's'}"

    def of(self, evaluations: StoredEvaluations) -> Array:
        """When each evaluation was, in the same unit (evaluations,); infinite where the file does not say."""
        when = evaluations.seconds / 60 if self.minutes else evaluations.timesteps
        return np.nan_to_num(when, nan=math.inf)

    def span(self, runs: Sequence[StoredRun]) -> str:
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


def cut_runs(runs: Sequence[StoredRun], moment: Moment, warn: Warn) -> list[StoredRun]:
    """Each run up to its evaluation that is nearest to `moment`, the later of two, as if this had been its end.

    A run without an evaluation within a tenth of it, or with a damaged one there, is left out with a warning. Runs of
    several budgets are one cell then, if their algorithm does not compute with its budget (`cells.py`). Raises
    `UsageError` when no run is left.
    """
    found = list(_cut(runs, moment, warn))
    if not found:
        raise UsageError(f"--at: no run has an evaluation within {NEAR:.0%} of {moment}")
    return cells_of(found, warn)


def _cut(runs: Sequence[StoredRun], moment: Moment, warn: Warn) -> Iterator[StoredRun]:
    for run in runs:
        if moment.minutes and not run.timed:
            warn(remark(RemarkKind.SHARED_CORES, run.path))
            continue
        last = nearest_index(moment.of(run.evaluations), moment.value)
        if last is None:
            warn(remark(RemarkKind.NO_EVALUATION, run.path, near=f"{NEAR:.0%}", moment=moment))
            continue
        known = run.evaluations.head(last + 1)
        if len(known) == len(run.evaluations) and (problem := disagreement(known)):
            warn(remark(RemarkKind.DAMAGED_END, run.path, problem=problem))
            continue
        yield replace(
            run, total_timesteps=0 if moment.minutes else int(moment.value), total_generations=0,
            total_minutes=0.0, status="done", message="", evaluations=known, timesteps=int(known.timesteps[-1]),
            train_time_s=float(known.train_time_s[-1]),
            final_episodes=run.final_episodes if known.final[-1] == 1 else run.eval_episodes,
        )  # fmt: skip


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
