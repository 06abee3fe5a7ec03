"""The table of differences and their tests: an environment's run sets against the baseline, or each against each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from erlbench.reporting.data.comparison import Comparison
from erlbench.reporting.documents.formats import interval, number, p_value, with_interval
from erlbench.reporting.documents.model import Column, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.intervals import FEWEST_RUNS
from erlbench.reporting.statistics.power import POWER
from erlbench.reporting.statistics.significance import MARGIN, level_words
from erlbench.reporting.verdict.judged import MOST_RUN_SETS, TestedPair
from erlbench.reporting.verdict.rule import seeds_for_tests


def pairs_table(comparison: Comparison, rows: Sequence[TestedPair]) -> Table[TestedPair] | None:
    """The pairs of a page (`compared_pairs`), a row each; None where there is none."""
    if not rows:
        return None
    names = {group.budget: comparison.group_name(group) for group in comparison.groups}
    columns: list[Column[TestedPair]] = [
        Column("Environment", lambda row: row.group.budget, lambda *budget: names[budget],
               name=("env", "total_timesteps", "total_generations", "total_minutes"), words=True),
        Column("Algorithm", lambda row: row.run_set.label),
        Column("Against", lambda row: row.other.label),
        Column("Seeds", lambda row: row.difference.runs, lambda n, m: f"{n}, {m}", name=("n", "n_against")),
        Column("Difference", lambda row: (row.difference.difference, *row.difference.interval), with_interval,
               name=("difference", "difference_low", "difference_high"),
               note="of the means, with its 95 % interval (Welch)."),
        Column("IQMs", lambda row: (estimates.iqm(row.run_set.scores), estimates.iqm(row.other.scores)),
               lambda a, b: f"{number(a)}, {number(b)}", name=("iqm", "iqm_against"),
               note="interquartile means."),
        Column("P(better)", lambda row: (row.difference.probability, *row.difference.probability_interval), interval,
               name=("probability_better", "probability_low", "probability_high"),
               note="the probability that a run of the first scores above one of the second, with its 95 % interval "
                    "(Newcombe)."),
        Column("Ranks' p", lambda row: row.difference.p, p_value, name="p_rank",
               note="the larger p of the Mann–Whitney and Brunner–Munzel tests, not corrected."),
        Column("p", lambda row: row.p, p_value, name="p_holm"),
        Column("Case", lambda row: str(row.case), note="what the rule of the suite says (how-we-decide)."),
        Column("Detectable", lambda row: row.outcome.detectable if row.outcome else math.nan, number,
               name="detectable_difference",
               note=f"about the smallest difference of means that such runs show in {100 * POWER:.0f} of 100 studies, "
                    "if runs are normal and spread as far as their upper 80 % limits."),
    ]  # fmt: skip
    return Table(
        "tests", comparison.heading("differences and their tests"), columns, rows, list(_remarks(comparison, rows))
    )


def _remarks(comparison: Comparison, rows: Sequence[TestedPair]) -> Iterator[str]:
    tests, here = max((row.tests for row in rows), default=0), sum(row.difference.enough for row in rows)
    of = "all pairs of this table" if tests > here else "this table"
    yield f"{comparison.score_words}."
    yield (
        f"p: the ranks' p after Holm's correction for the tests of {of} ({tests} in all). The ranks differ where it is "
        f"at most its level ({level_words()}, on the side with fewer seeds); a difference is decided where the means "
        f"differ by {100 * MARGIN:g} % or more, too. Below {FEWEST_RUNS} seeds there is no interval and no test."
    )
    if here and not any(row.outcome and row.outcome.decidable for row in rows):
        yield f"No row can be decided: {tests} tests need {seeds_for_tests(tests)} seeds per side."
    if any(_best_alone(comparison, [row for row in rows if row.group is group]) for group in comparison.groups):
        yield (
            f"Where an environment has more than {MOST_RUN_SETS} algorithms, the table has the pairs of the one with "
            f"the highest mean, of those with at least {FEWEST_RUNS} seeds if there are several."
        )
    yield (
        "Undecided is no sign that two are equal: smaller differences than Detectable are often missed. It is reckoned "
        "at the level of Holm's first step."
    )


def _best_alone(comparison: Comparison, rows: Sequence[TestedPair]) -> bool:
    """Whether these are only the pairs of the best one of an environment (`compared_pairs`)."""
    names = {name for row in rows for name in (row.run_set.name, row.other.name)}
    return comparison.baseline not in names and len(names) > MOST_RUN_SETS
