"""What tables of cells share: what a cell is, how many of its runs count, how much it learnt per step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.documents.formats import NONE, fraction
from erlbench.reporting.documents.model import Column, Record
from erlbench.reporting.statistics.curves import updates_per_step
from erlbench.reporting.statistics.estimates import mean
from erlbench.words import counted

BUDGET = ("env", "total_timesteps", "total_generations", "total_minutes")
ENVIRONMENT: Column = Column("Environment", " ".join(BUDGET), printed="environment", words=True)
IDENTITY: list[Column] = [ENVIRONMENT, Column("Name", "name", shown=False), Column("Algorithm", "algorithm")]
STATUS: Column = Column("Status", "status", note="of the runs that do not count: how far they are, or why they ended.")


def cell_record(comparison: Comparison, group: Group, run_set: RunSet) -> Record:
    """What all tables say of a cell."""
    critic, actor = updates_per_step(run_set.done)
    return {
        **dict(zip(BUDGET, group.budget, strict=True)), "environment": comparison.group_name(group),
        "name": run_set.name if run_set.exists else "", "algorithm": run_set.label, "n": len(run_set.seeds),
        "planned": run_set.planned, "runs": len(run_set.done), "status": run_set.status,
        "critic_updates_per_step": critic, "actor_updates_per_step": actor,
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
        _pair,
        shown=any(row[name] > 0 for row in rows for name in names),
        note="gradient updates of the critic and of the actor per training step of the whole run, mean over runs.",
    )


def learning_steps(run_set: RunSet) -> float:
    """Training and fitness steps of a run set's finished runs, mean over runs; NaN without one."""
    return mean([run.evaluations.learning_steps[-1] for run in run_set.done])


def all_steps(run_set: RunSet) -> float:
    """All simulator steps of a run set's finished runs, likewise."""
    return mean([run.evaluations.all_steps[-1] for run in run_set.done])


def finite(function: Callable[[float], str]) -> Callable[[float], str]:
    """The format, with a dash also for infinity."""
    return lambda value: function(value) if math.isfinite(value) else NONE


def _pair(critic: float, actor: float) -> str:
    if math.isnan(critic) and math.isnan(actor):
        return NONE
    return " + ".join(NONE if math.isnan(value) else f"{value:.2f}" for value in (critic, actor))
