"""The matrix of all run sets: which algorithm was run in which environment, how far, and with which score."""

from __future__ import annotations

import math
from functools import partial

from erlbench.reporting.data.comparison import ALL_RUNS, REFERENCE, Comparison, Group
from erlbench.reporting.documents.formats import NONE, number, slug
from erlbench.reporting.documents.model import Column, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.tables.columns import seeds_and_runs

TITLE = "Algorithms and environments"
FEWEST, SPARSE = 8, 0.25  # environments, and share of filled cells, of a matrix
COMPLETE, PARTIAL, FAILED, ABSENT = "complete", "partial", "failed", "absent"


def overview(comparison: Comparison) -> Table[str] | Table[Group]:
    """The matrix; where most of its cells would be empty, a list of environments."""
    names = {one.name for one in comparison.run_sets if one.exists}
    cells, filled = len(names) * len(comparison.groups), sum(one.exists for one in comparison.run_sets)
    sparse = len(comparison.groups) > FEWEST and filled < SPARSE * cells
    return environments_table(comparison) if sparse else overview_table(comparison)


def environments_table(comparison: Comparison) -> Table[Group]:
    """One row per environment and budget, with all of its algorithms."""
    columns: list[Column[Group]] = [
        Column("Environment", comparison.group_name, link=lambda group: f"{comparison.name}/index.md"),
        Column("Algorithms", lambda group: "; ".join(
            f"{one.name} {_cell_text(*_mean(one.name, group))}" for one in group.run_sets if one.exists
        )),
    ]  # fmt: skip
    remarks = ("Mean score of the finished seeds, and how many of all seeds are finished.",)
    return Table("", _title(comparison), columns, sorted(comparison.groups, key=_finished, reverse=True), remarks)


def _title(comparison: Comparison) -> str:
    return TITLE if comparison.name in (ALL_RUNS, REFERENCE) else comparison.title


def overview_table(comparison: Comparison) -> Table[str]:
    """One row per algorithm, its name; one column per environment and budget, those with the most runs done first."""
    names = dict.fromkeys(run_set.name for run_set in comparison.run_sets if run_set.exists)
    columns: list[Column[str]] = [Column("Algorithm", str)]
    for group in sorted(comparison.groups, key=_finished, reverse=True):  # stable: else in the order of the page
        columns.append(
            Column(
                comparison.group_name(group), partial(_mean, group=group),
                _cell_text, name=(f"mean_{slug(comparison.group_name(group))}", f"runs_{len(columns)}"),
                style=partial(_state, group=group), link=partial(_link, comparison=comparison, group=group),
            )
        )  # fmt: skip
    remarks = (
        "Mean score of the finished seeds, and how many of all seeds are finished. Green: all runs are finished; "
        "amber: some are not; red: one failed. A score leads to its learning curves.",
    )
    return Table("", _title(comparison), columns, sorted(names), remarks)


def _finished(group: Group) -> int:
    return sum(len(run_set.done) for run_set in group.run_sets)


def _mean(name: str, group: Group) -> tuple[float, str]:
    found = group.run_set(name)
    if found is None:
        return math.nan, ""
    return estimates.mean(found.scores), seeds_and_runs(len(found.seeds), found.planned, len(found.done))


def _cell_text(mean: float, runs: str) -> str:
    return f"{number(mean)} ({runs})" if runs else NONE


def _state(name: str, group: Group) -> str:
    run_set = group.run_set(name)
    if run_set is None:
        return ABSENT
    if any(run.status == "failed" for run in run_set.runs):
        return FAILED
    return COMPLETE if len(run_set.done) == len(run_set.runs) else PARTIAL


def _link(name: str, comparison: Comparison, group: Group) -> str:
    run_set = group.run_set(name)
    if run_set is None or not any(len(run.evaluations) for run in run_set.runs):
        return ""
    return f"{comparison.name}/index.md#curves-{comparison.slug(group)}"
