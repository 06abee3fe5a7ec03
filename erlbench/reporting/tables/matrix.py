"""The matrix of all cells: which algorithm was run in which environment, how far, and with which score."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from erlbench.reporting.data.page_cells import ALL_RUNS, REFERENCE, PageCells, find_cell
from erlbench.reporting.documents.formats import NONE, number, seeds_and_runs, steps
from erlbench.reporting.documents.model import BOLD, Column, Record, Table
from erlbench.reporting.tables.columns import build_table, cell_rows
from erlbench.reporting.tables.paper import all_pairs, find_best
from erlbench.reporting.verdict.pairs import compare_pairs

TITLE = "Algorithms and environments"
MOST_PAIRS = 66  # of algorithms; of more than twelve the matrix tests none
FEWEST, SPARSE = 8, 0.25  # environments, and share of filled cells, of a matrix
COMPLETE, PARTIAL, FAILED, ABSENT = "complete", "partial", "failed", "absent"
RATES = {  # columns where algorithms of an environment differ in one: title, column, format
    "Steps learnt from": ("learning_timesteps", steps),
    "Critic updates/step": ("critic_updates_per_step", number),
}


def overview(page: PageCells) -> Table:
    """The matrix; where most of its cells would be empty, a list of environments."""
    cells = page.cells[page.cells.exists.astype(bool)]
    sparse = len(page.groups) > FEWEST and len(cells) < SPARSE * cells.name.nunique() * len(page.groups)
    return environments_table(page) if sparse else overview_table(page)


def environments_table(page: PageCells) -> Table:
    """One row per environment and budget, with all of its algorithms."""
    rows = [
        {
            "environment": group.environment,
            "link": f"{page.name}/index.md",
            "algorithms": "; ".join(f"{one.name} {_print_cell(*_mean(one))}" for one in group.cells if one.exists),
        }
        for group in sorted(page.groups, key=_finished, reverse=True)
    ]
    remarks = ("Mean score of the finished seeds, and how many of all seeds are finished.",)
    return replace(build_table("environments", _title(page), rows, remarks), name="")


def _title(page: PageCells) -> str:
    return TITLE if page.name in (ALL_RUNS, REFERENCE) else page.title


def overview_table(page: PageCells) -> Table:
    """One row per algorithm; one column per environment and budget, those with the most runs done first."""
    cells = page.cells[page.cells.exists.astype(bool)]
    names, best = sorted(set(cells.name)), _find_decided(page)
    rows: list[Record] = [{"algorithm": name} for name in names]
    columns = [Column("Algorithm", "algorithm")]
    for group in sorted(page.groups, key=_finished, reverse=True):  # stable: else in the order of the page
        keys = [f"{what} {len(columns)}" for what in ("mean", "runs", "style", "link")]
        columns.append(Column(group.environment, (keys[0], keys[1]), _print_cell, style=keys[2], link=keys[3]))
        for row in rows:
            cell = find_cell(group, row["algorithm"])
            decided = f" {BOLD}" if (group.group, row["algorithm"]) in best else ""
            drawn = cell is not None and any(len(run.evaluations) for run in cell.runs)
            link = f"{page.name}/index.md#curves-{group.slug}" if drawn else ""
            row |= dict(zip(keys, (*_mean(cell), f"{_state(cell)}{decided}", link), strict=True))
    rates = cells.assign(**{rate: [row[rate] for row in cell_rows(cells)] for rate, _ in RATES.values()})
    for title, (rate, print_rate) in RATES.items():
        spread = rates.groupby("group")[rate].agg(["min", "max"])
        if (spread["max"] > 1.01 * spread["min"]).any():
            columns.append(Column(title, (title,)))
            spans = rates.groupby("name")[rate].agg(["min", "max"]).dropna()
            for row in rows:
                span: Any = spans.loc[row["algorithm"]] if row["algorithm"] in spans.index else ()
                row[title] = " to ".join(dict.fromkeys(map(print_rate, span)))
    remarks = (
        "Mean score of the finished seeds, and how many of all seeds are finished. Green: all runs are finished; "
        "amber: some are not; red: one failed. Bold: decided to score higher than all other algorithms of the column, "
        "after the correction for all pairs; no bold: not decided. A score leads to its learning curves.",
    )
    return Table("", _title(page), columns, rows, remarks)


def _finished(group: Any) -> int:
    return sum(len(cell.done) for cell in group.cells)


def _mean(cell: Any | None) -> tuple[float, str]:
    return (cell.mean, seeds_and_runs(cell.n, cell.planned, len(cell.done))) if cell else (math.nan, "")


def _print_cell(mean: float, runs: str) -> str:
    return f"{number(mean)} ({runs})" if runs else NONE


def _state(cell: Any | None) -> str:
    if cell is None:
        return ABSENT
    if cell.failed:
        return FAILED
    return COMPLETE if len(cell.done) == len(cell.runs) else PARTIAL


def _find_decided(page: PageCells) -> set[tuple[int, str]]:
    """Group and name of what the verdicts put above all others there."""
    pairs = all_pairs(page)
    return find_best(page, compare_pairs(page, pairs)) if page.tested and len(pairs) <= MOST_PAIRS else set()
