"""What departs from a plan: its kinds, and what the settings of one run differ in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from erlbench.experiment.plan import Plan, PlannedCell
from erlbench.files import table_in


class Kind(StrEnum):
    """What was done to a study that its plan does not say."""

    CELL = "a cell that is not in the plan"
    SEED = "another seed"
    SETTINGS = "other settings"
    BUDGET = "another budget"
    EVALUATION = "another evaluation protocol"
    KERNEL = "several kernels in one seed"
    IDENTITY = "several identities in one cell"
    FAILED = "a failed run"
    REPEATED = "a repeated run"
    DELETED = "a deleted run"
    BEFORE = "a start without a plan"
    EDITED = "a start under another plan"
    JOURNAL = "an incomplete journal"
    EARLY = "an early report"
    SCORE = "a report with another score"
    FAMILY = "a report with other tests"


@dataclass(frozen=True)
class Departure:
    """One departure, and what it is about."""

    kind: Kind
    what: str


BUDGET = ("total_timesteps", "total_minutes", "total_generations")
EVALUATION = ("eval_freq", "eval_episodes", "final_episodes", "evaluate")


def planned_cell(plan: Plan, config: Mapping[str, Any]) -> PlannedCell | None:
    """The cell of the plan whose run has this configuration; None for a run that the plan does not know."""
    run = table_in(config, "run")
    found = (cell for cell in plan.cells if (cell.env, cell.name) == (run.get("env"), run.get("name")))
    return next(found, None)


def of_run(plan: Plan, config: Mapping[str, Any], label: str) -> list[Departure]:
    """In what a run's configuration (`Cell.config`, config.toml) departs from the plan; `label` names the run.

    What a run of an older version does not record is unknown and no departure, unless it is its budget.
    """
    cell, run = planned_cell(plan, config), table_in(config, "run")
    if cell is None:
        return [Departure(Kind.CELL, label)]
    found = []
    if run.get("seed") not in plan.assigned_seeds():
        found.append(Departure(Kind.SEED, label))
    differing: dict[Kind, list[str]] = {}
    for table, wanted in plan.config(cell).items():
        there = table_in(config, table)
        keys = [key for key in wanted if key in there]
        if table == "run":
            keys = [key for key in dict.fromkeys((*keys, *BUDGET)) if _is_decided(key, wanted, there)]
        elif table == "env_settings":
            keys = list(dict.fromkeys((*wanted, *there)))
        for key in keys:
            if there.get(key) != wanted.get(key):
                kind = Kind.BUDGET if key in BUDGET else Kind.EVALUATION if key in EVALUATION else Kind.SETTINGS
                text = f"{key} is {there.get(key, 'not set')}, not {wanted.get(key, 'set')}"
                differing.setdefault(kind, []).append(text)
    return [*found, *(Departure(kind, f"{label}: {'; '.join(texts)}") for kind, texts in differing.items())]


def _is_decided(key: str, wanted: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """Whether the plan decides an option of a run: steps are left open where minutes alone are the budget."""
    if key == "total_timesteps":
        return wanted[key] is not None
    return key not in BUDGET or there.get(key) is not None or wanted.get(key) is not None
