"""Our runs against other people's, seed by seed: the table of all sources, and the first one's columns for others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from erlbench.reporting.data.page_cells import PageCells
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.references import match_runs
from erlbench.reporting.data.seeds import seed_means, single_run_std
from erlbench.reporting.documents.formats import NONE, interval, number, plus_minus, steps
from erlbench.reporting.documents.model import Column, Record, Table
from erlbench.reporting.statistics.estimates import mean, mean_std, median
from erlbench.reporting.statistics.significance import compare
from erlbench.reporting.tables.columns import IDENTITY, N, cell_record

BETTER = (
    "the probability that a random run of ours scores above one of theirs, both at the common step, with its 95 % "
    "interval (Newcombe 2006); 0.5 within it is no sign that the two are equal."
)
COLUMNS: list[Column] = [
    *IDENTITY,
    Column("Source", "source"),  # with the cell it names the row
    N,
    Column("Ours", "mean std", plus_minus),
    Column("Their environment", "their_environment"),
    Column("Their runs", "their_runs", str),
    Column("Theirs", "their_mean their_std", plus_minus),
    Column("Their median", "their_median", number),
    Column("At", "steps", steps, unit="steps"),
    Column("P(ours better)", "probability_ours_better probability_low probability_high", interval, note=BETTER),
    Column("p", "p_rank", shown=False),
    Column("Their scores", "their_scores", shown=False),
]
ROW = {  # of the table of scores, by the names of `match_references`
    "reference_mean": "their_mean", "reference_std": "their_std", "reference_runs": "their_runs",
    "reference_ours": "mean", "reference_probability": "probability_better",
    "reference_probability_low": "probability_low", "reference_probability_high": "probability_high",
}  # fmt: skip


def match_references(cell: Any, published: Published) -> Iterator[Record]:
    """The cell beside each source with comparable runs, at the nearest common step; `theirs` are the runs."""
    for theirs in published.find_references(cell):
        if (matched := match_runs(cell.done, theirs)) is None:
            continue
        step, values, scores = matched
        their_mean, their_std = mean_std(scores)
        ours = seed_means(values)
        yield {
            **compare(ours, scores), "theirs": theirs, "steps": step, "mean": mean(ours),
            "std": single_run_std(values), "their_mean": their_mean, "their_std": their_std,
            "their_median": median(scores), "their_runs": len(scores),
            "their_scores": " ".join(repr(float(score)) for score in scores), "their_environment": theirs.env,
            "source": theirs.source,
        }  # fmt: skip


def reference_record(found: Record | None) -> Record:
    """One source's runs beside a row of the table of scores, or none."""
    return {name: found[key] if found else math.nan for name, key in ROW.items()}


def reference_columns(beside: Sequence[Record]) -> list[Column]:
    """Columns of the table of scores, printed where a row has a source's runs `beside` it."""
    shown = bool(beside)
    sources = "; ".join(dict.fromkeys(f"{one['source']} ({one['theirs'].returns})" for one in beside))
    return [
        Column("Reference runs", "reference_mean reference_std reference_runs", _print_runs, shown=shown,
               note="mean ± standard deviation (runs) of other people's runs at the nearest common step, from the "
               f"first source of the table of reference runs, which also has their steps: {sources}."),
        Column("Ours there", "reference_ours", number, shown=shown,
               note="mean of our scores at the step of the reference runs."),
        Column("P(ours better)", "reference_probability reference_probability_low reference_probability_high", interval,
               shown=shown, note=BETTER),
    ]  # fmt: skip


def _print_runs(mean: float, std: float, runs: float) -> str:
    return NONE if math.isnan(runs) else f"{plus_minus(mean, std)} ({runs:g})"


def references_table(page: PageCells, published: Published) -> Table | None:
    """None where no source has runs of an algorithm of the page in a comparable environment."""
    rows = [
        {**found, **cell_record(cell), "probability_ours_better": found["probability_better"]}
        for cell in page.rows if cell.exists for found in match_references(cell, published)
    ]  # fmt: skip
    title, remarks = page.heading("reference runs"), [*_remarks(rows)]
    return Table("reference-runs", title, COLUMNS, rows, remarks) if rows else None


def _remarks(rows: Sequence[Record]) -> Iterator[str]:
    yield (
        "Other people's runs, seed by seed, where dynamics and reward are those of our environment; mean ± sample "
        "standard deviation at the nearest common step. Sources differ as much as algorithms do and are never pooled."
    )
    for name in dict.fromkeys(row["source"] for row in rows):
        own = [row["theirs"] for row in rows if row["source"] == name]
        returns = "; ".join(dict.fromkeys(f"{one.algorithm}: {one.returns}" for one in own))
        yield (
            f"{name}: {own[0].repository}, commit {own[0].commit}, on {own[0].environments}; {own[0].description}. "
            f"{returns}."
        )
