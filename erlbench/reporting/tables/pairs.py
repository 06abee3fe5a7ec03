"""The table of differences and their tests: an environment's run sets against the baseline, or each against each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from erlbench.reporting.data.comparison import Comparison
from erlbench.reporting.documents.formats import interval, number, p_value, with_interval
from erlbench.reporting.documents.model import Column, Record, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.intervals import FEWEST_RUNS
from erlbench.reporting.statistics.power import POWER
from erlbench.reporting.statistics.significance import MARGIN, level_words
from erlbench.reporting.tables.columns import BUDGET, ENVIRONMENT
from erlbench.reporting.verdict.judged import MOST_RUN_SETS, TestedPair
from erlbench.reporting.verdict.rule import seeds_for_tests

COLUMNS: list[Column[Any]] = [
    ENVIRONMENT,
    Column("Algorithm", "algorithm"),
    Column("Against", "against"),
    Column("Seeds", "n n_against", lambda n, m: f"{n}, {m}"),
    Column("Difference", "difference difference_low difference_high", with_interval,
           note="of the means, with its 95 % interval (Welch)."),
    Column("IQMs", "iqm iqm_against", lambda a, b: f"{number(a)}, {number(b)}", note="interquartile means."),
    Column("P(better)", "probability_better probability_low probability_high", interval,
           note="the probability that a run of the first scores above one of the second, with its 95 % interval "
                "(Newcombe)."),
    Column("Ranks' p", "p_rank", p_value,
           note="the larger p of the Mann–Whitney and Brunner–Munzel tests, not corrected."),
    Column("p", "p_holm", p_value),
    Column("Case", "case", note="what the rule of the suite says (how-we-decide)."),
    Column("Detectable", "detectable_difference", number,
           note=f"about the smallest difference of means that such runs show in {100 * POWER:.0f} of 100 studies, "
                "if runs are normal and spread as far as their upper 80 % limits."),
]  # fmt: skip


def pairs_table(comparison: Comparison, pairs: Sequence[TestedPair]) -> Table[Record] | None:
    """The pairs of a page (`compared_pairs`), a row each; None where there is none."""
    if not pairs:
        return None
    rows = [_record(comparison, pair) for pair in pairs]
    remarks = list(_remarks(comparison, pairs))
    return Table("tests", comparison.heading("differences and their tests"), COLUMNS, rows, remarks)


def _record(comparison: Comparison, pair: TestedPair) -> Record:
    difference = pair.difference
    low, high = difference.interval
    probability_low, probability_high = difference.probability_interval
    return {
        **dict(zip(BUDGET, pair.group.budget, strict=True)), "environment": comparison.group_name(pair.group),
        "algorithm": pair.run_set.label, "against": pair.other.label, "n": difference.runs[0],
        "n_against": difference.runs[1], "difference": difference.difference, "difference_low": low,
        "difference_high": high, "iqm": estimates.iqm(pair.run_set.scores),
        "iqm_against": estimates.iqm(pair.other.scores), "probability_better": difference.probability,
        "probability_low": probability_low, "probability_high": probability_high, "p_rank": difference.p,
        "p_holm": pair.p, "case": str(pair.case),
        "detectable_difference": pair.outcome.detectable if pair.outcome else math.nan,
    }  # fmt: skip


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
