"""The table of training steps to a score, with the steps that papers report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from erlbench.reporting.agreement import episode_counts
from erlbench.reporting.cells import Warn
from erlbench.reporting.documents import Record, Table, build_table
from erlbench.reporting.page_cells import KINDS, PageCells, cell_rows
from erlbench.reporting.published import (
    Threshold,
    base_name,
    compare_environments,
    find_thresholds,
    number_notes,
    seeds_words,
)
from erlbench.reporting.statistics import average_reached, median, reached

Target = tuple[float, Threshold | None]  # a score to be reached, and what is published on it


def reach_table(page: PageCells, scores: Sequence[float], warn: Warn) -> Table | None:
    """One row for each environment, algorithm and score; without `scores` the published ones of each environment.

    None (with a warning) when there is no score for any environment.
    """
    targets = {env: _find_targets(env, scores, warn) for env in dict.fromkeys(page.cells.env)}
    used = [threshold for env_targets in targets.values() for _, threshold in env_targets if threshold]
    references = dict.fromkeys(threshold.score.algorithm for threshold in used)
    algorithms = dict.fromkeys(number.algorithm for threshold in used for number in threshold.steps)
    rows = [
        {**row, **_reach_record(cell.done, score, threshold, references)}
        for cell, row in cell_rows(page.cells[page.cells.exists])
        for score, threshold in targets[cell.env]
    ]
    kinds = {run.simulated_time for run in page.done if run.timed}
    title, remarks = page.heading("training steps to a score"), [*_notes(page), *_published_notes(page, used)]
    return build_table(
        "reach", title, rows, remarks, published=used, references=references, algorithms=algorithms,
        measured=False in kinds, modelled=True in kinds,
    ) if rows else None  # fmt: skip


def _find_targets(env: str, scores: Sequence[float], warn: Warn) -> list[Target]:
    thresholds = find_thresholds(base_name(env))
    if not scores and not thresholds:
        warn(f"no scores to reach are published for {env}; name them by --reach=SCORE[,SCORE...]")
    if not scores:
        return [(threshold.score.value, threshold) for threshold in thresholds]
    return [
        (score, next((threshold for threshold in thresholds if math.isclose(threshold.score.value, score)), None))
        for score in scores
    ]


def _reach_record(runs: Sequence[Any], score: float, threshold: Threshold | None, references: Iterable[str]) -> Record:
    """Training steps and minutes to a score, infinite for a run that never reached it; `n` counts the finished runs.

    With the published steps, and our steps as multiples of these, as papers compare data efficiency.
    """
    steps = np.array([reached(run.evaluations, score)[0] for run in runs])
    minutes = {}  # nothing where runs have both kinds of time
    timed = [run for run in runs if run.timed]
    if len(kinds := {run.simulated_time for run in timed}) == 1:
        kind = f"{KINDS[kinds.pop()]}_minutes_median"
        minutes[kind] = _finite(median([reached(run.evaluations, score)[1] for run in timed]))
    average = _finite(average_reached(runs, score))
    published = {number.algorithm: number.value for number in threshold.steps} if threshold else {}
    return {
        "score": score,
        "reached": int(np.isfinite(steps).sum()),
        "n": len(runs),
        "steps_median": _finite(median(steps)),
        "steps_average_curve": average,
        **minutes,
        "steps": " ".join(f"{step:.0f}" for step in steps),
        "share": f"{threshold.percent} % of {threshold.score.algorithm}" if threshold else "",
        **{f"ratio_to_{name}": average / published.get(name, math.nan) for name in references},
        **{f"published_steps_{name}": value for name, value in published.items()},
    }


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.nan


def _notes(page: PageCells) -> Iterator[str]:
    gaps = [np.diff(run.evaluations.timesteps) for run in page.done if len(run.evaluations) > 1]
    apart = f" Evaluations are {min(map(min, gaps)):,.0f} to {max(map(max, gaps)):,.0f} steps apart." if gaps else ""
    episodes = " or ".join(episode_counts(page.done, "eval_episodes"))
    yield (
        f"At the first evaluation whose mean return{f' of {episodes} episodes' * bool(episodes)} reaches the score. "
        "Reached: of the finished runs, the only ones that count. Median: of their training steps and "
        "minutes; a run that never reached the score is later than all others. Mean curve: where the average of the "
        f"finished runs, linear between evaluations, is first at or above it.{apart}"
    )


def _published_notes(page: PageCells, used: Sequence[Threshold]) -> Iterator[str]:
    numbers = [number for threshold in used for number in threshold.steps]
    for source, table in dict.fromkeys((threshold.score.source, threshold.score.table) for threshold in used):
        seeds = seeds_words(number for number in numbers if (number.source, number.table) == (source, table))
        yield f"Published: training steps{seeds} to the same score, {source}, {table}."
    yield from number_notes([*(threshold.score for threshold in used), *numbers])
    envs = {threshold.score.env for threshold in used}
    for env in dict.fromkeys(env for env in page.cells.env if base_name(env) in envs):
        yield compare_environments(env, base_name(env)).note
