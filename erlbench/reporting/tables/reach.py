"""The table of training steps to a score, beside the steps that papers report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from erlbench.reporting.data.comparability import base_name
from erlbench.reporting.data.page_cells import PageCells
from erlbench.reporting.data.published import Published, Threshold
from erlbench.reporting.data.remarks import RemarkKind, Warn, remark
from erlbench.reporting.documents.formats import NONE, count, exact, number
from erlbench.reporting.documents.model import Column, Record, Table
from erlbench.reporting.statistics.curves import average_reached, reached
from erlbench.reporting.statistics.estimates import median
from erlbench.reporting.tables.columns import IDENTITY, STATUS, cell_record, updates
from erlbench.reporting.tables.published_notes import environment_note

Target = tuple[float, Threshold | None]  # a score to be reached, and what is published on it


def reach_table(page: PageCells, scores: Sequence[float], published: Published, warn: Warn) -> Table | None:
    """One row for each environment, algorithm and score; without `scores` the published ones of each environment.

    None (with a warning) when there is no score for any environment.
    """
    targets = {env: _find_targets(env, scores, published, warn) for env in dict.fromkeys(page.cells.env)}
    used = [threshold for own in targets.values() for _, threshold in own if threshold]
    references = list(dict.fromkeys(threshold.score.algorithm for threshold in used))
    algorithms = list(dict.fromkeys(one.algorithm for threshold in used for one in threshold.steps))
    rows = [
        {**cell_record(cell), **_reach_record(cell.done, score),
         **_published_record(cell.done, score, threshold, references, algorithms)}
        for cell in page.rows if cell.exists for score, threshold in targets[cell.env]
    ]  # fmt: skip
    kinds = {run.simulated_time for cell in page.rows for run in cell.done if run.timed}
    columns: list[Column] = [
        *IDENTITY,
        Column("Score", "score", exact),
        Column("Share", "share", shown=bool(used)),
        Column("Reached", "reached n planned", lambda reached, done, _: f"{reached}/{done}" if done else NONE),
        Column("Median", "steps_median", count),
        Column("Mean curve", "steps_average_curve", count),
        *(Column(f"/ {name}", (f"ratio_to_{name}",), number,
                 note=f"the mean curve's steps divided by the published steps of {name}.") for name in references),
        Column("Measured minutes", "measured_minutes_median", number, shown=False in kinds),
        Column("Modelled minutes", "modelled_minutes_median", number, shown=True in kinds),
        Column("Steps", "steps", shown=False),
        *(Column(f"Published {name}", (f"published_steps_{name}",), count) for name in algorithms),
        updates(rows),
        STATUS,
    ]  # fmt: skip
    remarks = (*_notes(page), *_published_notes(page, used))
    return Table("reach", page.heading("training steps to a score"), columns, rows, remarks) if rows else None


def _find_targets(env: str, scores: Sequence[float], published: Published, warn: Warn) -> list[Target]:
    known = published.thresholds(base_name(env))
    if not scores and not known:
        warn(remark(RemarkKind.NO_SCORES, env=env))
    if not scores:
        return [(threshold.score.value, threshold) for threshold in known]
    return [(score, next((one for one in known if math.isclose(one.score.value, score)), None)) for score in scores]


def _reach_record(runs: Sequence[Any], score: float) -> Record:
    """Training steps and minutes to a score, infinite for a run that never reached it; `n` counts the finished runs."""
    steps = np.array([reached(run.evaluations, score)[0] for run in runs])
    minutes = dict.fromkeys((False, True), math.nan)  # NaN where runs have both kinds of time
    timed = [run for run in runs if run.timed]
    if len(kinds := {run.simulated_time for run in timed}) == 1:
        minutes[kinds.pop()] = _finite(median([reached(run.evaluations, score)[1] for run in timed]))
    return {
        "score": score, "reached": int(np.isfinite(steps).sum()), "n": len(runs),
        "steps_median": _finite(median(steps)), "steps_average_curve": _finite(average_reached(runs, score)),
        "measured_minutes_median": minutes[False], "modelled_minutes_median": minutes[True],
        "steps": " ".join(f"{step:.0f}" for step in steps),
    }  # fmt: skip


def _published_record(
    runs: Sequence[Any], score: float, threshold: Threshold | None, references: Sequence[str], algorithms: Sequence[str]
) -> Record:
    """Published steps, and steps as multiples of those of whom the scores are, as papers compare data efficiency."""
    average = _finite(average_reached(runs, score))
    steps = {one.algorithm: one.value for one in threshold.steps} if threshold else {}
    share = f"{threshold.percent} % of {threshold.score.algorithm}" if threshold else None
    return {
        "share": share, **{f"ratio_to_{name}": average / steps.get(name, math.nan) for name in references},
        **{f"published_steps_{name}": steps.get(name, math.nan) for name in algorithms},
    }  # fmt: skip


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.nan


def _notes(page: PageCells) -> Iterator[str]:
    done = [run for cell in page.rows for run in cell.done]
    gaps = [np.diff(run.evaluations.timesteps) for run in done if len(run.evaluations) > 1]
    episodes = sorted({run.eval_episodes for run in done if run.eval_episodes}, key=lambda n: (len(n), n))
    of = f" of {' or '.join(episodes)} episodes" if episodes else ""
    apart = ""
    if gaps:
        low, high = min(gap.min() for gap in gaps), max(gap.max() for gap in gaps)
        apart = f"; evaluations are {low:,.0f} to {high:,.0f} training steps apart, and nothing is known between them"
    yield (
        "Training steps (Median), and minutes of training time (median), at a run's first evaluation whose mean return"
        f"{of} of the deterministic reported policy is at or above the score{apart}. Reached: of the finished runs, "
        "the only ones that count. Median: over them, a run that never reached the score counting as later than all "
        "others (– where the middle is such a run). Mean curve: where the average of the finished runs, interpolated "
        "linearly between evaluations, is first at or above it."
    )


def _published_notes(page: PageCells, used: Sequence[Threshold]) -> Iterator[str]:
    numbers = [one for threshold in used for one in threshold.steps]
    for source, table in dict.fromkeys((threshold.score.source, threshold.score.table) for threshold in used):
        here = {one.seeds for one in numbers if (one.source, one.table) == (source, table) and one.seeds}
        seeds = " or ".join(map(str, sorted(here)))
        yield f"Published: training steps{f' of {seeds} runs' if seeds else ''} to the same score, {source}, {table}."
    noted = [one for one in (*(threshold.score for threshold in used), *numbers) if one.note]
    for algorithm, note in dict.fromkeys((one.algorithm, one.note) for one in noted):
        yield f"Published {algorithm}: {note}."
    envs = {threshold.score.env for threshold in used}
    for env in dict.fromkeys(env for env in page.cells.env if base_name(env) in envs):
        yield environment_note(env, base_name(env))
