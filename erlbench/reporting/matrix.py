"""The matrix of all cells, and the table for a paper; bold for what the verdicts decide alone."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import pandas as pd

from erlbench.reporting.agreement import list_caveats
from erlbench.reporting.cells import STD, list_rows, sample_words
from erlbench.reporting.documents import BOLD, Column, Record, Table, build_table
from erlbench.reporting.formats import NONE, number, plus_minus, seeds_and_runs, slugs, steps, with_interval
from erlbench.reporting.options import ALGORITHMS, PaperStyle, select_items
from erlbench.reporting.page_cells import ALL_RUNS, REFERENCE, PageCells, cell_rows, find_cell
from erlbench.reporting.pairs import compare_pairs
from erlbench.reporting.score import AUTO
from erlbench.reporting.significance import Case
from erlbench.reporting.statistics import FEWEST_RUNS, bootstrap_interval, group_items, iqm, mean, mean_interval, median

NAME = "paper-table"
Place = tuple[int, str]  # a group's number, a run set's name


def _bootstrapped(of: Any) -> Any:
    return lambda scores: bootstrap_interval(lambda strata: of(strata[0]), [scores])


# By the style's names: words, value, and its interval from `FEWEST_RUNS` seeds on.
STATISTICS: dict[str, tuple[str, Any, Any]] = {
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
    pairs = compare_pairs(replace(page, pairs=all_pairs(page)))
    best = find_best(page, pairs)
    groups = select_items(page.groups, style.environments, lambda group: group.env)
    labels = {cell.name: style.label(cell.name, cell.label) for cell in page.entries}
    envs, names = [group.env for group in groups], select_items(labels, style.algorithms, str)
    titles = [style.label(env, group.environment if envs.count(env) > 1 else env) for env, group in zip(envs, groups)]
    measured = [
        [_measure(statistic, find_cell(group, name), (group.group, name) in best) for group in groups] for name in names
    ]
    cells = pd.DataFrame(measured, index=[labels[name] for name in names], columns=titles)
    sizes = {(cell["n"], cell["runs"]) for cell in cells.to_numpy().ravel() if cell["n"]}
    title = "Algorithm"
    if not (style.rows == ALGORITHMS or (style.rows == AUTO and len(cells) >= len(groups))):
        title, cells = "Environment", cells.T
    keys = slugs([*map(str, cells)])
    rows = [
        {
            title.lower(): label,
            **{f"{key}_{what}": value for key, cell in zip(keys, line) for what, value in cell.items()},
        }
        for label, line in zip(cells.index, cells.to_numpy())
    ]

    def print_cell(value: float, *rest: Any) -> str:
        *spread, n, runs, _ = rest
        text = with_interval(value, *spread) if interval else plus_minus(value, *spread)
        return text + (f" ({n if n == runs else sample_words(n, runs)})" if len(sizes) > 1 and n else "")

    values = ("value", *(("low", "high") if interval else ("std",)), "n", "runs", "bold")
    columns = [Column(title, (title.lower(),))]
    for text, key in zip(cells, keys):
        columns.append(Column(str(text), tuple(f"{key}_{what}" for what in values), print_cell, style=f"{key}_style"))
    remarks = [f"{words} over n seeds; {_describe_sizes(sizes)}."]
    if any(runs > n for n, runs in sizes):
        remarks.append(f"A seed with several runs counts by their mean{'' if interval else f'; ± is {STD}'}.")
    remarks += [f"Below {FEWEST_RUNS} seeds there is no interval."] if interval and sizes else []
    remarks += [f"{page.score_words}; {page.budget}.", *list_caveats(page, style)]
    tests = max((pair.tests for pair in list_rows(pairs)), default=0)
    remarks.append(
        "Bold: decided to score higher than all other algorithms of the environment, after the correction for the "
        f"tests of all pairs ({tests}); no bold: not decided."
    )
    return Table(NAME, page.heading(page.score_title), columns, rows, remarks, for_paper=True)


def all_pairs(page: PageCells) -> list[tuple[str, str]]:
    """Each pair of algorithms of the page, once."""
    return list(itertools.combinations(dict.fromkeys(cell.name for cell in page.entries), 2))


def find_best(page: PageCells, pairs: pd.DataFrame) -> set[Place]:
    """The run sets that are decided to score higher than every other one with runs in their environment."""
    above = group_items(
        ((pair.group, pair.name), pair.name_against)
        if pair.probability_better > 0.5
        else ((pair.group, pair.name_against), pair.name)
        for pair in list_rows(pairs)
        if pair.case == Case.DECIDED
    )
    rivals = [{cell.name for cell in group.cells if cell.runs} for group in page.groups]
    return {(group, name) for (group, name), below in above.items() if rivals[group] <= {name, *below}}


def _measure(statistic: str, cell: Any | None, best: bool) -> Record:
    """One algorithm in one environment: value, spread, seeds, runs; bold where it is decided to be the best one."""
    if cell is None:
        return {"n": 0, "runs": 0, "bold": 0}
    _, value_of, interval = STATISTICS[statistic]
    record = {"value": value_of(cell.scores), "std": cell.std, "n": len(cell.scores)}
    if interval and len(cell.scores) >= FEWEST_RUNS:
        record["low"], record["high"] = interval(cell.scores)
    return {**record, "runs": sum(map(len, cell.run_scores)), "bold": int(best), "style": BOLD * best}


def _describe_sizes(sizes: set[tuple[int, int]]) -> str:
    if len(sizes) == 1:
        ((n, runs),) = sizes
        return f"n = {n} in all cells" + (f" ({sample_words(n, runs)})" if runs > n else "")
    return "n in round brackets" if sizes else "no run is finished"


TITLE = "Algorithms and environments"
MOST_PAIRS = 66  # of algorithms; of more than twelve the matrix tests none
FEWEST, SPARSE = 8, 0.25  # environments, and share of filled cells, of a matrix
RATES = {  # columns where algorithms of an environment differ in one: title, column, format
    "Steps learnt from": ("learning_timesteps", steps),
    "Critic updates/step": ("critic_updates_per_step", number),
}


def overview(page: PageCells) -> Table:
    """The matrix; where most of its cells would be empty, a list of environments."""
    cells = page.cells[page.cells.exists]
    sparse = len(page.groups) > FEWEST and len(cells) < SPARSE * cells.name.nunique() * len(page.groups)
    return environments_table(page) if sparse else overview_table(page)


def environments_table(page: PageCells) -> Table:
    """One row per environment and budget, with all of its algorithms."""
    rows = [
        {
            "environment": group.environment,
            "link": f"{page.name}/index.md",
            "algorithms": "; ".join(f"{cell.name} {_print_cell(*_mean(cell))}" for cell in group.cells),
        }
        for group in sorted(page.groups, key=_finished, reverse=True)
    ]
    remarks = ("Mean score of the finished seeds, and how many of all seeds are finished.",)
    return build_table("environments", _title(page), rows, remarks, name="")


def _title(page: PageCells) -> str:
    return TITLE if page.name in (ALL_RUNS, REFERENCE) else page.title


def overview_table(page: PageCells) -> Table:
    """One row per algorithm; one column per environment and budget, those with the most runs done first."""
    cells = page.cells[page.cells.exists]
    names, best = sorted(set(cells.name)), _find_decided(page)
    rows: list[Record] = [{"algorithm": name} for name in names]
    columns = [Column("Algorithm", ("algorithm",))]
    for group in sorted(page.groups, key=_finished, reverse=True):  # stable: else in the order of the page
        keys = [f"{what} {len(columns)}" for what in ("mean", "runs", "style", "link")]
        columns.append(Column(group.environment, (keys[0], keys[1]), _print_cell, style=keys[2], link=keys[3]))
        for row in rows:
            cell = find_cell(group, row["algorithm"])
            decided = f" {BOLD}" if (group.group, row["algorithm"]) in best else ""
            drawn = cell is not None and any(len(run.evaluations) for run in cell.runs)
            link = f"{page.name}/index.md#curves-{group.slug}" if drawn else ""
            row |= dict(zip(keys, (*_mean(cell), f"{_choose_style(cell)}{decided}", link), strict=True))
    rates = pd.DataFrame([row for _, row in cell_rows(cells)])
    for title, (rate, print_rate) in RATES.items():
        spread = rates.groupby("group")[rate].agg(["min", "max"])
        if (spread["max"] > 1.01 * spread["min"]).any():
            columns.append(Column(title, (title,), str))
            spans = rates.groupby("name")[rate].agg(["min", "max"]).dropna()
            for row in rows:
                span: Any = spans.loc[row["algorithm"]] if row["algorithm"] in spans.index else ()
                row[title] = " to ".join(dict.fromkeys(map(print_rate, span))) or NONE
    remarks = (
        "Mean score of the finished seeds, and how many of all seeds are finished. Green: all runs are finished; "
        "amber: some are not; red: one failed. Bold: decided to score higher than all other algorithms of the column, "
        "after the correction for all pairs; no bold: not decided. A score leads to its learning curves.",
    )
    return Table("", _title(page), columns, rows, remarks)


def _finished(group: Any) -> int:
    return sum(len(cell.done) for cell in group.cells)


def _mean(cell: Any | None) -> tuple[float, str]:
    return (cell.mean, seeds_and_runs(cell.n, cell.planned, len(cell.done))) if cell else (math.nan, "")


def _print_cell(mean: float, runs: str) -> str:
    return f"{number(mean)} ({runs})" if runs else NONE


def _choose_style(cell: Any | None) -> str:
    if cell is None:
        return "absent"
    return "failed" if cell.failed else "complete" if len(cell.done) == len(cell.runs) else "partial"


def _find_decided(page: PageCells) -> set[tuple[int, str]]:
    """Group and name of what the verdicts put above all others there."""
    pairs = all_pairs(page)
    if page.pairs == () or len(pairs) > MOST_PAIRS:
        return set()
    return find_best(page, compare_pairs(replace(page, pairs=pairs)))
