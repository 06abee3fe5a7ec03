"""The table of folders side by side: every cell of the first folder against the same cell of the others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from erlbench.experiment.fairness import compare_algorithms
from erlbench.reporting.data.agreement import change_between, find_disagreements, list_cells
from erlbench.reporting.data.cells import list_rows
from erlbench.reporting.data.origin import random_score
from erlbench.reporting.data.page_cells import make_cells, score_cells
from erlbench.reporting.data.runs import run_tables
from erlbench.reporting.documents.formats import steps
from erlbench.reporting.documents.model import Record, Table
from erlbench.reporting.statistics.estimates import improvement
from erlbench.reporting.statistics.significance import level_words
from erlbench.reporting.tables.columns import build_table
from erlbench.reporting.verdict.pairs import decide, mark, selection_reason


def differences_table(runs: pd.DataFrame, metric: str) -> Table:
    """One row per environment, budget, algorithm and further folder; `runs` are those of `read_sides`."""
    folders = list(dict.fromkeys(runs.side))
    rows = _make_rows(runs, folders, metric)
    first, other = folders[0], folders[1] if len(folders) == 2 else "there"
    cells = {f"{row['name']} on {row['env']} in {side}": cell for row in rows
             for side, cell in zip((first, row["folder"]), row["cells"], strict=True) if cell}  # fmt: skip
    words = dict.fromkeys(cell.score_words for cell in cells.values())
    remarks = [f"{'; '.join(words)}. Runs are compared where environment, budget and name are the same."]
    remarks += find_disagreements((name, cell.done) for name, cell in cells.items())
    remarks += list_cells("Not compared, for their budgets differ", _describe_budgets(runs))
    title = f"{', '.join(folders[:-1])} and {folders[-1]}, side by side"
    table = build_table("sides", title, rows, remarks, first=first, other=other, level=level_words())
    return replace(table, name="differences")


def _make_rows(runs: pd.DataFrame, folders: Sequence[str], metric: str) -> list[Record]:
    """The same cell of the first folder and of another one, where one of both has runs, and how they compare."""
    rows: list[Record] = []
    groups: Any = runs.groupby(["env", "total_timesteps", "name"])
    for (env, total, name), of_cell in groups:
        by_side = dict(iter(of_cell.groupby("side")))
        for side in folders[1:]:
            present = [folder for folder in (folders[0], side) if folder in by_side]
            if not present:
                continue
            cells = score_cells(make_cells(
                {"env": env, "total_timesteps": total, "name": name, "planned": by_side[folder].seed.nunique(),
                 "runs": tuple(list_rows(by_side[folder]))} for folder in present
            ), metric, total)  # fmt: skip
            by_folder = dict(zip(present, list_rows(cells), strict=True))
            first, other = by_folder.get(folders[0]), by_folder.get(side)
            row = {"env": env, "total_timesteps": total, "name": name, "folder": side, "cells": (first, other),
                   "environment": f"{env}, {steps(total)} steps", "identity": "", "settings": ""}  # fmt: skip
            for suffix, cell in (("_first", first), ("", other)):
                sample = (cell.n, len(cell.done), cell.mean, cell.std) if cell else [math.nan] * 4
                row |= {f"{key}{suffix}": value for key, value in zip(("n", "runs", "mean", "std"), sample)}
            if first is None or other is None:
                row["status"] = f"not in {'the first folder' if first is None else side}"
            else:
                row |= _compare_setup(first, other)
                row["status"] = "; ".join(sorted({first.status, other.status} - {"done"})) or "done"
            rows.append(row)
    for row, outcome in zip(rows, decide([_scores(row) for row in rows]), strict=True):
        row |= {name: outcome[name] for name in ("difference", "difference_low", "difference_high", "p_holm")}
        row |= {"mark": mark(outcome), "change_pct": improvement(row["mean"], row["mean_first"])}
    return rows


def _scores(row: Record) -> tuple[Any, Any, float, str]:
    """The scores of both, those of the further folder first, as `decide` takes them; none where one was not run."""
    first, other = row["cells"]
    if not (first and other and first.done and other.done):
        return np.empty(0), np.empty(0), 0.0, "not run"
    return other.scores, first.scores, random_score(row["env"]) or 0.0, selection_reason((other, first))


def _compare_setup(first: Any, other: Any) -> Record:
    """What differs between both, in the identity of their finished runs and in their configurations."""
    sides = [(name, run_tables(run)) for name, cell in (("first", first), ("other", other)) for run in cell.runs]
    _, lines = compare_algorithms({**config, "run": {**config["run"], "name": name}} for name, config in sides)
    settings = "; ".join(f"{aspect} {' | '.join(texts)}" for aspect, texts in lines.items())
    identity = change_between(first.done, other.done) if first.done and other.done else ""
    return {"identity": identity, "settings": settings or "equal"}


def _describe_budgets(runs: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """The algorithms that a folder and the first one have with different budgets only, with these."""
    first, *others = dict.fromkeys(runs.side)
    for (env, name), of_name in runs.groupby(["env", "name"]):
        budgets = {side: sorted(set(values)) for side, values in of_name.groupby("side").total_timesteps}
        for side in others:
            both = {folder: budgets[folder] for folder in (first, side) if folder in budgets}
            if len(both) == 2 and set(both[first]).isdisjoint(both[side]):
                listed = (f"{' and '.join(map(steps, values))} steps in {folder}" for folder, values in both.items())
                yield f"{name} on {env}", ", ".join(listed)
