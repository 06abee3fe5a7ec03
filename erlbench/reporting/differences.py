"""Folders of results side by side: every cell of the first folder against the same cell of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from erlbench.errors import UsageError
from erlbench.experiment.fairness import compare_algorithms
from erlbench.files import strip_unpacked
from erlbench.reporting.agreement import change_between, find_disagreements, list_cells
from erlbench.reporting.cells import Warn, list_rows
from erlbench.reporting.documents import Record, Table, build_table
from erlbench.reporting.formats import steps
from erlbench.reporting.page_cells import choose_score, make_cells, score_cells
from erlbench.reporting.pairs import decide, mark, selection_reason
from erlbench.reporting.published import random_score
from erlbench.reporting.runs import find_runs, run_tables
from erlbench.reporting.significance import level_words
from erlbench.reporting.statistics import improvement


def read_sides(folders: Sequence[Path], warn: Warn) -> pd.DataFrame:
    """The runs of all folders under their own names, with the short name of each run's folder as `side`.

    Raises `UsageError` for fewer than two folders, the same one twice, or no run.
    """
    if len(folders) < 2:
        raise UsageError("--side-by-side takes two folders of results or more: erlbench report A B --side-by-side")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("--side-by-side was given the same folder twice; name folders with different runs")
    sides = zip(_names(folders), folders)
    return pd.concat([find_runs([folder], warn).assign(side=name) for name, folder in sides], ignore_index=True)


def _names(folders: Sequence[Path]) -> list[str]:
    """As few of the last parts of each path as distinguish the folders."""
    parts = [Path(strip_unpacked(str(folder.resolve()))).parts for folder in folders]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(one[-length:]) for one in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{'/'.join(one)} ({number})" for number, one in enumerate(parts, 1)]  # bundles of one name


def differences_table(runs: pd.DataFrame, metric: str) -> Table:
    """One row per environment, budget, algorithm and further folder; `runs` are those of `read_sides`."""
    first, *others = dict.fromkeys(runs.side)
    cells = _score_sides(runs, metric)
    places = {(cell.group, cell.label): cell for cell in list_rows(cells)}
    rows = [
        _compare_sides(places.get((group, first)), places.get((group, side)), side)
        for group in cells.group.unique()
        for side in others
        if {(group, first), (group, side)} & {*places}
    ]
    outcomes = decide([_scores(*row["cells"]) for row in rows])
    for row, outcome in zip(rows, outcomes):
        row |= {name: outcome[name] for name in ("difference", "difference_low", "difference_high", "p_holm")}
        row["mark"] = mark(outcome)
    remarks = [
        f"{'; '.join(cells.score_words.unique())}. Runs are compared where environment, budget and name are the same."
    ]
    remarks += find_disagreements(
        (f"{cell.name} on {cell.env} in {cell.label}", cell.done) for cell in list_rows(cells)
    )
    remarks += list_cells("Not compared, for their budgets differ", _describe_budgets(runs))
    other = others[0] if len(others) == 1 else "there"
    title = f"{', '.join([first, *others[:-1]])} and {others[-1]}, side by side"
    return build_table("sides", title, rows, remarks, name="differences", first=first, other=other, level=level_words())


def _score_sides(runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The cells of all sides, which are their labels; a group has one name, too, and one score."""
    records = [
        {
            "group": number,
            "env": of_side.env.iloc[0],
            "total_timesteps": of_side.total_timesteps.iloc[0],
            "name": of_side["name"].iloc[0],
            "label": side,
            "planned": of_side.seed.nunique(),
            "runs": tuple(list_rows(of_side)),
        }
        for number, (_, of_group) in enumerate(runs.groupby(["env", "total_timesteps", "name"]))
        for side, of_side in of_group.groupby("side", sort=False)
    ]
    groups = make_cells(records).groupby("group")
    parts = [(cells, choose_score(cells, metric, cells.total_timesteps.iloc[0])) for _, cells in groups]
    return pd.concat([score_cells(cells, *score) for cells, score in parts])


def _compare_sides(first: Any, other: Any, side: str) -> Record:
    """A cell of the first folder and the same of another one; one of both may be None."""
    there = first or other
    row: Record = {
        "env": there.env,
        "total_timesteps": there.total_timesteps,
        "name": there.name,
        "folder": side,
        "environment": f"{there.env}, {steps(there.total_timesteps)} steps",
        "cells": (first, other),
        "identity": "",
        "settings": "",
        "status": f"not in {side if first else 'the first folder'}",
    }
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


def _scores(first: Any, other: Any) -> tuple[Any, Any, float, str]:
    """The scores of both, those of the further folder first, as `decide` takes them; none where one was not run."""
    if not (first and other and first.done and other.done):
        return np.empty(0), np.empty(0), 0.0, "not run"
    return other.scores, first.scores, random_score(first.env) or 0.0, selection_reason((other, first))


def _describe_budgets(runs: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """The algorithms that folders have with different budgets only, with these."""
    for (env, name), of_name in runs.groupby(["env", "name"]):
        sides = of_name.groupby("side", sort=False).total_timesteps.agg(lambda budgets: sorted(set(budgets)))
        if len(sides) > 1 and not set.intersection(*map(set, sides)):
            listed = (f"{' and '.join(map(steps, budgets))} steps in {side}" for side, budgets in sides.items())
            yield f"{name} on {env}", ", ".join(listed)
