"""Our runs against other people's, seed by seed: the table of all sources, and the first one's columns for others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.references import MatchedRuns, References
from erlbench.reporting.documents.formats import NONE, interval, number, plus_minus, steps
from erlbench.reporting.documents.model import Column, Record, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.significance import compare
from erlbench.reporting.tables.columns import IDENTITY, N, cell_record


@dataclass(frozen=True)
class Beside:
    """A run set beside the runs of one source."""

    group: Group
    run_set: RunSet
    pair: MatchedRuns
    difference: Record  # `compare`

    @property
    def at_budget(self) -> bool:
        """Whether the common step is the budget, as both are printed, and our runs have their scores there."""
        budget = self.run_set.own_timesteps or self.group.total_timesteps
        return steps(self.pair.steps) == steps(budget) and np.array_equal(self.pair.our_scores, self.run_set.scores)

    @property
    def probability(self) -> tuple[float, float, float]:
        """That a run of ours scores above one of theirs, with its interval."""
        low, high = self.difference["probability_low"], self.difference["probability_high"]
        return self.difference["probability_better"], low, high


def beside(group: Group, run_set: RunSet, references: References) -> Iterator[Beside]:
    """The run set beside each source with comparable runs, at the nearest common step."""
    for pair in references.pairs(run_set):
        yield Beside(group, run_set, pair, compare(pair.our_scores, pair.their_scores))


def reference_record(found: Beside | None) -> Record:
    """One source's runs beside a row, or none."""
    theirs = [] if found is None else found.pair.their_scores.tolist()
    mean, std = estimates.mean_std(theirs)
    probability, low, high = found.probability if found else (math.nan,) * 3
    return {
        "reference_mean": mean, "reference_std": std, "reference_runs": len(theirs) or None,
        "reference_ours": estimates.mean(found.pair.our_scores) if found else math.nan,
        "reference_median": estimates.median(theirs), "reference_probability": probability,
        "reference_probability_low": low, "reference_probability_high": high,
        "reference_steps": found.pair.steps if found else math.nan,
        "reference_source": found.pair.theirs.source.name if found else "",
    }  # fmt: skip


def reference_columns(found: Sequence[Beside]) -> list[Column]:
    """Columns of one source a row; they are printed where a row has one, the step where it is not the budget."""
    sources = "; ".join(dict.fromkeys(f"{one.pair.theirs.source.name} ({one.pair.theirs.returns})" for one in found))
    return [
        Column("Reference runs", "reference_mean reference_std reference_runs", _with_runs, shown=bool(found),
               note="mean ± standard deviation (runs) of other people's runs at the nearest common step, from the "
               f"first source of the table of reference runs: {sources}."),
        Column("Ours there", "reference_ours", number, shown=bool(found),
               note="mean of our scores at the step of the reference runs."),
        Column("Reference median", "reference_median", number, shown=bool(found), note="of the same runs."),
        Column("P(ours better)", "reference_probability reference_probability_low reference_probability_high", interval,
               shown=bool(found),
               note="the probability that a random run of ours scores above one of theirs, both at the common step, "
               "with its 95 % interval (Newcombe 2006); 0.5 within it is no sign that the two are equal."),
        Column("Reference step", "reference_steps", steps, shown=not all(one.at_budget for one in found),
               note="the common step. If our runs go on after it, P(ours better) does not take the scores of this "
               "table but ours at that step, which stand in the table of reference runs."),
        Column("Reference source", "reference_source", shown=False),
    ]  # fmt: skip


COLUMNS: list[Column] = [
    *IDENTITY,
    Column("Source", "source"),  # with the run set it names the row
    N,
    Column("Ours", "mean std", plus_minus),
    Column("Their environment", "their_environment"),
    Column("Their runs", "their_runs", str),
    Column("Theirs", "their_mean their_std", plus_minus),
    Column("Their median", "their_median", number),
    Column("At", "steps", steps, unit="steps"),
    Column("P(ours better)", "probability_ours_better probability_low probability_high", interval),
    Column("p", "p_rank", shown=False),
    Column("Their scores", "their_scores", shown=False),
]


def references_table(comparison: Comparison, references: References) -> Table | None:
    """None where no source has runs of an algorithm of the page in a comparable environment."""
    found = [
        one for group in comparison.groups for run_set in group.run_sets if run_set.exists
        for one in beside(group, run_set, references)
    ]  # fmt: skip
    rows = [{**cell_record(comparison, one.group, one.run_set), **_record(one)} for one in found]
    return (
        Table("reference-runs", comparison.heading("reference runs"), COLUMNS, rows, list(_remarks(found)))
        if rows
        else None
    )


def _record(one: Beside) -> Record:
    theirs, (probability, low, high) = one.pair.their_scores, one.probability
    mean, std = estimates.mean_std(theirs)
    return {
        "source": one.pair.theirs.source.name, "mean": estimates.mean(one.pair.our_scores), "std": one.pair.our_std,
        "their_environment": one.pair.theirs.env, "their_runs": len(theirs), "their_mean": mean, "their_std": std,
        "their_median": estimates.median(theirs), "steps": one.pair.steps, "probability_ours_better": probability,
        "probability_low": low, "probability_high": high, "p_rank": one.difference["p_rank"],
        "their_scores": " ".join(repr(float(score)) for score in theirs),
    }  # fmt: skip


def _with_runs(mean: float, std: float, runs: int | None) -> str:
    return f"{plus_minus(mean, std)} ({runs})" if runs else NONE


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
