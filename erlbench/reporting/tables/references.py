"""Our runs against other people's, seed by seed: the table of all sources, and the first one's columns for others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.references import References, match_runs
from erlbench.reporting.data.seeds import seed_means, single_run_std
from erlbench.reporting.documents.formats import NONE, interval, number, plus_minus, steps
from erlbench.reporting.documents.model import Column, Record, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.significance import compare
from erlbench.reporting.tables.columns import IDENTITY, N, cell_record


def beside(group: Group, run_set: RunSet, references: References) -> Iterator[Record]:
    """The run set beside each source with comparable runs, at the nearest common step: names as in CSV files.

    `theirs` are the runs of the source; `at_budget`, whether the common step is the budget, as both are printed, and
    our runs have their scores there.
    """
    budget = run_set.own_timesteps or group.total_timesteps
    for source in references.of(run_set):
        if (matched := match_runs(run_set.done, source)) is None:
            continue
        step, values, theirs = matched
        ours, (mean, std) = seed_means(values), estimates.mean_std(theirs)
        yield {
            **compare(ours, theirs), "theirs": source, "steps": step, "mean": estimates.mean(ours),
            "std": single_run_std(values), "their_mean": mean, "their_std": std,
            "their_median": estimates.median(theirs),
            "their_runs": len(theirs), "their_scores": " ".join(repr(float(score)) for score in theirs),
            "their_environment": source.env, "source": source.source.name,
            "at_budget": steps(step) == steps(budget) and np.array_equal(ours, run_set.scores),
        }  # fmt: skip


ROW = {  # of the table of scores, by the names of `beside`
    "reference_mean": "their_mean", "reference_std": "their_std", "reference_runs": "their_runs",
    "reference_ours": "mean", "reference_median": "their_median", "reference_probability": "probability_better",
    "reference_probability_low": "probability_low", "reference_probability_high": "probability_high",
    "reference_steps": "steps",
}  # fmt: skip


def reference_record(found: Record | None) -> Record:
    """One source's runs beside a row, or none."""
    if found is None:
        return {**dict.fromkeys(ROW, math.nan), "reference_source": ""}
    return {**{name: found[key] for name, key in ROW.items()}, "reference_source": found["source"]}


def reference_columns(found: Sequence[Record]) -> list[Column]:
    """Columns of one source a row; they are printed where a row has one, the step where it is not the budget."""
    sources = "; ".join(dict.fromkeys(f"{one['source']} ({one['theirs'].returns})" for one in found))
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
        Column("Reference step", "reference_steps", steps, shown=not all(one["at_budget"] for one in found),
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
    rows = [
        {**one, **cell_record(comparison, group, run_set), "probability_ours_better": one["probability_better"]}
        for group in comparison.groups for run_set in group.run_sets if run_set.exists
        for one in beside(group, run_set, references)
    ]  # fmt: skip
    title, remarks = comparison.heading("reference runs"), [*_remarks(rows)]
    return Table("reference-runs", title, COLUMNS, rows, remarks) if rows else None


def _with_runs(mean: float, std: float, runs: float) -> str:
    return NONE if math.isnan(runs) else f"{plus_minus(mean, std)} ({runs})"


def _remarks(rows: Sequence[Record]) -> Iterator[str]:
    yield (
        "Other people's runs, seed by seed, where dynamics and reward are those of our environment; mean ± sample "
        "standard deviation at the nearest common step. Sources differ as much as algorithms do and are never pooled."
    )
    yield (
        "P(ours better): the probability that a random run of ours scores above one of theirs, with its 95 % interval "
        "(Newcombe 2006); 0.5 within it is no sign that the two are equal."
    )
    for source in dict.fromkeys(row["theirs"].source for row in rows):
        own = [row["theirs"] for row in rows if row["theirs"].source == source]
        returns = "; ".join(dict.fromkeys(f"{one.algorithm}: {one.returns}" for one in own))
        yield (
            f"{source.name}: {source.repository}, commit {source.commit}, on {source.environments}; "
            f"{source.description}. {returns}."
        )
