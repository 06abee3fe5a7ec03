"""Our runs against other people's, seed by seed: the table of all sources, and the first one's columns for others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.references import MatchedRuns, References
from erlbench.reporting.documents.formats import NONE, interval, number, plus_minus, steps
from erlbench.reporting.documents.model import Column, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.significance import Difference, compare
from erlbench.reporting.tables.columns import identity, runs_used


@dataclass(frozen=True)
class Beside:
    """One row: a run set beside the runs of one source."""

    group: Group
    run_set: RunSet
    pair: MatchedRuns
    difference: Difference

    @property
    def at_budget(self) -> bool:
        """Whether the common step is the budget, as both are printed, and our runs have their scores there."""
        budget = self.run_set.own_timesteps or self.group.total_timesteps
        return steps(self.pair.steps) == steps(budget) and np.array_equal(self.pair.our_scores, self.run_set.scores)


class ReferenceRow(Protocol):
    """A row that has one source's runs beside its own, or none."""

    @property
    def reference(self) -> Beside | None: ...


def beside(group: Group, run_set: RunSet, references: References) -> Iterator[Beside]:
    """The run set beside each source with comparable runs, at the nearest common step."""
    for pair in references.pairs(run_set):
        yield Beside(group, run_set, pair, compare(pair.our_scores, pair.their_scores))


def reference_columns(rows: Sequence[ReferenceRow]) -> list[Column[ReferenceRow]]:
    """Columns of one source a row; they are printed where a row has one, the step where it is not the budget."""
    found = [row.reference for row in rows if row.reference]
    sources = "; ".join(dict.fromkeys(f"{one.pair.theirs.source.name} ({one.pair.theirs.returns})" for one in found))
    return [
        Column("Reference runs", lambda row: _spread(row.reference), _with_runs,
               name=("reference_mean", "reference_std", "reference_runs"), shown=bool(found),
               note="mean ± standard deviation (runs) of other people's runs at the nearest common step, from the "
               f"first source of the table of reference runs: {sources}."),
        Column("Ours there", lambda row: _ours(row.reference), number, name="reference_ours", shown=bool(found),
               note="mean of our scores at the step of the reference runs."),
        Column("Reference median", lambda row: estimates.median(_theirs(row.reference)), number, shown=bool(found),
               note="of the same runs."),
        Column("P(ours better)", lambda row: _probability(row.reference), interval, shown=bool(found),
               name=("reference_probability", "reference_probability_low", "reference_probability_high"),
               note="the probability that a random run of ours scores above one of theirs, both at the common step, "
               "with its 95 % interval (Newcombe 2006); 0.5 within it is no sign that the two are equal."),
        Column("Reference step", lambda row: row.reference.pair.steps if row.reference else math.nan, steps,
               name="reference_steps", shown=not all(one.at_budget for one in found),
               note="the common step. If our runs go on after it, P(ours better) does not take the scores of this "
               "table but ours at that step, which stand in the table of reference runs."),
        Column("Reference source", lambda row: row.reference.pair.theirs.source.name if row.reference else "",
               shown=False),
    ]  # fmt: skip


def references_table(comparison: Comparison, references: References) -> Table[Beside] | None:
    """None where no source has runs of an algorithm of the page in a comparable environment."""
    rows = [
        row for group in comparison.groups for run_set in group.run_sets if run_set.exists
        for row in beside(group, run_set, references)
    ]  # fmt: skip
    if not rows:
        return None
    columns: list[Column[Beside]] = [
        *identity(comparison),
        Column("Source", lambda row: row.pair.theirs.source.name),  # with the run set it names the row
        runs_used(),
        Column("Ours", lambda row: (estimates.mean(row.pair.our_scores), row.pair.our_std), plus_minus,
               name=("mean", "std")),
        Column("Their environment", lambda row: row.pair.theirs.env),
        Column("Their runs", lambda row: len(row.pair.their_scores), str),
        Column("Theirs", lambda row: estimates.mean_std(row.pair.their_scores), plus_minus,
               name=("their_mean", "their_std")),
        Column("Their median", lambda row: estimates.median(row.pair.their_scores), number),
        Column("At", lambda row: row.pair.steps, steps, name="steps", unit="steps"),
        Column("P(ours better)", lambda row: (row.difference.probability, *row.difference.probability_interval),
               interval, name=("probability_ours_better", "probability_low", "probability_high")),
        Column("p", lambda row: row.difference.p, name="p_rank", shown=False),
        Column("Their scores", lambda row: " ".join(repr(float(score)) for score in row.pair.their_scores),
               shown=False),
    ]  # fmt: skip
    return Table("reference-runs", comparison.heading("reference runs"), columns, rows, list(_remarks(rows)))


def _ours(found: Beside | None) -> float:
    return math.nan if found is None else estimates.mean(found.pair.our_scores)


def _theirs(found: Beside | None) -> Sequence[float]:
    return [] if found is None else found.pair.their_scores.tolist()


def _spread(found: Beside | None) -> tuple[float, float, int | None]:
    return *estimates.mean_std(_theirs(found)), len(_theirs(found)) or None


def _with_runs(mean: float, std: float, runs: int | None) -> str:
    return f"{plus_minus(mean, std)} ({runs})" if runs else NONE


def _probability(found: Beside | None) -> tuple[float, float, float]:
    if found is None:
        return math.nan, math.nan, math.nan
    return found.difference.probability, *found.difference.probability_interval


def _remarks(rows: Sequence[Beside]) -> Iterator[str]:
    yield (
        "Other people's runs, seed by seed, where dynamics and reward are those of our environment; mean ± sample "
        "standard deviation at the nearest common step. Sources differ as much as algorithms do and are never pooled."
    )
    yield (
        "P(ours better): the probability that a random run of ours scores above one of theirs, with its 95 % interval "
        "(Newcombe 2006); 0.5 within it is no sign that the two are equal."
    )
    for source in dict.fromkeys(row.pair.theirs.source for row in rows):
        own = [row.pair.theirs for row in rows if row.pair.theirs.source == source]
        returns = "; ".join(dict.fromkeys(f"{one.algorithm}: {one.returns}" for one in own))
        yield (
            f"{source.name}: {source.repository}, commit {source.commit}, on {source.environments}; "
            f"{source.description}. {returns}."
        )
