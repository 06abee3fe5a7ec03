"""What tables of cells share: what a cell is, how many of its runs count, how much it learnt per step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from erlbench.reporting.data.cells import GROUP
from erlbench.reporting.documents.formats import NONE, fraction
from erlbench.reporting.documents.model import Column, Record
from erlbench.reporting.statistics.curves import updates_per_step
from erlbench.words import counted

ENVIRONMENT: Column = Column("Environment", " ".join(GROUP), printed="environment", words=True)
IDENTITY: list[Column] = [ENVIRONMENT, Column("Name", "name", shown=False), Column("Algorithm", "algorithm")]
STATUS: Column = Column("Status", "status", note="of the runs that do not count: how far they are, or why they ended.")
SHARED = (*GROUP, "environment", "n", "planned", "status")


def cell_record(cell: Any) -> Record:
    """What all tables say of a cell."""
    critic, actor = updates_per_step(cell.done)
    return {
        **{name: getattr(cell, name) for name in SHARED}, "name": cell.name if cell.exists else "",
        "algorithm": cell.label, "runs": len(cell.done), "critic_updates_per_step": critic,
        "actor_updates_per_step": actor,
    }  # fmt: skip


def seeds_and_runs(seeds: int, planned: int, runs: int) -> str:
    """`2/3`: seeds with a finished run, of planned ones; `3/3 seeds, 6 runs` where seeds have several."""
    several = f" seeds, {counted(runs, 'run')}" if runs > seeds else ""
    return fraction(seeds, planned) + several if planned else NONE


N: Column = Column(
    "n", "n planned runs", seeds_and_runs, note="seeds with a finished run, of planned ones; only finished runs count."
)


def updates(rows: Sequence[Record]) -> Column:
    """Gradient updates per training step of critic and actor, without which no time and no score can be judged.

    Printed where any of the `rows` has some.
    """
    names = ("critic_updates_per_step", "actor_updates_per_step")
    return Column(
        "Updates/step",
        " ".join(names),
        _print_rates,
        shown=any(row[name] > 0 for row in rows for name in names),
        note="gradient updates of the critic and of the actor per training step of the whole run, mean over runs.",
    )


def has_values(rows: Sequence[Record], *names: str) -> bool:
    """Whether any row has a number in one of these columns."""
    return any(not math.isnan(row[name]) for row in rows for name in names)


def _print_rates(critic: float, actor: float) -> str:
    if math.isnan(critic) and math.isnan(actor):
        return NONE
    return " + ".join(NONE if math.isnan(value) else f"{value:.2f}" for value in (critic, actor))
