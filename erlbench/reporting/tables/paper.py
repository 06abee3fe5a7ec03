"""The table for a paper: algorithms and environments, one cell each; bold for what the verdicts decide alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from erlbench.reporting.data.caveats import caveats
from erlbench.reporting.data.page_cells import PageCells, find_cell
from erlbench.reporting.data.seeds import STD, sample_words
from erlbench.reporting.documents.formats import plus_minus, slug, with_interval
from erlbench.reporting.documents.model import BOLD, PLAIN, Column, Record, Table
from erlbench.reporting.paper_style import ALGORITHMS, AUTO, PaperStyle, chosen
from erlbench.reporting.statistics.estimates import (
    FEWEST_RUNS,
    NONE,
    bootstrap_interval,
    iqm,
    mean,
    mean_interval,
    median,
)
from erlbench.reporting.statistics.significance import Case
from erlbench.reporting.verdict.pairs import compare_pairs, pair_rows

NAME = "paper-table"
Place = tuple[int, str]  # a group's number, a run set's name


def _bootstrapped(of: Callable[[Any], float]) -> Callable[[Any], tuple[float, float]]:
    return lambda scores: bootstrap_interval(lambda strata: of(strata[0]), [scores])


# By the style's names: words, value, and its interval from `FEWEST_RUNS` seeds on.
STATISTICS: dict[str, tuple[str, Callable[[Any], float], Callable[[Any], tuple[float, float]] | None]] = {
    "std": ("Mean ± sample standard deviation", mean, None),
    "mean": ("Mean [95 % interval of the mean, Student]", mean, mean_interval),
    "iqm": ("Interquartile mean [95 % interval, bootstrap]", iqm, _bootstrapped(iqm)),
    "median": ("Median [95 % interval, bootstrap]", median, _bootstrapped(median)),
}


def paper_table(page: PageCells, statistic: str, style: PaperStyle) -> Table:
    """Algorithms and environments, the longer side in rows.

    A cell is bold where its algorithm is decided to score higher than every other one that the page has there, whether
    the table shows that or not.
    """
    words, _, interval = STATISTICS[statistic]
    pairs = compare_pairs(page, all_pairs(page))
    best = find_best(page, pairs)
    groups = chosen(page.groups, style.environments, lambda group: group.env)
    labels = {cell.name: style.label(cell.name, cell.label) for cell in page.rows if cell.exists}
    envs = [group.env for group in groups]
    names = chosen(labels, style.algorithms, str)
    titles = [
        style.label(group.env, group.env if envs.count(group.env) == 1 else group.environment) for group in groups
    ]
    measured = [
        [_measure(statistic, find_cell(group, name), (group.group, name) in best) for group in groups] for name in names
    ]
    cells = pd.DataFrame(measured, index=[labels[name] for name in names], columns=titles)
    sizes = {(cell["n"], cell["runs"]) for cell in cells.to_numpy().ravel() if cell["n"]}
    title = "Algorithm"
    if not (style.rows == ALGORITHMS or (style.rows == AUTO and len(cells) >= len(groups))):
        title, cells = "Environment", cells.T
    keys = _unique([slug(text) for text in map(str, cells)])
    rows = [
        {
            title.lower(): label,
            **{f"{key}_{what}": value for key, cell in zip(keys, line, strict=True) for what, value in cell.items()},
        }
        for label, line in zip(cells.index, cells.to_numpy(), strict=True)
    ]

    def print_cell(value: float, *more: Any) -> str:
        *spread, n, runs, _ = more
        text = with_interval(value, *spread) if interval else plus_minus(value, *spread)
        return text + (f" ({n if n == runs else sample_words(n, runs)})" if len(sizes) > 1 and n else "")

    values = ("value", *(("low", "high") if interval else ("std",)), "n", "runs", "bold")
    columns = [Column(title, title.lower())]
    for text, key in zip(cells, keys, strict=True):
        columns.append(Column(str(text), tuple(f"{key}_{what}" for what in values), print_cell, style=f"{key}_style"))
    remarks = [f"{words} over n seeds; {_describe_sizes(sizes)}."]
    if any(runs > n for n, runs in sizes):
        remarks.append(f"A seed with several runs counts by their mean{'' if interval else f'; ± is {STD}'}.")
    remarks += [f"Below {FEWEST_RUNS} seeds there is no interval."] if interval and sizes else []
    remarks += [f"{page.score_words}; {page.budget}.", *caveats(page)]
    remarks.append(
        "Bold: decided to score higher than all other algorithms of the environment, after the correction for the "
        f"tests of all pairs ({len(pairs)}); no bold: not decided."
    )
    return Table(NAME, page.heading(page.score_title), columns, rows, remarks, for_paper=True)


def all_pairs(page: PageCells) -> list[tuple[str, str]]:
    """Each pair of algorithms of the page, once."""
    return list(itertools.combinations(dict.fromkeys(one.name for one in page.rows if one.exists), 2))


def find_best(page: PageCells, pairs: pd.DataFrame) -> set[Place]:
    """The run sets that are decided to score higher than every other one with runs in their environment."""
    above: dict[Place, set[str]] = {}
    for pair in pair_rows(pairs):
        if pair.case == Case.DECIDED:
            names = pair.name, pair.name_against
            better, worse = names if pair.probability_better > 0.5 else names[::-1]
            above.setdefault((pair.group, better), set()).add(worse)
    rivals = [{one.name for one in group.cells if one.exists and one.runs} for group in page.groups]
    return {(group, name) for (group, name), below in above.items() if rivals[group] - {name} <= below}


def _measure(statistic: str, cell: Any | None, best: bool) -> Record:
    """One algorithm in one environment: value, spread, seeds, runs; bold where it is decided to be the best one."""
    _, value_of, interval = STATISTICS[statistic]
    scores = cell.scores if cell else ()
    low, high = interval(scores) if interval and len(scores) >= FEWEST_RUNS else NONE
    return {
        "value": value_of(scores),
        "std": cell.std if cell else math.nan,
        "low": low,
        "high": high,
        "n": len(scores),
        "runs": sum(map(len, cell.run_scores)) if cell else 0,
        "bold": int(best),
        "style": BOLD if best else PLAIN,
    }


def _describe_sizes(sizes: set[tuple[int, int]]) -> str:
    if len(sizes) == 1:
        ((n, runs),) = sizes
        return f"n = {n} in all cells" + (f" ({sample_words(n, runs)})" if runs > n else "")
    return "n in round brackets" if sizes else "no run is finished"


def _unique(names: Sequence[str]) -> list[str]:
    return [name if names.count(name) == 1 else f"{name}_{i}" for i, name in enumerate(names)]
