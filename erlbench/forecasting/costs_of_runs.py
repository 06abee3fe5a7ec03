"""What the tasks of runs cost: read from `tasks.csv`, and fitted."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from erlbench.errors import UsageError, warn
from erlbench.experiment.costs import Costs
from erlbench.files import readable
from erlbench.records.read import read_rows
from erlbench.records.schema import TaskRow

ROUNDS = 30  # of the reweighted fit
DISTURBED = 2.0  # times the fit: a task that took longer had something else beside it
BUSY = 0.25  # share of the other cores that has to be busy, or crowding cannot be measured
Counted = tuple[float, ...]  # of a task: seconds, timesteps, critic updates, actor updates
COUNTS = ("timesteps", "critic_updates", "actor_updates")


class _Row(NamedTuple):
    """A task in `tasks.csv`."""

    start: float
    end: float
    ready: float
    process: float
    counts: Sequence[float]


@dataclass
class Measured:
    """What was seen in runs; all in seconds."""

    tasks: list[Counted] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)  # of each task: how many others ran meanwhile, in the mean
    gaps: list[float] = field(default_factory=list)  # of a process, from a task to one that waited for its end
    pauses: list[float] = field(default_factory=list)  # of all processes, from the last task to one asked for after it

    def add(self, folder: Path) -> None:
        """What `tasks.csv` in `folder` says."""
        self._add(_read(folder))

    def add_tasks(self, rows: Iterable[TaskRow]) -> None:
        """What the tasks of a training took."""
        self._add([
            _Row(row.start_s, row.end_s, row.ready_s or row.start_s, row.process, attrgetter(*COUNTS)(row))
            for row in rows
        ])  # fmt: skip

    def _add(self, rows: Sequence[_Row]) -> None:
        self.tasks += [(row.end - row.start, *row.counts) for row in rows]
        self.beside += _beside(np.array([(row.start, row.end) for row in rows]).reshape(-1, 2))
        ended: dict[float, float] = {}  # by process
        for row in sorted(rows, key=attrgetter("start")):
            last = max(ended.values(), default=math.inf)
            if row.ready > last:
                self.pauses.append(row.start - last)
            elif row.ready <= ended.get(row.process, -math.inf):
                self.gaps.append(row.start - ended[row.process])
            ended[row.process] = row.end

    def costs(self, source: str) -> Costs:
        """Costs of tasks, each with the gap before it, and of the driver."""
        found, gap = fit(self.tasks, source), _mean(self.gaps)
        return dataclasses.replace(found, overhead=found.overhead + gap, update=max(0.0, _mean(self.pauses) - gap))

    def crowding(self, alone: Costs, cores: int) -> float:
        """By which factor these tasks would have taken longer than `alone` while all cores were busy; 1 if few were.

        Tasks that were disturbed count: where no core is idle, the driver and other programs take them from tasks.
        """
        expected = np.array([alone.seconds(*map(int, counts)) for _, *counts in self.tasks])
        took, share = np.array([task[0] for task in self.tasks]), np.clip(self.beside, 0, cores - 1) / max(cores - 1, 1)
        if np.average(share, weights=expected) < BUSY:
            return 1.0
        return 1 + float((took - expected).sum() / (expected * share).sum())


def _beside(intervals: np.ndarray) -> list[float]:
    """The mean number of other intervals during each interval; `intervals` are start and end, `(n, 2)`."""
    if not len(intervals):
        return []
    times, steps = intervals.ravel(), np.tile([1, -1], len(intervals))
    order = np.argsort(times, kind="stable")
    moments = times[order]
    busy = np.concatenate([[0.0], np.cumsum(np.cumsum(steps[order])[:-1] * np.diff(moments))])  # seconds, until then
    start, end = intervals.T
    return list((np.interp(end, moments, busy) - np.interp(start, moments, busy)) / np.maximum(end - start, 1e-9) - 1)


def from_tasks(folder: Path) -> Costs:
    """Costs from the `tasks.csv` of any run, as its processes were beside each other."""
    found = Measured()
    found.add(folder)
    return found.costs(str(folder))


def fit(tasks: Sequence[Sequence[float]], source: str) -> Costs:
    """Costs from tasks (seconds, timesteps, critic updates, actor updates) each, such that the means are right.

    Least squares, each task with a weight of one over its seconds. So all tasks together cost what they took, and tasks
    of each size count by the time that they took; medians would be too low. Left out are tasks that were disturbed:
    they took `DISTURBED` times what a fit by least absolute deviations says (iteratively reweighted least squares:
    Schlossmacher, 1973), which few of them do not change. What no task did costs 0. `spread` is the root mean square
    of the errors over that of the times.
    Raises `UsageError` without tasks, and where what is left out is more than half of the time.
    """
    if not len(tasks):
        raise UsageError(f"{source} has no task to measure costs on; let it run longer")
    table = np.asarray(tasks, dtype=np.float64)
    seconds, counts = np.maximum(table[:, 0], 1e-6), table[:, 1:]
    design = np.column_stack([counts, np.ones(len(table)), counts[:, 1:].any(axis=1)])
    weight = 1.0 / seconds
    for _ in range(ROUNDS):
        fitted = design @ _solve(design, seconds, weight)
        weight = 1.0 / np.maximum(abs(fitted - seconds), 1e-4 * seconds) / seconds
    fitted = np.maximum(fitted, 1e-6)
    usual = seconds <= DISTURBED * fitted
    if 2 * seconds[usual].sum() < seconds.sum():
        raise UsageError(
            f"{source}: {(~usual).sum():,} of {len(usual):,} tasks took more than {DISTURBED:g} times what the others "
            "say, and most of the time, so the costs of a step cannot be measured; measure again on a quiet machine"
        )
    seconds, design, fitted = seconds[usual], design[usual], fitted[usual]
    values = _solve(design, seconds, 1.0 / fitted)
    spread = math.sqrt(((seconds - design @ values) ** 2).sum() / (seconds**2).sum())
    step, critic, actor, overhead, gradient = map(float, values)
    return Costs(
        timestep=step,
        critic_update=critic,
        actor_update=actor,
        overhead=overhead,
        source=source,
        spread=spread,
        gradient_overhead=gradient,
    )


def _solve(design: np.ndarray, seconds: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weighted least squares without negative costs; `(columns,)`."""
    scale, root = np.maximum(design.max(axis=0), 1.0), np.sqrt(weight)
    return nnls(design / scale * root[:, None], seconds * root)[0] / scale


def _read(folder: Path) -> list[_Row]:
    """Its training tasks; raises `UsageError`."""
    path = folder / TaskRow.file
    with readable(path):
        rows = read_rows(folder, TaskRow, warn)
    if rows is None:
        raise UsageError(f"{path} cannot be read as the tasks of a run")
    rows = rows[rows["kind"] != "evaluation"]
    if missing := [name for name in ("ready_s", *COUNTS) if not np.isfinite(rows[name]).all()]:
        raise UsageError(f"{path} cannot be read as the tasks of a run: not all tasks have a number in {missing[0]}")
    columns = zip(*(rows[name].tolist() for name in ("start_s", "end_s", "ready_s", "process", *COUNTS)))
    return [_Row(start, end, ready, process, counts) for start, end, ready, process, *counts in columns]


def _mean(seconds: Sequence[float]) -> float:
    return float(np.mean(seconds)) if seconds else 0.0
