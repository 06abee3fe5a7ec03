"""The table of folders side by side: every cell of the first folder against the same cell of the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from erlbench.experiment.fairness import compare_algorithms
from erlbench.reporting.data.cells import list_rows
from erlbench.reporting.data.identities import change_between, identity_remarks
from erlbench.reporting.data.origin import random_score
from erlbench.reporting.data.page_cells import make_cells, score_cells
from erlbench.reporting.data.runs import run_tables
from erlbench.reporting.data.seeds import sample_words
from erlbench.reporting.documents.formats import count, number, p_value, percent, plus_minus, steps, with_interval
from erlbench.reporting.documents.model import Column, Record, Table
from erlbench.reporting.statistics.curves import minutes_per_million
from erlbench.reporting.statistics.estimates import improvement, mean, median
from erlbench.reporting.statistics.significance import level_words
from erlbench.reporting.tables.columns import has_values
from erlbench.reporting.verdict.pairs import decide, mark, selection_reason

KINDS = {False: "measured", True: "modelled"}  # minutes, by whether their time is simulated


def differences_table(runs: pd.DataFrame, metric: str) -> Table:
    """One row per environment, budget, algorithm and further folder; `runs` are those of `read_sides`."""
    folders = list(dict.fromkeys(runs.side))
    rows = _make_rows(runs, folders, metric)
    first, other = folders[0], folders[1] if len(folders) == 2 else "there"
    columns: list[Column] = [
        Column("Environment", "env total_timesteps", lambda env, total: f"{env}, {steps(total)} steps", words=True),
        Column("Algorithm", "name"),
        Column("Compared with", "folder"),
        Column(f"n {first}", "n_first runs_first", _print_counts),
        Column(f"Mean {first}", "mean_first std_first", plus_minus,
               note="mean ± sample standard deviation of the scores in the first folder."),
        Column(f"n {other}", "n runs", _print_counts),
        Column(f"Mean {other}", "mean std", plus_minus, note="the same in the folder that it is compared with."),
        Column("Difference", "difference difference_low difference_high", with_interval, style="mark",
               note="other mean minus first, with its 95 % interval (Welch); bold: decided to score higher, italic: "
                    "lower."),
        Column("Change", "change_pct", percent),
        Column("Identity", "identity",
               note="whether kernel, packages, source files and MuJoCo model are those of the first folder, or what "
                    "has changed; unknown: a run did not record them."),
        Column("Settings", "settings",
               note="what of settings, updates and evaluation is not as in the first folder, both values; or equal."),
        Column("p", "p_holm", p_value,
               note=f"of the ranks, after Holm's correction over the table; decides at {level_words()}, on the side "
                    "with fewer seeds."),
    ]  # fmt: skip
    for kind in KINDS.values():  # never in one column
        name, title = f"{kind}_minutes_per_million", f"{kind.capitalize()} minutes"
        shown = has_values(rows, name, f"{name}_first")
        note = "training minutes per million training steps, median over runs."
        columns.append(Column(f"{title} {first}", f"{name}_first", number, shown=shown))
        columns.append(Column(f"{title} {other}", name, number, shown=shown, note=note))
    columns.append(Column("Status", "status"))
    cells = {f"{row['name']} on {row['env']} in {side}": cell for row in rows
             for side, cell in zip((first, row["folder"]), row["cells"], strict=True) if cell}  # fmt: skip
    words = dict.fromkeys(cell.score_words for cell in cells.values())
    remarks = [f"{'; '.join(words)}. Runs are compared where environment, budget and name are the same."]
    remarks += identity_remarks((name, cell.done) for name, cell in cells.items())
    remarks += [differ] if (differ := _unequal_budgets(rows, first)) else []
    names = " and ".join([", ".join(folders[:-1]), folders[-1]])
    return Table("differences", f"{names}, side by side", columns, rows, remarks)


def _make_rows(runs: pd.DataFrame, folders: Sequence[str], metric: str) -> list[Record]:
    """The same cell of the first folder and of another one, where one of both has runs, and how they compare."""
    rows: list[Record] = []
    for (env, total, name), own in runs.groupby(["env", "total_timesteps", "name"]):
        by_side = dict(iter(own.groupby("side")))
        for side in folders[1:]:
            present = [folder for folder in (folders[0], side) if folder in by_side]
            if not present:
                continue
            cells = score_cells(make_cells(
                {"env": env, "total_timesteps": total, "name": name, "planned": by_side[folder].seed.nunique(),
                 "runs": tuple(list_rows(by_side[folder]))} for folder in present
            ), metric, own.total_timesteps.iloc[0])  # fmt: skip
            found = dict(zip(present, list_rows(cells), strict=True))
            first, other = found.get(folders[0]), found.get(side)
            rows.append({"env": env, "total_timesteps": total, "name": name, "folder": side, "cells": (first, other),
                         **_side_record(first, "_first"), **_side_record(other), **_both_record(first, other),
                         "status": _status(first, other, side)})  # fmt: skip
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


def _side_record(cell: Any, suffix: str = "") -> Record:
    """Seeds, runs, score and minutes of one side; NaN without it."""
    names = ["n", "runs", "mean", "std", *(f"{kind}_minutes_per_million" for kind in KINDS.values())]
    values: list[float] = [math.nan] * len(names)
    if cell:
        timed = [run for run in cell.done if run.timed]
        minutes = [[minutes_per_million(run) for run in timed if run.simulated_time is kind] for kind in KINDS]
        values = [cell.n, len(cell.done), mean(cell.scores), cell.std, *map(median, minutes)]
    return {f"{name}{suffix}": value for name, value in zip(names, values, strict=True)}


def _both_record(first: Any, other: Any) -> Record:
    """What differs between both, in the identity of their finished runs and in their configurations."""
    if first is None or other is None:
        return {"identity": "", "settings": ""}
    sides = [(name, run_tables(run)) for name, cell in (("first", first), ("other", other)) for run in cell.runs]
    _, lines = compare_algorithms({**config, "run": {**config["run"], "name": name}} for name, config in sides)
    settings = "; ".join(f"{aspect} {' | '.join(texts)}" for aspect, texts in lines.items())
    identity = change_between(first.done, other.done) if first.done and other.done else ""
    return {"identity": identity, "settings": settings or "equal"}


def _status(first: Any, other: Any, folder: str) -> str:
    """`done`, or what keeps the two from being compared."""
    if first is None or other is None:
        return f"not in {'the first folder' if first is None else folder}"
    return "; ".join(sorted({first.status, other.status} - {"done"})) or "done"


def _print_counts(seeds: float, runs: float) -> str:
    return sample_words(int(seeds), int(runs)) if runs > seeds else count(seeds)


def _unequal_budgets(rows: Sequence[Record], first_name: str) -> str:
    """A sentence on the algorithms that the folders have with different budgets only; empty without any."""
    budgets: dict[tuple[str, str, str], tuple[set[int], set[int]]] = {}
    for row in rows:
        sides = budgets.setdefault((row["env"], row["name"], row["folder"]), (set(), set()))
        for own, cell in zip(sides, row["cells"], strict=True):
            own |= {row["total_timesteps"]} if cell else set()
    parts = [
        f"{name} on {env} ({_budgets(first)} in {first_name}, {_budgets(other)} in {side})"
        for (env, name, side), (first, other) in budgets.items() if first and other and not first & other
    ]  # fmt: skip
    return f"Not compared, for their budgets differ: {'; '.join(parts)}." if parts else ""


def _budgets(budgets: set[int]) -> str:
    return f"{' and '.join(steps(budget) for budget in sorted(budgets))} steps"
