"""The matrix of all cells: which algorithm was run in which environment, how far, and with which score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

from erlbench.reporting.data.comparison import Cell, Comparison, Group
from erlbench.reporting.documents.formats import NONE, number, slug
from erlbench.reporting.documents.model import Column, Table
from erlbench.reporting.statistics import estimates

COMPLETE, PARTIAL, FAILED, ABSENT = "complete", "partial", "failed", "absent"


@dataclass(frozen=True)
class Entry:
    """One row: an algorithm."""

    name: str


def overview_table(comparison: Comparison) -> Table[Entry]:
    """One row per algorithm, one column per environment and budget; those with the most finished runs first."""
    names = dict.fromkeys(cell.name for cell in comparison.cells if cell.exists)
    columns: list[Column[Entry]] = [Column("Algorithm", lambda row: row.name)]
    for group in sorted(comparison.groups, key=_finished, reverse=True):  # stable: else in the order of the page
        columns.append(
            Column(
                comparison.group_name(group), partial(_mean, group=group),
                _cell_text, name=(f"mean_{slug(comparison.group_name(group))}", f"runs_{len(columns)}"),
                style=partial(_state, group=group), link=partial(_link, comparison=comparison, group=group),
            )
        )  # fmt: skip
    remarks = (
        "Mean score of the finished runs, and finished runs of all. Green: all runs are finished; amber: some are not; "
        "red: one failed. A cell leads to its learning curves.",
    )
    return Table("", "All cells", columns, [Entry(name) for name in sorted(names)], remarks)


def _finished(group: Group) -> int:
    return sum(len(cell.done) for cell in group.cells)


def _found(row: Entry, group: Group) -> Cell | None:
    return group.cell(row.name)


def _mean(row: Entry, group: Group) -> tuple[float, str]:
    cell = _found(row, group)
    return (math.nan, "") if cell is None else (estimates.mean(cell.scores), f"{len(cell.done)}/{len(cell.runs)}")


def _cell_text(mean: float, runs: str) -> str:
    return f"{number(mean)} ({runs})" if runs else NONE


def _state(row: Entry, group: Group) -> str:
    cell = _found(row, group)
    if cell is None:
        return ABSENT
    if any(run.status == "failed" for run in cell.runs):
        return FAILED
    return COMPLETE if len(cell.done) == len(cell.runs) else PARTIAL


def _link(row: Entry, comparison: Comparison, group: Group) -> str:
    cell = _found(row, group)
    if cell is None or not any(len(run.evaluations) for run in cell.runs):
        return ""
    return f"{comparison.name}/index.md#curves-{comparison.slug(group)}"
