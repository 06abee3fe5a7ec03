"""The tables of scores, with the baseline, published numbers and other people's runs; and of other metrics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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
    """Mean, standard deviation, median of the scores, against baseline and paper; `pairs`: the page's pairs."""
    tested = {(pair.group, pair.name): pair for pair in list_rows(pairs) if pair.name_against == page.baseline}
    bases = {cell.group: cell.mean for cell in page.entries if cell.name == page.baseline}
    numbers, rows = [], list[Record]()
    for cell, row in cell_rows(page.cells):
        kinds = {name: page.statistic if name == "mean" else name for name in STATISTICS}
        published = {name: number for name, kind in kinds.items() if (number := page.find_published(cell, kind))}
        numbers += [(cell, number) for number in published.values()]
        row |= {
            **_measure(page, cell),
            **{f"published_{name}": number.value for name, number in published.items()},
            "published_steps": next((number.steps for number in published.values() if number.steps), math.nan),
            "published_seeds": next((number.seeds for number in published.values() if number.seeds), None),
        }
        if cell.group in bases and cell.name != page.baseline:
            row["improvement_pct"] = improvement(cell.mean, bases[cell.group])
        if pair := tested.get((cell.group, cell.name)):
            row |= {"p_holm": pair.p_holm, "mark": mark(pair.case, pair.difference)}
        rows.append(row)
    remarks = [*_score_notes(page), *(published_notes(page, numbers) if page.published else ()), *page.notes]
    return build_table(
        "scores", page.heading(page.score_title), rows, remarks, base=page.base_label,
        tests=max((pair.tests for pair in tested.values()), default=0), level=level_words(),
        margin=f"{100 * MARGIN:g} %", published=page.published, fitness=any(map(has_fitness_steps, page.rows)),
        success=["success"] * (page.metric in SUCCESSES),
    )  # fmt: skip


def _measure(page: PageCells, cell: Any) -> Record:
    """A cell's scores as the table shows them."""
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
    counts = " or ".join(episode_counts(page.runs)) if page.by_final else ""  # other scores are of many evaluations
    yield page.score_words + f" (of {counts} episodes, deterministic policy)" * bool(counts) + f" after {page.budget}."
    if nominal := [cell for cell in page.rows if cell.nominal]:
        reached = say_range([run.timesteps for cell in nominal for run in cell.done])
        labels = " and ".join(dict.fromkeys(cell.label for cell in nominal))
        took = f"; they took {reached} training steps" * bool(reached)
        yield f"{labels}: that budget counts a generation as one episode of full length{took}."
    budgets = group_items(
        (cell.label, f"{cell.own_timesteps:,} on {cell.env}") for cell in page.rows if cell.own_timesteps
    )
    yield from (f"{label} has other budgets: {', '.join(texts)}." for label, texts in budgets.items())
    cells = [(f"{cell.label} on {cell.env}", cell.done) for cell in page.rows]
    yield from find_disagreements(cells, by_final=page.by_final)
    yield from departure_notes(page.rows)
    if page.by_time:
        yield from machine_notes(page.runs)


def metrics_table(page: PageCells) -> Table:
    """Final return, mean of the last ten evaluations, maximum of the average, area under the curve."""
    rows = [row | _metrics(cell) for cell, row in cell_rows(page.cells[page.cells.exists])]
    for group in page.groups:  # the share of the seeds that are near the best mean
        group_rows = [row for row in rows if row["group"] == group.group]
        best = max((row["final_mean"] for row in group_rows if row["runs"]), default=0.0)
        near = best - MARGIN * abs(best - find_origin(group.env, group.cells))
        for row in (row for row in group_rows if row["n"] >= FEWEST_RUNS):
            count, seeds = int((row["finals"] >= near).sum()), len(row["finals"])
            row["near_best"], (row["near_best_low"], row["near_best_high"]) = (
                count / seeds,
                share_interval(count, seeds),
            )
    return build_table("metrics", page.heading("other metrics"), rows, [f"Mean over the seeds; ±: {STD}."])


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
        record |= {f"{name}_mean": mean(means), f"{name}_std": single_run_std(values)}
    record["relative_std"] = record["final_std"] / abs(record["final_mean"]) if record["final_mean"] else math.nan
    if cell.n >= FEWEST_RUNS:
        record["final_low"], record["final_high"] = mean_interval(record["finals"])
    return record


def published_notes(page: PageCells, compared: Sequence[tuple[Any, Any]]) -> Iterator[str]:
    """Remarks on the published numbers of cells."""
    numbers, budgets = [number for _, number in compared], dict[int, set[int]]()
    statistic = page.statistic.replace("_", " ")
    envs = ", ".join(sorted({number.env for number in numbers})) or "other environments alone"
    yield f"Published: {page.source}, {page.table}, {statistic}{seeds_words(numbers)}, on {envs}."
    for cell, number in compared:
        if number.steps and number.steps != (ours := cell.own_timesteps or cell.total_timesteps):
            budgets.setdefault(ours, set()).add(number.steps)
    for ours, others in sorted(budgets.items()):
        theirs = " or ".join(f"{value:,}" for value in sorted(others))
        yield f"Different budgets: published after {theirs} training steps, ours after {ours:,}. Do not compare them."
    yield from environment_notes(page.groups)
    yield from number_notes(numbers)


def references_table(page: PageCells) -> Table | None:
    """Each cell with each source that has comparable runs, at the nearest common step; None without any."""
    rows = []
    for cell, row in cell_rows(page.cells[page.cells.exists]):
        for reference in find_references(cell):
            if (matched := match_runs(cell.done, reference)) is None:
                continue
            step, values, scores = matched
            rows.append({
                **row, **compare(seed_means(values), scores), "theirs": reference, "source": reference.source,
                "their_environment": reference.env, "steps": step, "mean": mean(seed_means(values)),
                "std": single_run_std(values), "their_mean": mean(scores), "their_std": std(scores),
                "their_median": median(scores), "their_runs": len(scores),
                "their_scores": " ".join(repr(float(score)) for score in scores),
            })  # fmt: skip
    remarks = [
        "Other people's runs, seed by seed, where dynamics and reward are those of our environment; mean ± sample "
        "standard deviation at the nearest common step. Sources differ as much as algorithms do and are never pooled."
    ]
    sources = group_items((row["source"], row["theirs"]) for row in rows)
    for name, (first, *others) in sources.items():
        returns = "; ".join(
            dict.fromkeys(f"{reference.algorithm}: {reference.returns}" for reference in (first, *others))
        )
        where = f"{first.repository}, commit {first.commit}, on {first.environments}"
        remarks.append(f"{name}: {where}; {first.description}. {returns}.")
    return build_table("reference-runs", page.heading("reference runs"), rows, remarks) if rows else None
