"""The table over all environments: probability of improvement and interquartile mean, with bootstrap intervals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from erlbench.reporting.data.page_cells import PageCells
from erlbench.reporting.documents.formats import interval
from erlbench.reporting.documents.model import Column, Record, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.estimates import FEWEST_RUNS, bootstrap_interval
from erlbench.reporting.statistics.significance import UNKNOWN
from erlbench.reporting.verdict.pairs import get_scores, groups_with_baseline
from erlbench.reporting.verdict.pooled import WORDS, Scores, pooled_iqm, pooled_scores


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
    name, environments, pooled = page.base_label, tuple(group.env for group in groups), pooled_scores(page)
    columns: list[Column] = [
        Column("Environments", "environments", lambda _: f"{len(groups)} environments", words=True),
        Column("Name", "name", shown=False),
        Column("Algorithm", "algorithm"),
        Column("Seeds", "seeds", str),
        Column(f"P(better than {name})", "probability_of_improvement probability_low probability_high", interval),
        Column("IQM", "iqm iqm_low iqm_high", interval),
    ]
    remarks = (
        f"{page.score_words} on {', '.join(environments)} after {page.budget}.",
        f"P(better): the probability that a random run scores above a random run of {name} in the same environment, "
        "averaged over environments. IQM: interquartile mean of all returns; every environment weighs the same; "
        + (f"{WORDS}." if pooled[0] else "left out: somewhere nobody is above a random policy."),
        "In brackets 95 % bootstrap intervals: 500 resamples of seeds within algorithm and environment, and of the "
        f"baseline's where it is part of the number; none, and no P(better), below {FEWEST_RUNS} seeds.",
    )
    rows = _rows(page, pooled)
    return Table("aggregate", page.heading("all environments"), columns, rows, remarks)


def _rows(page: PageCells, pooled: tuple[Scores, list[float]]) -> list[Record]:
    groups = groups_with_baseline(page)
    bases = [get_scores(group, page.baseline) for group in groups]
    rows = []
    for cell in (cell for cell in groups[0].cells if cell.exists):
        own = [get_scores(group, cell.name) for group in groups]
        if not all(len(scores) for scores in own):
            continue
        better = UNKNOWN
        if cell.name != page.baseline:
            spread = bootstrap_interval(_improvement_of_first_half, [*own, *bases])
            enough = min(map(len, (*own, *bases))) >= FEWEST_RUNS
            better = (estimates.probability_of_improvement(own, bases), *spread) if enough else UNKNOWN
        iqm = pooled_iqm(*pooled, cell.name) if pooled[0] else UNKNOWN
        rows.append({
            "environments": ", ".join(group.env for group in groups), "name": cell.name, "algorithm": cell.label,
            "seeds": sum(map(len, own)),  # of all environments together
            **dict(zip(("probability_of_improvement", "probability_low", "probability_high"), better, strict=True)),
            **dict(zip(("iqm", "iqm_low", "iqm_high"), iqm, strict=True)),
        })  # fmt: skip
    return rows


def _improvement_of_first_half(scores: Sequence[np.ndarray]) -> float:
    half = len(scores) // 2
    return estimates.probability_of_improvement(scores[:half], scores[half:])
