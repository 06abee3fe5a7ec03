"""Where the runs of a page come from: settings that differ, who tuned the defaults, whose imported runs there are."""

from __future__ import annotations

import math
from typing import Any

from erlbench.experiment.fairness import compare_algorithms, distinct, overridden, select_budgets
from erlbench.reporting.data.page_cells import PageCells
from erlbench.reporting.data.runs import run_tables
from erlbench.reporting.documents.formats import NONE
from erlbench.reporting.documents.model import Column, Table
from erlbench.reporting.tables.columns import build_table

MOST = 8  # algorithms in the table of settings; of more, none is compared line by line
EVALUATED = {  # what a run records in a column of its evaluations
    "training time": "train_time_s",
    "steps beside training": "fitness_timesteps",
    "gradient steps": "critic_updates",
}


def fairness_table(page: PageCells) -> Table | None:
    """What differs between the algorithms of a page; None where nothing does, or for more than `MOST` of them."""
    names, lines = compare_algorithms(run_tables(run) for run in page.runs)
    if not 2 <= len(names) <= MOST or not lines:
        return None
    titles = [f"{name} (algorithm)" if name.lower() == "what" else name for name in names]
    columns = [Column("What", "what"), *(Column(title, (title,)) for title in titles)]
    rows = [{"what": aspect, **dict(zip(titles, texts, strict=True))} for aspect, texts in lines.items()]
    remarks = (
        "What differs between the compared algorithms besides their ideas; what they share is left out. Overridden: "
        "settings that are not those of the preset. `erlbench run --set NAME=VALUE` makes settings equal.",
    )
    return Table("fairness", page.heading("what differs between the algorithms"), columns, rows, remarks)


def tuning_table(page: PageCells) -> Table | None:
    """Which defaults of the page's algorithms were tuned, where, by whom, how often; None where nothing is known."""
    changed: dict[str, set[str]] = {}
    for config in distinct(run_tables(run) for run in page.runs):
        changed.setdefault(config["run"]["algo"], set()).update(overridden(config))
    rows = [row for algo, names in changed.items() for row in select_budgets(algo, names)]
    remarks = (
        "Defaults that were tuned on the tasks of the comparison are an advantage that scores do not show. Trials of "
        "`erlbench tune` are counted by that command.",
    )
    return build_table("tuning", page.heading("tuning of the defaults"), rows, remarks) if rows else None


def imported_table(page: PageCells) -> Table | None:
    """Whose the imported runs of a page are, and what their files do not say; None without any."""
    cells: dict[tuple[str, str, str, str], list[Any]] = {}
    for run in page.runs:
        if run.imported:
            cells.setdefault((run.env, run.name, run.imported.origin, run.imported.format), []).append(run)
    rows = [
        {"environment": env, "algorithm": name, "seeds": ", ".join(str(run.seed) for run in runs), "origin": origin,
         "licence": runs[0].imported.licence or NONE, "read_from": kind, "returns_are_of": runs[0].imported.returns,
         "not_recorded": _not_recorded(runs[0])}
        for (env, name, origin, kind), runs in cells.items() if runs[0].imported
    ]  # fmt: skip
    remarks = ("Other programs made these runs. Nothing of them was computed again here.",)
    return build_table("imported", page.heading("imported runs"), rows, remarks) if rows else None


def _not_recorded(run: Any) -> str:
    """What a run's files do not say, of what tables and figures read."""
    recorded = {"budget": bool(run.total_timesteps), "settings": bool(run.settings)}
    for name, column in EVALUATED.items():
        recorded[name] = bool(len(run.evaluations)) and not math.isnan(run.evaluations[column][-1])
    return ", ".join(name for name, there in recorded.items() if not there) or NONE
