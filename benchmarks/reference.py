"""The verdicts of the reference results: from the runs of results/reference, as comparisons.toml compares them.

python -m benchmarks.reference      # writes results/reference/verdict.json
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from erlbench.records.read import ignore
from erlbench.reporting.cells import list_rows
from erlbench.reporting.differences import read_sides
from erlbench.reporting.page_cells import PageCells, make_all_runs_page, score_page
from erlbench.reporting.pairs import compare_pairs
from erlbench.reporting.runs import find_runs
from erlbench.reporting.score import AUTO, Moment, cut_runs
from erlbench.reporting.words import FILE, write_verdicts

REFERENCE = Path(__file__).parents[1] / "results" / "reference"


def read_comparisons() -> dict[str, Mapping[str, Any]]:
    """The tables of comparisons.toml."""
    return tomllib.loads((REFERENCE / "comparisons.toml").read_text(encoding="utf-8"))


def compare_runs(table: Mapping[str, Any]) -> PageCells:
    """The runs of one table, judged by one score, and its pairs."""
    folders = [folder for name in table["folders"] if (folder := REFERENCE / name).is_dir()]
    runs = (read_sides if table.get("apart") else find_runs)(folders, ignore)
    names, envs = table.get("names"), table.get("envs")
    runs = runs[(runs["name"].isin(names or runs["name"])) & (runs["env"].isin(envs or runs["env"]))]
    at = Moment(float(table["at"])) if "at" in table else None
    page = make_all_runs_page(cut_runs(runs, at, ignore) if at else runs, at=at)
    page = score_page(page, table.get("metric", AUTO))
    cells = page.cells[page.cells.groupby("group")["name"].transform("size") > 1]
    if envs:
        cells = cells.sort_values("env", key=lambda column: column.map(envs.index), kind="stable")
    return replace(page, cells=cells, pairs=[(first, second) for first, second in table["pairs"]])


def verdicts(table: Mapping[str, Any]) -> list[Any]:
    """Its verdicts, in the order of environments and pairs; all its tests share the level."""
    return list_rows(compare_pairs(compare_runs(table)))


def main() -> None:
    """Write verdict.json."""
    write_verdicts(REFERENCE / FILE, {name: verdicts(table) for name, table in read_comparisons().items()})


if __name__ == "__main__":
    main()
