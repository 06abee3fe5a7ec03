"""The table of reference runs: our runs against other people's, seed by seed, each source for itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.references import MatchedRuns, References
from erlbench.reporting.documents.formats import interval, number, plus_minus, steps
from erlbench.reporting.documents.model import Column, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.significance import Difference, compare
from erlbench.reporting.tables.columns import identity


@dataclass(frozen=True)
class Beside:
    """One row: a run set beside the runs of one source."""

    group: Group
    run_set: RunSet
    pair: MatchedRuns
    difference: Difference


def references_table(comparison: Comparison, references: References) -> Table[Beside] | None:
    """None where no source has runs of an algorithm of the page in a comparable environment."""
    rows = [
        Beside(group, run_set, pair, compare(pair.our_scores, pair.their_scores))
        for group in comparison.groups for run_set in group.run_sets if run_set.exists
        for pair in references.pairs(run_set)
    ]  # fmt: skip
    if not rows:
        return None
    *named, runs = identity(comparison)
    columns: list[Column[Beside]] = [
        *named,
        Column("Source", lambda row: row.pair.theirs.source.name),  # with the run set it names the row
        runs,
        Column("Ours", lambda row: estimates.mean_std(row.pair.our_scores), plus_minus, name=("mean", "std")),
        Column("Their environment", lambda row: row.pair.theirs.env),
        Column("Their runs", lambda row: len(row.pair.their_scores), str),
        Column("Theirs", lambda row: estimates.mean_std(row.pair.their_scores), plus_minus,
               name=("their_mean", "their_std")),
        Column("Their median", lambda row: estimates.median(row.pair.their_scores), number),
        Column("At", lambda row: row.pair.steps, steps, name="steps", unit="steps"),
        Column("P(ours better)", lambda row: (row.difference.probability, *row.difference.probability_interval),
               interval, name=("probability_ours_better", "probability_low", "probability_high")),
        Column("p", lambda row: row.difference.p, name="p_welch", shown=False),
        Column("Their scores", lambda row: " ".join(repr(float(score)) for score in row.pair.their_scores),
               shown=False),
    ]  # fmt: skip
    return Table("reference-runs", comparison.heading("reference runs"), columns, rows, list(_remarks(rows)))


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
        yield (
            f"{source.name}: {source.repository}, commit {source.commit}, {source.returns} returns on "
            f"{source.environments}; {source.description}."
        )
