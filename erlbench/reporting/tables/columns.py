"""Columns that tables of run sets share: what a run set is, how many of its runs count, how much it learnt per step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Protocol

from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.documents.formats import NONE, fraction
from erlbench.reporting.documents.model import Column
from erlbench.reporting.statistics.estimates import mean
from erlbench.reporting.statistics.metrics import updates_per_step
from erlbench.words import counted


class RunSetRow(Protocol):
    """A row of a table with one run set a row, or several rows a run set."""

    @property
    def group(self) -> Group: ...
    @property
    def run_set(self) -> RunSet: ...


def identity(comparison: Comparison) -> list[Column[RunSetRow]]:
    """Environment and algorithm."""
    names = {group.budget: comparison.group_name(group) for group in comparison.groups}
    return [
        Column("Environment", lambda row: row.group.budget, lambda *budget: names[budget],
               name=("env", "total_timesteps", "total_generations", "total_minutes"), words=True),
        Column("Name", lambda row: row.run_set.name if row.run_set.exists else "", shown=False),
        Column("Algorithm", lambda row: row.run_set.label),
    ]  # fmt: skip


def runs_used() -> Column[RunSetRow]:
    """The number of runs that count, and of planned ones."""
    return Column(
        "n", lambda row: (len(row.run_set.seeds), row.run_set.planned, len(row.run_set.done)), seeds_and_runs,
        name=("n", "planned", "runs"), note="seeds with a finished run, of planned ones; only finished runs count.",
    )  # fmt: skip


def status() -> Column[RunSetRow]:
    """How far the runs are that do not count, or why they ended."""
    return Column(
        "Status",
        lambda row: row.run_set.status,
        note="of the runs that do not count: how far they are, or why they ended.",
    )


def updates(rows: Iterable[RunSetRow]) -> Column[RunSetRow]:
    """Gradient updates per training step of critic and actor, without which no time and no score can be judged.

    Printed where any of the `rows` has some.
    """
    return Column(
        "Updates/step", lambda row: updates_per_step(row.run_set.done), _pair,
        name=("critic_updates_per_step", "actor_updates_per_step"),
        shown=any(rate > 0 for row in rows for rate in updates_per_step(row.run_set.done)),
        note="gradient updates of the critic and of the actor per training step of the whole run, mean over runs.",
    )  # fmt: skip


def learning_steps(run_set: RunSet) -> float:
    """Training and fitness steps of a run set's finished runs, mean over runs; NaN without one."""
    return mean([run.evaluations.learning_steps[-1] for run in run_set.done])


def all_steps(run_set: RunSet) -> float:
    """All simulator steps of a run set's finished runs, likewise."""
    return mean([run.evaluations.all_steps[-1] for run in run_set.done])


def finite(function: Callable[[float], str]) -> Callable[[float], str]:
    """The format, with a dash also for infinity."""
    return lambda value: function(value) if math.isfinite(value) else NONE


def seeds_and_runs(seeds: int, planned: int, runs: int) -> str:
    """`2/3`: seeds with a finished run, of planned ones; `3/3 seeds, 6 runs` where seeds have several."""
    several = f" seeds, {counted(runs, 'run')}" if runs > seeds else ""
    return fraction(seeds, planned) + several if planned else NONE


def _pair(critic: float, actor: float) -> str:
    if math.isnan(critic) and math.isnan(actor):
        return NONE
    return " + ".join(NONE if math.isnan(value) else f"{value:.2f}" for value in (critic, actor))
