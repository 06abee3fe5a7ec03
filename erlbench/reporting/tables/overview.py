"""The matrix of all run sets: which algorithm was run in which environment, how far, and with which score."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from erlbench.reporting.data.caveats import learning_steps
from erlbench.reporting.data.page_cells import ALL_RUNS, REFERENCE, PageCells, find_cell
from erlbench.reporting.documents.formats import NONE, number, steps
from erlbench.reporting.documents.model import BOLD, Column, Record, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.curves import updates_per_step
from erlbench.reporting.tables.columns import seeds_and_runs
from erlbench.reporting.tables.paper import all_pairs, find_best
from erlbench.reporting.verdict.pairs import compare_pairs

TITLE = "Algorithms and environments"
MOST_PAIRS = 66  # of algorithms; of more than twelve the matrix tests none
FEWEST, SPARSE = 8, 0.25  # environments, and share of filled cells, of a matrix
COMPLETE, PARTIAL, FAILED, ABSENT = "complete", "partial", "failed", "absent"


def overview(page: PageCells) -> Table:
    """The matrix; where most of its cells would be empty, a list of environments."""
    names = {one.name for one in page.rows if one.exists}
    cells, filled = len(names) * len(page.groups), sum(one.exists for one in page.rows)
    sparse = len(page.groups) > FEWEST and filled < SPARSE * cells
    return environments_table(page) if sparse else overview_table(page)


def environments_table(page: PageCells) -> Table:
    """One row per environment and budget, with all of its algorithms."""
    rows = [
        {"environment": group.environment, "link": f"{page.name}/index.md",
         "algorithms": "; ".join(f"{one.name} {_cell_text(*_mean(one))}" for one in group.cells if one.exists)}
        for group in sorted(page.groups, key=_finished, reverse=True)
    ]  # fmt: skip
    columns = [Column("Environment", "environment", link="link"), Column("Algorithms", "algorithms")]
    remarks = ("Mean score of the finished seeds, and how many of all seeds are finished.",)
    return Table("", _title(page), columns, rows, remarks)


def _title(page: PageCells) -> str:
    return TITLE if page.name in (ALL_RUNS, REFERENCE) else page.title


def overview_table(page: PageCells) -> Table:
    """One row per algorithm; one column per environment and budget, those with the most runs done first."""
    names, best = sorted({one.name for one in page.rows if one.exists}), _decided(page)
    rows: list[Record] = [{"algorithm": name} for name in names]
    columns = [Column("Algorithm", "algorithm")]
    for group in sorted(page.groups, key=_finished, reverse=True):  # stable: else in the order of the page
        keys = [f"{what} {len(columns)}" for what in ("mean", "runs", "style", "link")]
        title = group.environment
        columns.append(Column(title, (keys[0], keys[1]), _cell_text, style=keys[2], link=keys[3]))
        for row in rows:
            cell = find_cell(group, row["algorithm"])
            decided = f" {BOLD}" if (group.limit, group.env, row["algorithm"]) in best else ""
            drawn = cell is not None and any(len(run.evaluations) for run in cell.runs)
            link = f"{page.name}/index.md#curves-{group.slug}" if drawn else ""
            row |= dict(zip(keys, (*_mean(cell), f"{_state(cell)}{decided}", link), strict=True))
    for title, rate in (("Steps learnt from", learning_steps), ("Critic updates/step", _critic_updates)):
        if _differs(page, rate):
            columns.append(Column(title, (title,)))
            for row in rows:
                row[title] = _range(row["algorithm"], page, rate)
    remarks = (
        "Mean score of the finished seeds, and how many of all seeds are finished. Green: all runs are finished; "
        "amber: some are not; red: one failed. Bold: decided to score higher than all other algorithms of the column, "
        "after the correction for all pairs; no bold: not decided. A score leads to its learning curves.",
    )
    return Table("", _title(page), columns, rows, remarks)


def _finished(group: Any) -> int:
    return sum(len(cell.done) for cell in group.cells)


def _mean(cell: Any | None) -> tuple[float, str]:
    if cell is None:
        return math.nan, ""
    seeds = seeds_and_runs(len(cell.seeds), cell.planned, len(cell.done))
    return estimates.mean(cell.scores), seeds


def _cell_text(mean: float, runs: str) -> str:
    return f"{number(mean)} ({runs})" if runs else NONE


def _state(cell: Any | None) -> str:
    if cell is None:
        return ABSENT
    if cell.failed:
        return FAILED
    return COMPLETE if len(cell.done) == len(cell.runs) else PARTIAL


def _decided(page: PageCells) -> set[tuple[str, str, str]]:
    """Budget, environment and name of what the verdicts put above all others there."""
    pairs = all_pairs(page)
    if not page.tested or len(pairs) > MOST_PAIRS:
        return set()
    best = find_best(page, compare_pairs(page, pairs))
    return {(page.groups[number].limit, page.groups[number].env, name) for number, name in best}


def _critic_updates(cell: Any) -> float:
    return updates_per_step(cell.done)[0]


def _differs(page: PageCells, rate: Callable[[Any], float]) -> bool:
    """Whether algorithms of an environment differ in it by more than a hundredth."""
    for group in page.groups:
        values = [value for one in group.cells if one.done and math.isfinite(value := rate(one))]
        if values and max(values) > 1.01 * min(values):
            return True
    return False


def _range(name: str, page: PageCells, rate: Callable[[Any], float]) -> str:
    """An algorithm's lowest and highest value over environments."""
    found = [one for group in page.groups if (one := find_cell(group, name)) and one.done]
    values = [value for one in found if math.isfinite(value := rate(one))]
    form = steps if rate is learning_steps else number
    return " to ".join(dict.fromkeys((form(min(values)), form(max(values))))) if values else ""
