"""The table of tuning budgets: which defaults were tuned, on which tasks, by whom, with how many trials."""

from __future__ import annotations

from erlbench.experiment.fairness import distinct, overridden
from erlbench.experiment.tuning_budgets import Budget, select_budgets
from erlbench.reporting.data.comparison import Comparison
from erlbench.reporting.documents.model import Column, Table


def tuning_table(comparison: Comparison) -> Table[Budget] | None:
    """The rows of the page's algorithms; None where none is known."""
    changed: dict[str, set[str]] = {}
    for config in distinct(run.config for run in comparison.runs):
        changed.setdefault(config["run"]["algo"], set()).update(overridden(config))
    rows = [budget for algo, names in changed.items() for budget in select_budgets(algo, names)]
    if not rows:
        return None
    columns: list[Column[Budget]] = [
        Column("Algorithm", lambda row: row.algorithm),
        Column("Settings", lambda row: row.settings,
               note="those that have their default in all runs; all: whatever has no row of its own."),
        Column("Tuned on", lambda row: row.tasks),
        Column("By", lambda row: row.by),
        Column("Trials", lambda row: row.trials, note="configurations that were tried; none: a rule gives the values."),
    ]  # fmt: skip
    remarks = (
        "Defaults that were tuned on the tasks of the comparison are an advantage that scores do not show. Trials of "
        "`erlbench tune` are counted by that command.",
    )
    return Table("tuning", comparison.heading("tuning of the defaults"), columns, rows, remarks)
