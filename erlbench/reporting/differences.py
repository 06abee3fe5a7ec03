"""Folders of results side by side: every cell of the first folder against the same cell of the others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from erlbench.errors import UsageError
from erlbench.experiment.fairness import compare_algorithms
from erlbench.files import strip_unpacked
from erlbench.reporting.agreement import change_between, find_disagreements
from erlbench.reporting.cells import Warn, list_rows
from erlbench.reporting.documents import Record, build_table
from erlbench.reporting.page_cells import PageCells, find_cell, make_all_runs_page, score_page
from erlbench.reporting.pairs import compare_pairs, mark
from erlbench.reporting.runs import find_runs, run_tables
from erlbench.reporting.significance import level_words
from erlbench.reporting.statistics import improvement

TESTED = ("difference", "difference_low", "difference_high", "p_holm")  # columns of `compare_pairs` that are shown


def read_sides(folders: Sequence[Path], warn: Warn) -> pd.DataFrame:
    """The runs of all folders, named `td3 [after]`, with the short name of each run's folder as `side`.

    Raises `UsageError` for fewer than two folders, the same one twice, or no run.
    """
    if len(folders) < 2:
        raise UsageError("--side-by-side takes two folders of results or more: erlbench report A B --side-by-side")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("--side-by-side was given the same folder twice; name folders with different runs")
    sides = zip(_names(folders), folders)
    runs = pd.concat([find_runs([folder], warn).assign(side=side) for side, folder in sides], ignore_index=True)
    return runs.assign(name=[_name_side(run.name, run.side) for run in list_rows(runs)])


def _names(folders: Sequence[Path]) -> list[str]:
    """As few of the last parts of each path as distinguish the folders."""
    parts = [Path(strip_unpacked(str(folder.resolve()))).parts for folder in folders]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(path_parts[-length:]) for path_parts in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{'/'.join(path_parts)} ({number})" for number, path_parts in enumerate(parts, 1)]  # bundles of one name


def _name_side(name: str, side: str) -> str:
    return f"{name} [{side}]"


def make_sides_page(runs: pd.DataFrame, metric: str) -> PageCells:
    """The page of the runs of `read_sides`, which compares each folder with the first."""
    first, *others = dict.fromkeys(runs.side)
    names = [*dict.fromkeys(run.name.removesuffix(_name_side("", run.side)) for run in list_rows(runs))]
    pairs = [(_name_side(name, side), _name_side(name, first)) for name in names for side in others]
    page = replace(score_page(make_all_runs_page(runs, "All runs side by side"), metric), pairs=pairs)
    compared = {(pair.group, pair.name): pair for pair in list_rows(compare_pairs(page))}
    rows = []
    for group, name, side in itertools.product(page.groups, names, others):
        base, cell = (find_cell(group, _name_side(name, label)) for label in (first, side))
        if base or cell:
            row = {**group._asdict(), "name": name, "folder": side, **_compare_sides(base, cell, side)}
            if pair := compared.get((group.group, _name_side(name, side))):
                row |= {column: getattr(pair, column) for column in TESTED}
                row["mark"] = mark(pair.case, pair.difference)
            rows.append(row)
    remarks = [f"{page.score_words}. Runs are compared where environment, budget and name are the same."]
    remarks += find_disagreements((f"{cell.name} on {cell.env}", cell.done) for cell in page.rows)
    table = build_table(
        "sides",
        f"{', '.join((first, *others))}, side by side",
        rows,
        remarks,
        name="differences",
        first=first,
        other=others[0] if len(others) == 1 else "there",
        level=level_words(),
    )
    return replace(page, tables=(table,))


def _compare_sides(first: Any, other: Any, side: str) -> Record:
    """A cell of the first folder and the same of another one; one of both may be None."""
    row: Record = {"identity": "", "settings": "", "status": f"not in {side if first else 'the first folder'}"}
    for suffix, cell in (("_first", first), ("", other)):
        if cell:
            sample = {"n": cell.n, "runs": len(cell.done), "mean": cell.mean, "std": cell.std}
            row |= {f"{name}{suffix}": value for name, value in sample.items()}
    if first and other:
        row["change_pct"] = improvement(other.mean, first.mean)
        configs = [(name, run_tables(run)) for name, cell in (("first", first), ("other", other)) for run in cell.runs]
        _, lines = compare_algorithms({**config, "run": {**config["run"], "name": name}} for name, config in configs)
        row["settings"] = "; ".join(f"{aspect} {' | '.join(texts)}" for aspect, texts in lines.items()) or "equal"
        row["identity"] = change_between(first.done, other.done) if first.done and other.done else ""
        row["status"] = "; ".join(sorted({first.status, other.status} - {"done"})) or "done"
    return row
