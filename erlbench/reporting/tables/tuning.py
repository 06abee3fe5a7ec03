"""The table of tuning budgets: which defaults were tuned, on which tasks, by whom, with how many trials."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from erlbench.reporting.data.comparison import Comparison
from erlbench.reporting.documents.model import Column, Table


@dataclass(frozen=True)
class Budget:
    """What is known of the tuning of some defaults; all texts."""

    algorithm: str
    settings: str  # names, or "all"
    tasks: str
    by: str
    trials: str  # "none" where a rule gives the values


@cache
def budgets() -> tuple[Budget, ...]:
    """All rows of tuning_budgets.csv."""
    with (files("erlbench.reporting") / "tuning_budgets.csv").open(encoding="utf-8") as file:
        return tuple(Budget(**row) for row in csv.DictReader(file))


def tuning_table(comparison: Comparison) -> Table[Budget] | None:
    """The rows of the page's algorithms; None where none is known."""
    here = {run.algo for run in comparison.runs}
    rows = [budget for budget in budgets() if budget.algorithm in here]
    if not rows:
        return None
    columns: list[Column[Budget]] = [
        Column("Algorithm", lambda row: row.algorithm),
        Column("Settings", lambda row: row.settings, note="names of settings; all: whatever has no row of its own."),
        Column("Tuned on", lambda row: row.tasks),
        Column("By", lambda row: row.by),
        Column("Trials", lambda row: row.trials, note="configurations that were tried; none: a rule gives the values."),
    ]  # fmt: skip
    remarks = (
        "Defaults that were tuned on the tasks of the comparison are an advantage that scores do not show. Trials of "
        "`erlbench tune` are counted by that command.",
    )
    return Table("tuning", comparison.heading("tuning of the defaults"), columns, rows, remarks)
