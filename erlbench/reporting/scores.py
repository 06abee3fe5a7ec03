"""The tables of scores: beside the baseline, the published numbers and other people's runs; and other metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from erlbench.reporting.agreement import departure_notes, episode_counts, find_disagreements
from erlbench.reporting.cells import STD, list_rows, seed_means, single_run_std, values_by_seed
from erlbench.reporting.documents import Record, Table, build_table
from erlbench.reporting.page_cells import PageCells, cell_rows, has_fitness_steps, scores_at_equal_steps
from erlbench.reporting.pairs import mark
from erlbench.reporting.published import (
    environment_notes,
    find_origin,
    find_references,
    match_runs,
    number_notes,
    seeds_words,
)
from erlbench.reporting.score import SUCCESS, SUCCESS_EVER, area, final, final_10
from erlbench.reporting.significance import MARGIN, compare, level_words
from erlbench.reporting.statistics import (
    FEWEST_RUNS,
    ends,
    group_items,
    improvement,
    max_of_average,
    mean,
    mean_interval,
    median,
    share_interval,
    std,
)
from erlbench.reporting.times import machine_notes
from erlbench.words import say_range

SUCCESSES = {SUCCESS: "last_success", SUCCESS_EVER: "last_success_ever"}  # columns of single episodes
STATISTICS = ("mean", "std", "median")  # of published numbers


def scores_table(page: PageCells, pairs: pd.DataFrame) -> Table:
    """Mean, standard deviation, median of the scores, against baseline and paper; `pairs`: those of the page."""
    tested = {(pair.group, pair.name): pair for pair in list_rows(pairs) if pair.name_against == page.baseline}
    bases = {cell.group: cell.mean for cell in page.entries if cell.name == page.baseline}
    numbers, rows = [], list[Record]()
    for cell, row in cell_rows(page.cells):
        beside = {
            name: number
            for name in STATISTICS
            if (number := page.find_published(cell, page.statistic if name == "mean" else name))
        }
        row |= {
            **_measure(page, cell),
            **{f"published_{name}": number.value for name, number in beside.items()},
            "published_steps": next((one.steps for one in beside.values() if one.steps), math.nan),
            "published_seeds": next((one.seeds for one in beside.values() if one.seeds), None),
        }
        if cell.group in bases and cell.name != page.baseline:
            row["improvement_pct"] = improvement(cell.mean, bases[cell.group])
        if pair := tested.get((cell.group, cell.name)):
            row |= {"p_holm": pair.p_holm, "mark": mark(pair.case, pair.difference)}
        rows.append(row)
        numbers.append((cell, list(beside.values())))
    remarks = [*_score_notes(page)]
    if page.base_label and all(math.isnan(row.get("improvement_pct", math.nan)) for row in rows):
        remarks.append(
            f"Nothing is compared with {page.base_label}: that takes finished runs of it and of another entry."
        )
    if page.published:
        remarks += published_notes(page, numbers)
    return build_table(
        "scores", page.heading("return" if _is_cut_final(page) else page.score_title), rows, [*remarks, *page.notes],
        base=page.base_label, tests=max((pair.tests for pair in tested.values()), default=0), level=level_words(),
        margin=f"{100 * MARGIN:g} %", published=page.published, fitness=any(map(has_fitness_steps, page.rows)),
        success=["success"] * (page.metric in SUCCESSES),
    )  # fmt: skip


def _is_cut_final(page: PageCells) -> bool:
    """Whether scores are of evaluations that need not be the final ones."""
    return page.at is not None and page.by_final


def _measure(page: PageCells, cell: Any) -> Record:
    """What the table shows of a cell's own scores."""
    equal = (page.baseline or not page.study) and cell.total_timesteps and not cell.nominal and has_fitness_steps(cell)
    budget = cell.own_timesteps or cell.total_timesteps
    column = SUCCESSES.get(page.metric)
    episodes = [value for run in cell.done for value in getattr(run, column)] if column else []
    low, high = share_interval(round(sum(episodes)), len(episodes))
    return {
        "scores": " ".join(repr(float(score)) for score in cell.scores),
        "mean_at_equal_steps": mean(scores_at_equal_steps(cell, budget)) if equal else math.nan,
        "success": mean(episodes),
        "success_low": low,
        "success_high": high,
    }


def _score_notes(page: PageCells) -> Iterator[str]:
    words, episodes = "Return" if _is_cut_final(page) else page.score_words, ""
    if page.by_final:  # other scores are of many evaluations
        counts = episode_counts(page.runs)
        of = f" of {' or '.join(counts)} episodes" if counts else ""
        episodes = f" (mean{of}, deterministic policy)"
    yield f"{words}{episodes} after {page.budget}."
    if nominal := [cell for cell in page.rows if cell.nominal]:
        reached = [run.timesteps for cell in nominal for run in cell.done]
        yield (
            f"{' and '.join(dict.fromkeys(cell.label for cell in nominal))}: that budget is counted as in the "
            "paper, a generation as one episode of full length, however many it plays"
            + (f"; they took {say_range(reached)} training steps." if reached else ".")
        )
    budgets = group_items(
        (cell.label, f"{cell.own_timesteps:,} on {cell.env}") for cell in page.rows if cell.own_timesteps
    )
    for label, texts in budgets.items():
        yield f"{label} has budgets of its own: {', '.join(texts)}."
    cells = [(f"{cell.label} on {cell.env}", cell.done) for cell in page.rows]
    yield from find_disagreements(cells, by_final=page.by_final)
    yield from departure_notes(page.rows)
    if page.by_time:
        yield from machine_notes(page.runs)
    if page.profile:
        yield f"Profile: {page.profile}."


