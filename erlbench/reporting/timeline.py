"""The tasks of one run per process, busy time, and the figure of a window (the paper's figure 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from erlbench.files import restore_hint
from erlbench.records.read import read_columns
from erlbench.records.schema import NO_INDIVIDUALS, TaskRow
from erlbench.reporting.cells import Warn
from erlbench.reporting.documents import Figure, Record
from erlbench.reporting.drawing import PALETTE, STYLES
from erlbench.reporting.statistics import Array

TASKS_SHOWN = 14  # per process, about
EVALUATION = "evaluation"
NUMBERS = (  # of tasks.csv; NaN where an older file lacks the last three
    "process", "start_s", "end_s", "critic_updates", "timesteps", "ready_s", "staleness", "critic_lag",
)  # fmt: skip


@dataclass(frozen=True)
class Timeline:
    """The tasks of one run, rows of tasks.csv; times in seconds since the run began."""

    run: Any
    tasks: pd.DataFrame

    @property
    def training(self) -> pd.DataFrame:
        """The tasks but evaluations."""
        return self.tasks[self.tasks.kind != EVALUATION]

    @property
    def processes(self) -> list[int]:
        """The processes of the training, ascending, with idle ones.

        -1 is the driver; simulated time has virtual processes. A process that only evaluates is not listed.
        """
        started = self.run.processes
        idle = range(int(started)) if started.isdigit() and not self.run.simulated_time else ()
        return sorted({*self.training.process.astype(int), *idle})

    @property
    def span(self) -> tuple[float, float]:
        """From the first start to the last end of a training task (any task, when there is no training task)."""
        tasks = self.training if len(self.training) else self.tasks
        return float(tasks.start_s.min()), float(tasks.end_s.max())

    def utilisation(self) -> dict[int, float]:
        """The share of the span during which each process was busy (overlapping tasks count once)."""
        first, last = self.span
        start, end = (self.tasks[name].clip(first, last).to_numpy() for name in ("start_s", "end_s"))
        rows = {process: (self.tasks.process == process).to_numpy() for process in self.processes}
        length = last - first
        return {key: busy(start[mask], end[mask]) / length if length > 0 else 0.0 for key, mask in rows.items()}

    def played(self) -> pd.DataFrame:
        """The training tasks that played episodes, with `queueing`: how long they waited, in seconds.

        `staleness` and `critic_lag` are of individuals: episodes of the mean and random ones are asked for and told at
        once.
        """
        tasks = self.training[self.training.timesteps > 0]
        lags = tasks[["staleness", "critic_lag"]].where(~tasks.kind.isin(NO_INDIVIDUALS))
        return tasks.assign(queueing=tasks.start_s - tasks.ready_s, **lags)


def bars(timeline: Timeline, start: float, stop: float, resolution: float) -> pd.DataFrame:
    """The tasks of a window as bars, in order of process and start, without processes that only evaluate.

    `start` and `end` in seconds since the run began; `share`: of the bar's time, in which its tasks ran. Neighbours of
    one kind that are shorter than `resolution` seconds, and no farther apart, become one bar: drawn one by one, the
    edges of bars thinner than a pixel hide how busy a process is.
    """
    tasks = timeline.tasks
    tasks = tasks[tasks.process.isin(timeline.processes) & (tasks.end_s > start) & (tasks.start_s < stop)]
    tasks = tasks.sort_values(["process", "start_s"], kind="stable", ignore_index=True)
    tasks = tasks.assign(start=tasks.start_s.clip(lower=start), end=tasks.end_s.clip(upper=stop))
    tasks["busy"] = tasks.end - tasks.start
    reached, short = tasks.groupby("process").end.cummax().shift(), tasks.busy < resolution
    before = tasks[["process", "kind"]].shift()
    grows = (tasks[["process", "kind"]] == before).all(axis=1) & (tasks.start - reached < resolution)
    grows &= short & short.shift(fill_value=False)
    merged = tasks.groupby((~grows).cumsum())
    data = merged.agg({"process": "first", "kind": "first", "start": "first", "end": "max", "busy": "sum"})
    length = data.end - data.start
    data["share"] = (data.busy / length.where(length > 0)).clip(upper=1.0).fillna(1.0)
    return data.astype({"process": int}).drop(columns="busy").reset_index(drop=True)


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
        hint = restore_hint(path)
        warn(f"{run.path}: no tasks.csv, so the report has no timeline and no utilisation of this run{hint}")
        return None
    rows = read_columns(run.path, TaskRow, warn)
    if rows is None:
        return None
    numbers = {name: np.asarray(rows[name], np.float64) for name in NUMBERS}
    timeline = Timeline(run, pd.DataFrame({**numbers, "kind": rows["kind"]}))
    if len(timeline.tasks) and timeline.processes:
        return timeline
    warn(f"{path}: no task yet")
    return None


def windows(timelines: Sequence[Timeline]) -> list[tuple[float, float]]:
    """What to show of each run: as many seconds of all, from a task's start in the middle of the trained part.

    The trained part begins with the first critic updates. As wide as about `TASKS_SHOWN` tasks per process take in
    the run where that is longest, but never wider than the shortest trained part needs to be shown whole.
    """
    widths, parts = [], []
    for timeline in timelines:
        (first, last), starts = timeline.span, timeline.tasks.start_s.to_numpy()
        updates = starts[timeline.tasks.critic_updates > 0]
        if len(updates):
            first = min(float(updates.min()), last)
        density = (starts >= first).sum() / max(1, len(timeline.processes))
        widths.append((last - first) * min(1.0, TASKS_SHOWN / max(1.0, float(density))))
        parts.append((first, last, starts))
    width, result = max(widths), []
    for first, last, starts in parts:
        begins = starts[(starts >= max(first, (first + last - width) / 2)) & (starts <= last)]
        start = first if width >= last - first or not len(begins) else float(begins.min())
        result.append((start, start + width))
    return result


SHORTEST = 1 / 800  # of a window: shorter tasks, thinner than a pixel, are merged
LONGEST = 40  # characters of a kind in the legend
KINDS: Record = STYLES["tasks"]  # of tasks, in the order of the legend: what it calls them, and their colour


def draw_timelines(name: str, title: str, env: str, timelines: Sequence[tuple[str, Timeline]]) -> Figure:
    """A panel for each labelled run, a row for each process, coloured by the kind of task; idle time stays white.

    `data` has a row for each bar, in the order of kinds; a bar is as high as the `share` of its time that was busy.
    `rows` of a panel: the name of each process and its busy share over the whole run; `end` of the run.
    """
    kinds = {kind for _, timeline in timelines for kind in timeline.tasks.kind}
    order = [*(kind for kind in KINDS if kind in kinds), *sorted(kinds - {*KINDS})]
    short = [kind[:LONGEST] + "..." * (len(kind) > LONGEST) for kind in order]
    looks = {kind: KINDS.get(kind, (short[i], (2 + i) % len(PALETTE))) for i, kind in enumerate(order)}
    data, panels, parts = [], {}, []
    windows_shown = windows([timeline for _, timeline in timelines])
    for number, ((label, timeline), (start, stop)) in enumerate(zip(timelines, windows_shown)):
        (first, last), run, busy = timeline.span, timeline.run, timeline.utilisation()
        shown = bars(timeline, start, min(stop, last), SHORTEST * (stop - start))
        kind = shown.kind.map(looks)
        shown = shown.assign(
            panel=str(number),
            row=shown.process.map(timeline.processes.index),
            length=shown.end - shown.start,
            start=shown.start - start,
            place=shown.kind.map(order.index),
            label=kind.str[0],
            colour=kind.str[1],
        )
        data.append(shown.sort_values("place", kind="stable"))
        panels[str(number)] = {
            "x": "Seconds since the window began",
            "y": "Process",
            "title": f"{label}: {100 * sum(busy.values()) / len(busy):.0f} % busy",
            "rows": [("driver" if process < 0 else str(process), busy[process]) for process in timeline.processes],
            "length": stop - start,
            "end": last - start,
        }
        parts.append(
            f"{label}, seed {run.seed}, {start:,.1f} to {min(stop, last):,.1f} s of {first:,.1f} to {last:,.1f}"
        )
    virtual = any(timeline.run.simulated_time for _, timeline in timelines)
    caption = [
        "A row per process, coloured by what it did, white while idle, grey after the run. Short tasks are merged into "
        "bars as high as their busy share. Percentages: busy share over the whole run."
        + (" Simulated time: durations are modelled, processes are virtual." if virtual else ""),
        f"Shown: {'; '.join(parts)}.",
    ]
    return Figure(
        name=name,
        title=title,
        kind="timeline",
        heading=env,
        data=pd.concat(data, ignore_index=True),
        panels=panels,
        paper=[*panels],
        caption=caption,
    )
