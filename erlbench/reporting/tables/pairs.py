"""The table of differences and their tests: an environment's cells against the baseline, or each against each."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from erlbench.reporting.data.page_cells import PageCells
from erlbench.reporting.documents.formats import interval, number, p_value, with_interval
from erlbench.reporting.documents.model import Column, Record, Table
from erlbench.reporting.statistics.estimates import FEWEST_RUNS, iqm
from erlbench.reporting.statistics.significance import MARGIN, POWER, level_words, seeds_for_tests
from erlbench.reporting.tables.columns import ENVIRONMENT
from erlbench.reporting.verdict.pairs import MOST_CELLS, pair_rows

COLUMNS: list[Column] = [
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


def pairs_table(page: PageCells, pairs: pd.DataFrame) -> Table | None:
    """The pairs of a page (`compare_pairs`), a row each; None where there is none."""
    if pairs.empty:
        return None
    groups = {group.group: group._asdict() for group in page.groups}
    rows: list[Record] = [
        {**groups[pair.group], **pair._asdict(), "algorithm": pair.first.name, "against": pair.second.name,
         "iqm": iqm(pair.first.scores), "iqm_against": iqm(pair.second.scores)}
        for pair in pair_rows(pairs)
    ]  # fmt: skip
    return Table("tests", page.heading("differences and their tests"), COLUMNS, rows, list(_remarks(page, pairs)))


def _remarks(page: PageCells, pairs: pd.DataFrame) -> Iterator[str]:
    tests, here = pairs["tests"].max(), int(pairs["p_rank"].notna().sum())
    of = "all pairs of this table" if tests > here else "this table"
    yield f"{page.score_words}."
    yield (
        f"p: the ranks' p after Holm's correction for the tests of {of} ({tests} in all). The ranks differ where it is "
        f"at most its level ({level_words()}, on the side with fewer seeds); a difference is decided where the means "
        f"differ by {100 * MARGIN:g} % or more, too. Below {FEWEST_RUNS} seeds there is no interval and no test."
    )
    if here and not pairs["decidable"].any():
        yield f"No row can be decided: {tests} tests need {seeds_for_tests(tests)} seeds per side."
    names = [{*rows["name"], *rows["name_against"]} for _, rows in pairs.groupby("group")]
    if any(page.baseline not in of and len(of) > MOST_CELLS for of in names):  # only those of the best one
        yield (
            f"Where an environment has more than {MOST_CELLS} algorithms, the table has the pairs of the one with "
            f"the highest mean, of those with at least {FEWEST_RUNS} seeds if there are several."
        )
    yield (
        "Undecided is no sign that two are equal: smaller differences than Detectable are often missed. It is reckoned "
        "at the level of Holm's first step."
    )
