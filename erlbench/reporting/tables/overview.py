"""The matrix of all run sets: which algorithm was run in which environment, how far, and with which score."""

from __future__ import annotations

import math
from collections.abc import Callable

from erlbench.reporting.data.comparison import ALL_RUNS, REFERENCE, Comparison, Group, RunSet
from erlbench.reporting.documents.formats import NONE, number, steps
from erlbench.reporting.documents.model import BOLD, Column, Record, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.curves import updates_per_step
from erlbench.reporting.tables.columns import learning_steps, seeds_and_runs
from erlbench.reporting.tables.paper import all_pairs, find_best
from erlbench.reporting.verdict.pairs import compare_pairs

TITLE = "Algorithms and environments"
MOST_PAIRS = 66  # of algorithms; of more than twelve the matrix tests none
FEWEST, SPARSE = 8, 0.25  # environments, and share of filled cells, of a matrix
COMPLETE, PARTIAL, FAILED, ABSENT = "complete", "partial", "failed", "absent"


def overview(comparison: Comparison) -> Table:
    """The matrix; where most of its cells would be empty, a list of environments."""
    names = {one.name for one in comparison.run_sets if one.exists}
    cells, filled = len(names) * len(comparison.groups), sum(one.exists for one in comparison.run_sets)
    sparse = len(comparison.groups) > FEWEST and filled < SPARSE * cells
    return environments_table(comparison) if sparse else overview_table(comparison)


def environments_table(comparison: Comparison) -> Table:
    """One row per environment and budget, with all of its algorithms."""
    rows = [
        {"environment": comparison.group_name(group), "link": f"{comparison.name}/index.md",
         "algorithms": "; ".join(f"{one.name} {_cell_text(*_mean(one))}" for one in group.run_sets if one.exists)}
        for group in sorted(comparison.groups, key=_finished, reverse=True)
    ]  # fmt: skip
    columns = [Column("Environment", "environment", link="link"), Column("Algorithms", "algorithms")]
    remarks = ("Mean score of the finished seeds, and how many of all seeds are finished.",)
    return Table("", _title(comparison), columns, rows, remarks)


def _title(comparison: Comparison) -> str:
    return TITLE if comparison.name in (ALL_RUNS, REFERENCE) else comparison.title


def overview_table(comparison: Comparison) -> Table:
    """One row per algorithm; one column per environment and budget, those with the most runs done first."""
    names, best = sorted({one.name for one in comparison.run_sets if one.exists}), _decided(comparison)
    rows: list[Record] = [{"algorithm": name} for name in names]
    columns = [Column("Algorithm", "algorithm")]
    for group in sorted(comparison.groups, key=_finished, reverse=True):  # stable: else in the order of the page
        keys = [f"{what} {len(columns)}" for what in ("mean", "runs", "style", "link")]
        title = comparison.group_name(group)
        columns.append(Column(title, (keys[0], keys[1]), _cell_text, style=keys[2], link=keys[3]))
        for row in rows:
            run_set = group.run_set(row["algorithm"])
            decided = f" {BOLD}" if (group.limit, group.env, row["algorithm"]) in best else ""
            drawn = run_set is not None and any(len(run.evaluations) for run in run_set.runs)
            link = f"{comparison.name}/index.md#curves-{comparison.slug(group)}" if drawn else ""
            row |= dict(zip(keys, (*_mean(run_set), f"{_state(run_set)}{decided}", link), strict=True))
    for title, rate in (("Steps learnt from", learning_steps), ("Critic updates/step", _critic_updates)):
        if _differs(comparison, rate):
            columns.append(Column(title, (title,)))
            for row in rows:
                row[title] = _range(row["algorithm"], comparison, rate)
    remarks = (
        "Mean score of the finished seeds, and how many of all seeds are finished. Green: all runs are finished; "
        "amber: some are not; red: one failed. Bold: decided to score higher than all other algorithms of the column, "
        "after the correction for all pairs; no bold: not decided. A score leads to its learning curves.",
    )
    return Table("", _title(comparison), columns, rows, remarks)


def _finished(group: Group) -> int:
    return sum(len(run_set.done) for run_set in group.run_sets)


def _mean(run_set: RunSet | None) -> tuple[float, str]:
    if run_set is None:
        return math.nan, ""
    seeds = seeds_and_runs(len(run_set.seeds), run_set.planned, len(run_set.done))
    return estimates.mean(run_set.scores), seeds


def _cell_text(mean: float, runs: str) -> str:
    return f"{number(mean)} ({runs})" if runs else NONE


def _state(run_set: RunSet | None) -> str:
    if run_set is None:
        return ABSENT
    if run_set.failed:
        return FAILED
    return COMPLETE if len(run_set.done) == len(run_set.runs) else PARTIAL


def _decided(comparison: Comparison) -> set[tuple[str, str, str]]:
    """Budget, environment and name of what the verdicts put above all others there."""
    pairs = all_pairs(comparison)
    if not comparison.tested or len(pairs) > MOST_PAIRS:
        return set()
    best = find_best(comparison, compare_pairs(comparison, pairs))
    return {(comparison.groups[number].limit, comparison.groups[number].env, name) for number, name in best}


def _critic_updates(run_set: RunSet) -> float:
    return updates_per_step(run_set.done)[0]


def _differs(comparison: Comparison, rate: Callable[[RunSet], float]) -> bool:
    """Whether algorithms of an environment differ in it by more than a hundredth."""
    for group in comparison.groups:
        values = [value for one in group.run_sets if one.done and math.isfinite(value := rate(one))]
        if values and max(values) > 1.01 * min(values):
            return True
    return False


def _range(name: str, comparison: Comparison, rate: Callable[[RunSet], float]) -> str:
    """An algorithm's lowest and highest value over environments."""
    found = [one for group in comparison.groups if (one := group.run_set(name)) and one.done]
    values = [value for one in found if math.isfinite(value := rate(one))]
    form = steps if rate is learning_steps else number
    return " to ".join(dict.fromkeys((form(min(values)), form(max(values))))) if values else ""
