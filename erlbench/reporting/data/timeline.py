"""Who worked when: the tasks of one run per process, busy time, and the window that a figure shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from erlbench.records.read import read_columns
from erlbench.records.schema import NO_INDIVIDUALS, TaskRow
from erlbench.reporting.data.remarks import Warn
from erlbench.reporting.data.runs import Array

TASKS_SHOWN = 14  # per process, about
EVALUATION = "evaluation"
COLUMNS = {  # of tasks.csv, by the field of `Timeline`
    "process": "process", "start": "start_s", "end": "end_s", "critic_updates": "critic_updates",
    "timesteps": "timesteps", "ready": "ready_s", "staleness": "staleness", "critic_lag": "critic_lag",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """The tasks of one run, arrays and lists (tasks,); times in seconds since the run began."""

    run: Any
    process: Array
    kind: list[str]
    start: Array
    end: Array
    critic_updates: Array
    timesteps: Array
    ready: Array  # when a task could have begun; NaN where the file does not say, as in the next three
    staleness: Array  # updates of the search distribution between asking for a task and telling its result
    critic_lag: Array  # critic updates in the same span

    @property
    def processes(self) -> list[int]:
        """The processes of the training, ascending, idle ones too.

        -1 is the driver's own, and simulated time has virtual ones. One that only evaluates is none of them.
        """
        seen = {int(process) for process, kind in zip(self.process, self.kind, strict=True) if kind != EVALUATION}
        started = self.run.processes
        if started.isdigit() and not self.run.simulated_time:
            seen |= set(range(int(started)))
        return sorted(seen)

    @property
    def span(self) -> tuple[float, float]:
        """From the first start to the last end of a training task (any task, when there is no training task)."""
        training = np.array([kind != EVALUATION for kind in self.kind], dtype=bool)
        chosen = training if training.any() else np.ones(len(self.kind), dtype=bool)
        return float(self.start[chosen].min()), float(self.end[chosen].max())

    def utilisation(self) -> dict[int, float]:
        """The share of the span during which each process was busy (overlapping tasks count once)."""
        first, last = self.span
        result = {}
        for process in self.processes:
            mine = self.process == process
            result[process] = busy(self.start[mine].clip(first, last), self.end[mine].clip(first, last))
        return {process: time / (last - first) if last > first else 0.0 for process, time in result.items()}

    def played(self, values: Array) -> Array:
        """`values` (tasks,) of the training tasks that played episodes, without those that are not known."""
        training = np.array([kind != EVALUATION for kind in self.kind], dtype=bool)
        return values[training & (self.timesteps > 0) & np.isfinite(values)]

    def individuals(self, values: Array) -> Array:
        """The same of individuals only: the mean's own episodes and random ones are asked for and told at once."""
        searched = np.array([kind not in NO_INDIVIDUALS for kind in self.kind], dtype=bool)
        return self.played(np.where(searched, values, np.nan))

    def shares(self) -> dict[str, float]:
        """The seconds of all processes by kind of task within the span, as shares of the busy seconds."""
        first, last = self.span
        seconds = (self.end.clip(first, last) - self.start.clip(first, last)).clip(0)
        kinds = np.array(self.kind)
        total = float(seconds.sum()) or 1.0
        return {str(kind): float(seconds[kinds == kind].sum()) / total for kind in np.unique(kinds)}


def bars(timeline: Timeline, start: float, stop: float, resolution: float) -> pd.DataFrame:
    """The tasks of a window as bars, in order of process and start, without those of processes that only evaluate.

    `start` and `end` in seconds since the run began; `share`: of the bar's time, in which its tasks ran. Neighbours of
    one kind that are shorter than `resolution` seconds, and no farther apart, become one bar: drawn one by one, the
    edges of bars thinner than a pixel hide how busy a process is.
    """
    known = np.isin(timeline.process, timeline.processes)
    shown = np.flatnonzero(known & (timeline.end > start) & (timeline.start < stop))
    order = shown[np.lexsort((timeline.start[shown], timeline.process[shown]))]
    rows: list[list[Any]] = []  # process, kind, start, end, busy seconds, whether it may grow
    for i in order:
        begin, end = max(timeline.start[i], start), min(timeline.end[i], stop)
        process, kind, short = int(timeline.process[i]), timeline.kind[i], end - begin < resolution
        last = rows[-1] if rows else None
        if last and last[5] and short and last[:2] == [process, kind] and begin - last[3] < resolution:
            last[3], last[4] = max(last[3], end), last[4] + end - begin
        else:
            rows.append([process, kind, begin, end, end - begin, short])
    data = pd.DataFrame(rows, columns=["process", "kind", "start", "end", "busy", "short"])
    length = data.end - data.start
    data["share"] = (data.busy / length.where(length > 0, np.nan)).clip(upper=1.0).fillna(1.0)
    return data.drop(columns=["busy", "short"])


def busy(start: Array, end: Array) -> float:
    """The length of the union of the intervals [start, end], both (intervals,)."""
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    if not len(start):
        return 0.0
    reached = np.maximum.accumulate(np.concatenate([[-np.inf], end[:-1]]))
    return float((end - np.maximum(start, reached)).clip(0).sum())


def load_timeline(run: Any, warn: Warn) -> Timeline | None:
    """The tasks of a run, or None (with a warning) when tasks.csv has none or is not there."""
    path = run.path / TaskRow.file
    if run.imported:
        return None
    if not path.exists():  # large, so that runs that are passed on are often without it
        warn(f"{run.path}: no tasks.csv, so the report has no timeline and no utilisation of this run")
        return None
    rows = read_columns(run.path, TaskRow, warn)
    if rows is None:
        return None
    if not len(rows["process"]):
        warn(f"{path}: no task yet")
        return None
    arrays = {name: np.asarray(rows[column], np.float64) for name, column in COLUMNS.items()}
    return Timeline(run=run, kind=list(rows["kind"]), **arrays)


def windows(timelines: Sequence[Timeline]) -> list[tuple[float, float]]:
    """What to show of each run: as many seconds of all, from a task's start in the middle of the trained part.

    The trained part begins with the first critic updates. As wide as about `TASKS_SHOWN` tasks per process take in
    the run where that is longest, but never wider than the shortest trained part needs to be shown whole.
    """
    wanted, parts = [], []
    for timeline in timelines:
        first, last = timeline.span
        updates = timeline.start[timeline.critic_updates > 0]
        if len(updates):
            first = min(float(updates.min()), last)
        parts.append((first, last))
        density = (timeline.start >= first).sum() / max(1, len(timeline.processes))
        wanted.append((last - first) * min(1.0, TASKS_SHOWN / max(1.0, float(density))))
    width = max(wanted)
    result = []
    for timeline, (first, last) in zip(timelines, parts, strict=True):
        middle = (first + last - width) / 2
        begins = timeline.start[(timeline.start >= max(first, middle)) & (timeline.start <= last)]
        start = first if width >= last - first or not len(begins) else float(begins.min())
        result.append((start, start + width))
    return result
