"""The table for a paper: algorithms and environments, one cell each; bold for what the verdicts decide alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import pandas as pd

from erlbench.reporting.data.caveats import caveats
from erlbench.reporting.data.comparison import Comparison, RunSet
from erlbench.reporting.data.seeds import STD, sample_words
from erlbench.reporting.documents.formats import plus_minus, slug, with_interval
from erlbench.reporting.documents.model import BOLD, PLAIN, Column, Table
from erlbench.reporting.paper_style import ALGORITHMS, AUTO, PaperStyle, chosen
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.estimates import FEWEST_RUNS, NONE, bootstrap_interval, mean_interval
from erlbench.reporting.statistics.significance import Case
from erlbench.reporting.verdict.pairs import compare_pairs, pair_rows

NAME = "paper-table"
Place = tuple[int, str]  # a group's number, a run set's name


@dataclass(frozen=True)
class PaperStatistic:
    """What a cell holds: a value, and how far it reaches down and up."""

    words: str
    of: Callable[[RunSet], tuple[float, ...]]  # value, and std or low and high
    interval: bool = True


def _mean_std(run_set: RunSet) -> tuple[float, float]:
    return estimates.mean(run_set.scores), run_set.score_std


def _with_interval(
    of: Callable[[Any], float], interval: Callable[[Any], tuple[float, float]], run_set: RunSet
) -> tuple[float, ...]:
    scores = run_set.scores
    return of(scores), *(interval(scores) if len(scores) >= FEWEST_RUNS else NONE)


def _bootstrapped(of: Callable[[Any], float], scores: Any) -> tuple[float, float]:
    return bootstrap_interval(lambda strata: of(strata[0]), [scores])


STATISTICS: Mapping[str, PaperStatistic] = MappingProxyType({
    "std": PaperStatistic("Mean ± sample standard deviation", _mean_std, interval=False),
    "mean": PaperStatistic(
        "Mean [95 % interval of the mean, Student]", partial(_with_interval, estimates.mean, mean_interval)
    ),
    "iqm": PaperStatistic(
        "Interquartile mean [95 % interval, bootstrap]",
        partial(_with_interval, estimates.iqm, partial(_bootstrapped, estimates.iqm)),
    ),
    "median": PaperStatistic(
        "Median [95 % interval, bootstrap]",
        partial(_with_interval, estimates.median, partial(_bootstrapped, estimates.median)),
    ),
})  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PaperCell:
    """One algorithm in one environment."""

    value: float = math.nan
    spread: tuple[float, ...] = ()  # the standard deviation, or low and high
    n: int = 0  # seeds
    runs: int = 0
    best: bool = False  # decided to score higher than every other algorithm of the environment


@dataclass(frozen=True)
class PaperRow:
    """The cells of an algorithm by environment, or of an environment by algorithm."""

    label: str
    cells: Mapping[str, PaperCell]


def paper_table(comparison: Comparison, statistic: str, style: PaperStyle) -> Table[PaperRow]:
    """Algorithms and environments, the longer side in rows.

    A cell is bold where its algorithm is decided to score higher than every other one that the page has there, whether
    the table shows that or not.
    """
    how = STATISTICS[statistic]
    absent = PaperCell(spread=(math.nan,) * (1 + how.interval))
    pairs = compare_pairs(comparison, all_pairs(comparison))
    best = find_best(comparison, pairs)
    cells = {
        (number, run_set.name): _cell(how, run_set, (number, run_set.name) in best)
        for number, group in enumerate(comparison.groups) for run_set in group.run_sets if run_set.exists
    }  # fmt: skip
    groups = chosen(enumerate(comparison.groups), style.environments, lambda one: one[1].env)
    labels = {one.name: style.label(one.name, one.label) for one in comparison.run_sets if one.exists}
    names = chosen(labels, style.algorithms, str)
    envs = [group.env for _, group in groups]
    titles = {
        number: style.label(group.env, group.env if envs.count(group.env) == 1 else comparison.group_name(group))
        for number, group in groups
    }
    by_algorithm = style.rows == ALGORITHMS or (style.rows == AUTO and len(names) >= len(groups))
    across = (
        [(str(number), title) for number, title in titles.items()]
        if by_algorithm else [(name, labels[name]) for name in names]
    )  # fmt: skip
    rows = [
        PaperRow(labels[name], {str(number): cells.get((number, name), absent) for number, _ in groups})
        for name in names
    ] if by_algorithm else [
        PaperRow(titles[number], {name: cells.get((number, name), absent) for name in names})
        for number, _ in groups
    ]  # fmt: skip
    sizes = {(cell.n, cell.runs) for row in rows for cell in row.cells.values() if cell.n}
    columns: list[Column[PaperRow]] = [Column("Algorithm" if by_algorithm else "Environment", lambda row: row.label)]
    for (key, title), name in zip(across, _unique([slug(title) for _, title in across]), strict=True):
        columns.append(_column(key, title, name, how, len(sizes) > 1))
    remarks = [f"{how.words} over n seeds; {_sizes(sizes)}."]
    if any(runs > n for n, runs in sizes):
        remarks.append(f"A seed with several runs counts by their mean{'' if how.interval else f'; ± is {STD}'}.")
    remarks += [f"Below {FEWEST_RUNS} seeds there is no interval."] if how.interval and sizes else []
    remarks += [f"{comparison.score_words}; {comparison.budget}.", *caveats(comparison), _bold(len(pairs))]
    return Table(NAME, comparison.heading(comparison.score_title), columns, rows, remarks, for_paper=True)


def all_pairs(comparison: Comparison) -> list[tuple[str, str]]:
    """Each pair of algorithms of the page, once."""
    return list(itertools.combinations(dict.fromkeys(one.name for one in comparison.run_sets if one.exists), 2))


def find_best(comparison: Comparison, pairs: pd.DataFrame) -> set[Place]:
    """The run sets that are decided to score higher than every other one with runs in their environment."""
    above: dict[Place, set[str]] = {}
    for pair in pair_rows(pairs):
        if pair.case is Case.DECIDED:
            names = pair.name, pair.name_against
            better, worse = names if pair.probability_better > 0.5 else names[::-1]
            above.setdefault((pair.group, better), set()).add(worse)
    rivals = [{one.name for one in group.run_sets if one.exists and one.runs} for group in comparison.groups]
    return {(group, name) for (group, name), below in above.items() if rivals[group] - {name} <= below}


def _cell(how: PaperStatistic, run_set: RunSet, best: bool) -> PaperCell:
    value, *spread = how.of(run_set)
    runs = sum(map(len, run_set.run_scores))
    return PaperCell(value=value, spread=tuple(spread), n=len(run_set.scores), runs=runs, best=best)


def _column(key: str, title: str, name: str, how: PaperStatistic, sizes: bool) -> Column[PaperRow]:
    def values(row: PaperRow) -> tuple[Any, ...]:
        cell = row.cells[key]
        return cell.value, *cell.spread, cell.n, cell.runs, int(cell.best)

    def printed(value: float, *more: Any) -> str:
        *spread, n, runs, _ = more
        words = with_interval(value, *spread) if how.interval else plus_minus(value, *spread)
        return words + (f" ({n if n == runs else sample_words(n, runs)})" if sizes and n else "")

    kinds = ("low", "high") if how.interval else ("std",)
    names = tuple(f"{name}_{what}" for what in ("value", *kinds, "n", "runs", "bold"))
    return Column(title, values, printed, name=names, style=lambda row: BOLD if row.cells[key].best else PLAIN)


def _sizes(sizes: set[tuple[int, int]]) -> str:
    if len(sizes) == 1:
        ((n, runs),) = sizes
        return f"n = {n} in all cells" + (f" ({sample_words(n, runs)})" if runs > n else "")
    return "n in round brackets" if sizes else "no run is finished"


def _bold(pairs: int) -> str:
    return (
        "Bold: decided to score higher than all other algorithms of the environment, after the correction for the "
        f"tests of all pairs ({pairs}); no bold: not decided."
    )


def _unique(names: Sequence[str]) -> list[str]:
    return [name if names.count(name) == 1 else f"{name}_{i}" for i, name in enumerate(names)]
