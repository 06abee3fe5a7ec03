"""The table of how well the processes were used: busy shares, and what they were busy with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.departures import departure_notes
from erlbench.reporting.data.timeline import Timeline
from erlbench.reporting.documents.formats import count, number, share, text
from erlbench.reporting.documents.model import Column, Table
from erlbench.reporting.tables.asynchrony import asynchrony
from erlbench.reporting.tables.columns import identity, status


@dataclass(frozen=True)
class Use:
    """One row: a run set, and the tasks of one of its runs where there are some."""

    group: Group
    run_set: RunSet
    timeline: Timeline | None


def utilisation_table(
    comparison: Comparison, group: Group, timelines: Sequence[Timeline], name: str
) -> Table[Use]:  # fmt: skip
    """One row per run set of an environment."""
    by_path = {timeline.run.path: timeline for timeline in timelines}
    rows = [
        Use(group, run_set, next((by_path[run.path] for run in run_set.runs if run.path in by_path), None))
        for run_set in group.run_sets if run_set.exists
    ]  # fmt: skip
    kinds = sorted({kind for timeline in timelines for kind in timeline.shares()})
    processes = sorted({process for timeline in timelines for process in timeline.utilisation()})
    columns: list[Column[Use]] = [
        *identity(comparison),
        Column("Seed", lambda row: row.timeline.run.seed if row.timeline else None, text),
        Column("Workers", lambda row: row.timeline.run.workers if row.timeline else None, text),
        Column("Processes", lambda row: len(row.timeline.processes) if row.timeline else math.nan, count),
        Column("Span", lambda row: _span(row.timeline), number, name="span_s", unit="s",
               note="from the first to the last training task."),
        *asynchrony(lambda row: row.timeline),
        *(Column(kind, partial(_share, kind=kind), share, name=f"share_{kind}") for kind in kinds),
        *(Column(f"Process {process}", partial(_busy, process=process), share, name=f"utilisation_{process}",
                 shown=False) for process in processes),
        status(),
    ]  # fmt: skip
    remarks = (
        "The kinds of tasks: their shares of the busy time. One run a row: the first that is finished, else the first.",
        *departure_notes(group.run_sets),
    )
    title = f"{comparison.title}: use of the processes, {comparison.group_name(group)}"
    return Table(name, title, columns, rows, remarks)


def _span(timeline: Timeline | None) -> float:
    return timeline.span[1] - timeline.span[0] if timeline else math.nan


def _share(row: Use, kind: str) -> float:
    return row.timeline.shares().get(kind, math.nan) if row.timeline else math.nan


def _busy(row: Use, process: int) -> float:
    return row.timeline.utilisation().get(process, math.nan) if row.timeline else math.nan
