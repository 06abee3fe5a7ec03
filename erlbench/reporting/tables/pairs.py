"""The tables of pairs of algorithms: their differences and tests, and all environments at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from erlbench.reporting.data.page_cells import PageCells
from erlbench.reporting.documents.model import Record, Table
from erlbench.reporting.statistics.estimates import FEWEST_RUNS, bootstrap_interval, iqm, probability_of_improvement
from erlbench.reporting.statistics.significance import MARGIN, POWER, UNKNOWN, level_words, seeds_for_tests
from erlbench.reporting.tables.columns import build_table
from erlbench.reporting.verdict.pairs import MOST_CELLS, get_scores, groups_with_baseline, pair_rows
from erlbench.reporting.verdict.pooled import WORDS, Scores, pooled_iqm, pooled_scores

BETTER = ("probability_of_improvement", "probability_low", "probability_high")
IQM = ("iqm", "iqm_low", "iqm_high")


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
    title, remarks = page.heading("differences and their tests"), [*_describe_tests(page, pairs)]
    return build_table("tests", title, rows, remarks, power=100 * POWER)


def _describe_tests(page: PageCells, pairs: pd.DataFrame) -> Iterator[str]:
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


def aggregate_tables(page: PageCells) -> Iterator[Table]:
    """All environments at once against the baseline, budget by budget on the page of all runs."""
    tables = [table for part in page.by_budget() if (table := aggregate_table(part)) is not None]
    for table, number in zip(tables, itertools.count(1)):
        yield table if len(tables) == 1 else replace(table, name=f"{table.name}-{number}")


def aggregate_table(page: PageCells) -> Table | None:
    """All environments of a page; None without a baseline or with fewer than two environments."""
    groups = groups_with_baseline(page)
    if len(groups) < 2:
        return None
    environments, pooled = [group.env for group in groups], pooled_scores(page)
    remarks = (
        f"{page.score_words} on {', '.join(environments)} after {page.budget}.",
        f"P(better): the probability that a random run scores above a random run of {page.base_label} in the same "
        "environment, averaged over environments. IQM: interquartile mean of all returns; every environment weighs "
        f"the same; {WORDS if pooled[0] else 'left out: somewhere nobody is above a random policy'}.",
        "In brackets 95 % bootstrap intervals: 500 resamples of seeds within algorithm and environment, and of the "
        f"baseline's where it is part of the number; none, and no P(better), below {FEWEST_RUNS} seeds.",
    )
    shared = {"environments": ", ".join(environments), "count": f"{len(environments)} environments"}
    rows = [{**shared, **row} for row in _aggregate_rows(page, pooled)]
    return build_table("aggregate", page.heading("all environments"), rows, remarks, base=page.base_label)


def _aggregate_rows(page: PageCells, pooled: tuple[Scores, list[float]]) -> Iterator[Record]:
    groups = groups_with_baseline(page)
    bases = [get_scores(group, page.baseline) for group in groups]
    for cell in (cell for cell in groups[0].cells if cell.exists):
        scores = [get_scores(group, cell.name) for group in groups]
        if not all(map(len, scores)):
            continue
        better = UNKNOWN
        if cell.name != page.baseline and min(map(len, (*scores, *bases))) >= FEWEST_RUNS:
            interval = bootstrap_interval(_improvement_of_first_half, [*scores, *bases])
            better = (probability_of_improvement(scores, bases), *interval)
        pooled_mean = pooled_iqm(*pooled, cell.name) if pooled[0] else UNKNOWN
        yield {
            "name": cell.name,
            "algorithm": cell.label,
            "seeds": sum(map(len, scores)),  # of all environments together
            **dict(zip(BETTER, better, strict=True)),
            **dict(zip(IQM, pooled_mean, strict=True)),
        }


def _improvement_of_first_half(scores: Sequence[np.ndarray]) -> float:
    half = len(scores) // 2
    return probability_of_improvement(scores[:half], scores[half:])