def metrics_table(page: PageCells) -> Table:
    """Final return, mean of the last ten evaluations, maximum of the average, area under the curve."""
    rows = [row | _metrics(cell) for cell, row in cell_rows(page.cells[page.cells.exists])]
    for group in page.groups:
        _add_near_best(group, [row for row in rows if row["group"] == group.group])
    remarks = ["Mean over the n seeds ± sample standard deviation."]
    if any(row["runs"] > row["n"] for row in rows):
        remarks = [f"Mean over the n seeds, a seed by the mean of its runs, ± {STD}."]
    return build_table("metrics", page.heading("other metrics"), rows, remarks)


def _metrics(cell: Any) -> Record:
    fitness = ends(cell.done, "fitness_timesteps")
    record: Record = {
        "max_of_average": max_of_average(cell.done),
        "all_timesteps_mean": mean(ends(cell.done, "all_steps")),
        "fitness_timesteps_mean": mean(fitness[~np.isnan(fitness)]),
    }
    for name, metric in (("final", final), ("final_10", final_10), ("area", area)):
        values = values_by_seed(cell.done, metric)
        means = record[f"{name}s"] = seed_means(values)
        record[f"{name}_mean"] = float(means.mean()) if values else math.nan
        record[f"{name}_std"] = single_run_std(values)
    record["relative_std"] = record["final_std"] / abs(record["final_mean"]) if record["final_mean"] else math.nan
    if cell.n >= FEWEST_RUNS:
        record["final_low"], record["final_high"] = mean_interval(record["finals"])
    return record


def _add_near_best(group: Any, rows: list[Record]) -> None:
    """The share of the seeds of each row that are near the best mean of the group."""
    best = max((row["final_mean"] for row in rows if row["runs"]), default=0.0)
    near = best - MARGIN * abs(best - find_origin(group.env, group.cells))
    for row in (row for row in rows if row["n"] >= FEWEST_RUNS):
        count, seeds = int((row["finals"] >= near).sum()), len(row["finals"])
        row["near_best"], (row["near_best_low"], row["near_best_high"]) = count / seeds, share_interval(count, seeds)


def published_notes(page: PageCells, beside: Sequence[tuple[Any, list[Any]]]) -> Iterator[str]:
    """On the published numbers that stand beside cells."""
    numbers = [number for _, of_cell in beside for number in of_cell]
    if not numbers:
        yield f"{page.source} has no numbers for these environments."
        return
    statistic = "mean ± standard deviation" if page.statistic == "mean" else page.statistic.replace("_", " ")
    yield (
        f"Published: {page.source}, {page.table}, {statistic}{seeds_words(numbers)}, on "
        f"{', '.join(sorted({number.env for number in numbers}))}."
    )
    by_budget = group_items(
        (cell.own_timesteps or cell.total_timesteps, number.steps)
        for cell, of_cell in beside
        for number in of_cell
        if number.steps
    )
    yield from filter(None, (budget_note(ours, by_budget[ours]) for ours in sorted(by_budget)))
    yield from environment_notes(page.groups)
    yield from number_notes(numbers)


def budget_note(ours: int, published: Iterable[int]) -> str:
    """The warning that budgets differ, or an empty text; `published` are the steps of numbers beside ours."""
    others = sorted({*published} - {ours})
    if not others:
        return ""
    listed = " or ".join(f"{value:,}" for value in others)
    return f"Different budgets: published after {listed} training steps, ours after {ours:,}. Do not compare them."


def references_table(page: PageCells) -> Table | None:
    """Each cell beside each source with comparable runs, at the nearest common step; None without any."""
    rows = []
    for cell, row in cell_rows(page.cells[page.cells.exists]):
        for theirs in find_references(cell):
            if (matched := match_runs(cell.done, theirs)) is None:
                continue
            step, values, scores = matched
            rows.append({
                **row, **compare(seed_means(values), scores), "theirs": theirs, "source": theirs.source,
                "their_environment": theirs.env, "steps": step, "mean": mean(seed_means(values)),
                "std": single_run_std(values), "their_mean": mean(scores), "their_std": std(scores),
                "their_median": median(scores), "their_runs": len(scores),
                "their_scores": " ".join(repr(float(score)) for score in scores),
            })  # fmt: skip
    remarks = [
        "Other people's runs, seed by seed, where dynamics and reward are those of our environment; mean ± sample "
        "standard deviation at the nearest common step. Sources differ as much as algorithms do and are never pooled."
    ]
    for name in dict.fromkeys(row["source"] for row in rows):
        sets = [row["theirs"] for row in rows if row["source"] == name]
        returns = "; ".join(dict.fromkeys(f"{one.algorithm}: {one.returns}" for one in sets))
        first = sets[0]
        remarks.append(
            f"{name}: {first.repository}, commit {first.commit}, on {first.environments}; {first.description}. "
            f"{returns}."
        )
    return build_table("reference-runs", page.heading("reference runs"), rows, remarks) if rows else None
