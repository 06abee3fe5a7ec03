"""The comparisons of a page: each algorithm against the baseline, or each against each, a row for each pair."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from erlbench.experiment.fairness import overridden
from erlbench.records.config import EVALUATIONS, TRAINING
from erlbench.records.older import ALGORITHMS, DEFAULT_PRESET
from erlbench.reporting.data.cells import list_rows, same_setting
from erlbench.reporting.data.origin import find_origin
from erlbench.reporting.data.page_cells import PageCells, find_cell, has_fitness_steps, scores_at_equal_steps
from erlbench.reporting.data.runs import run_tables
from erlbench.reporting.data.score import TIMESTEPS
from erlbench.reporting.statistics.estimates import FEWEST_RUNS, Array, mean, median, std
from erlbench.reporting.statistics.significance import Case, compare, holm, judge
from erlbench.settings import setting_text

Record = dict[str, Any]
Names = Sequence[tuple[str, str]]
MOST_CELLS = 6  # of an environment whose pairs are all shown; of more, those of the best one
SIMILAR = 1.1  # times the simulator steps of the other side: more is said


def compare_pairs(page: PageCells, names: Names | None = None) -> pd.DataFrame:
    """Pairs with scores on both sides; none for studies with published numbers and no baseline.

    All of them, or of more than `MOST_CELLS` in an environment those of the best one. The correction is for all, as
    the data say which one is best. `names` are the pairs that are wanted, where they are not those of the page. A row
    has `group` (its number on the page), names, `first` and `second` (`make_sample`), what `decide` says, and what else
    a reader has to know: `reason` (why they are not comparable), `equal_steps` (mean scores where both have used as
    many simulator steps, or None), `unequal` settings, and whether both have their `defaults`.
    """
    pairs = [(group, *pair) for group in page.groups for pair in _choose_pairs(page, group, names)]
    origins = {group.group: find_origin(group.env, group.cells) for group in page.groups}
    outcomes = decide(
        [(one.scores, two.scores, origins[group.group], next(_why_not(one, two), "")) for group, one, two, _ in pairs]
    )
    rows, samples = [], {cell.Index: make_sample(cell) for cell in page.rows}
    for (group, one, two, shown), outcome in zip(pairs, outcomes, strict=True):
        a, b = one.done[0], two.done[0]
        values = {name: (value, b.settings[name]) for name, value in a.settings.items() if name in b.settings}
        unequal = {name: both for name, both in values.items() if not same_setting(*both)}
        rows += [{
            "group": group.group, "env": group.env, "budget": group.limit,
            "axis": one.stretch.axis if one.stretch else TIMESTEPS, "score": one.score_words, "name": one.name,
            "name_against": two.name, "first": samples[one.Index], "second": samples[two.Index],
            "defaults": all(map(_has_defaults, (a, b))),
            "unequal": {name: tuple(map(setting_text, both)) for name, both in unequal.items()},
            "equal_steps": None if outcome["reason"] else _at_equal_steps(group, one, two), **outcome,
        }] * shown  # fmt: skip
    frame = pd.DataFrame(rows)
    if rows:  # None stands for more seeds than can be counted
        frame["seeds_missing"] = pd.Series([row.get("seeds_missing") for row in rows], dtype=object)
    return frame


def pair_rows(pairs: pd.DataFrame) -> list[Any]:
    """The rows of `compare_pairs`, with their columns as attributes."""
    return list_rows(pairs)


@lru_cache(maxsize=10_000)  # a report asks for the pairs of several tables
def _compare(x: bytes, y: bytes) -> Record:
    return compare(np.frombuffer(x), np.frombuffer(y))


def decide(pairs: Sequence[tuple[Array, Array, float, str]]) -> list[Record]:
    """What `compare` and `judge` say of each pair, corrected for all of them, `tests` in number.

    A pair has the scores of both sides, one a seed, the score of a random policy, and a reason why they are not
    comparable, or an empty text.
    """
    compared = [_compare(x.tobytes(), y.tobytes()) for x, y, *_ in pairs]
    p_values = holm(*([found[name] for found in compared] for name in ("p_rank", "level")))
    tests = int(np.isfinite(p_values).sum())
    rows = []
    for (x, y, origin, reason), found, p in zip(pairs, compared, p_values, strict=True):
        ruled = {"case": Case.NOT_COMPARABLE, "p_holm": p, "detectable_difference": math.nan, "decidable": False}
        if not reason:
            ruled = judge(x, y, found, p=float(p), tests=tests, origin=origin)
        rows.append({**found, **ruled, "tests": tests, "origin": origin, "reason": reason})
    return rows


def _why_not(one: Any, two: Any) -> Iterator[str]:
    """Why the scores are no samples of the algorithms; none where they are."""
    yield from filter(None, [selection_reason((one, two))])
    if not all(math.isfinite(mean(side.scores)) and not math.isinf(std(side.scores)) for side in (one, two)):
        yield "the scores are too large for a mean and a spread"
    if (one.metric, one.stretch) != (two.metric, two.stretch):
        yield "their scores are of different evaluations"


def selection_reason(sides: Sequence[Any]) -> str:
    """Why the finished runs of one side are a selection, or of another kind than those of the other; else empty."""
    for side in sides:
        if side.failed:
            runs = f"{len(side.failed)} of {len(side.runs)} runs of {side.label} failed"
            return f"{runs}, so those that are left are a selection"
    kinds = {run.imported.returns if run.imported else EVALUATIONS for side in sides for run in side.done}
    if TRAINING in kinds and len(kinds) > 1:
        return f"scores of one are returns of {TRAINING}, those of the other are not"
    return ""


def _choose_pairs(page: PageCells, group: Any, names: Names | None) -> Iterator[tuple[Any, Any, bool]]:
    """The pairs of a group, and whether each is shown."""
    cells = {cell.name: cell for cell in group.cells if cell.exists and cell.judged and len(cell.scores)}
    if names is None and page.tested and find_cell(group, page.baseline) is not None:
        names = [(name, page.baseline) for name in cells if name != page.baseline]
    if names is not None:
        yield from ((cells[one], cells[two], True) for one, two in names if one in cells and two in cells)
    elif page.tested and not page.source:  # a study with published numbers compares with these
        best = None
        if len(cells) > MOST_CELLS:  # the highest mean, where possible of those that can be tested
            tested = [cell for cell in cells.values() if len(cell.scores) >= FEWEST_RUNS]
            best = max(tested if len(tested) > 1 else cells.values(), key=lambda cell: mean(cell.scores))
        for one, two in itertools.combinations(cells.values(), 2):
            first, second = (two, one) if two is best else (one, two)
            yield first, second, best is None or first is best


def compare_with_baseline(page: PageCells) -> pd.DataFrame:
    """The pairs of each algorithm with the baseline, also on pages that test none; by group and name."""
    names = dict.fromkeys(page.cells.name[page.cells.exists.astype(bool) & (page.cells.name != page.baseline)])
    pairs = compare_pairs(page, [(name, page.baseline) for name in names])
    return pairs.set_index(["group", "name"]) if len(pairs) else pairs


def mark(outcome: Any) -> str:
    """The style of a mean: "bold" where the rule decides for it, "italic" where against it."""
    if outcome["case"] != Case.DECIDED:
        return ""
    return "bold" if outcome["difference"] > 0 else "italic"


def get_scores(group: Any, name: str) -> Array:
    """The scores (seeds,) of an entry; empty when it has none."""
    cell = find_cell(group, name)
    return np.empty(0) if cell is None else np.asarray(cell.scores)


def groups_with_baseline(page: PageCells) -> list[Any]:
    """The environments in which the baseline has a score."""
    return [group for group in page.groups if len(get_scores(group, page.baseline))]


def make_sample(cell: Any, scores: Any = None) -> SimpleNamespace:
    """One side of a comparison: scores, one a seed; the seeds with a finished run; how many runs failed.

    Steps are means over runs: of training, and of the simulator with those that measure the mean for learning. Minutes
    of training are medians over runs, by the clock and in simulated time; NaN without one.
    """
    runs, minutes = cell.done, [(run.simulated_time, run.timed, run.seconds / 60) for run in cell.done]
    return SimpleNamespace(
        name=cell.label,
        scores=tuple(float(score) for score in (cell.scores if scores is None else scores)),
        seeds=cell.seeds,
        runs=tuple("/".join(run.path.parts[-4:]) for run in runs),
        failed=len(cell.failed),
        training_steps=mean([run.evaluations.timesteps[-1] for run in runs]),
        simulator_steps=cell.learning_timesteps,
        measured_minutes=median([own for modelled, timed, own in minutes if timed and not modelled]),
        modelled_minutes=median([own for modelled, _, own in minutes if modelled]),
    )


def _has_defaults(run: Any) -> bool:
    """Whether a run is of one of the suite's algorithms with all of its defaults."""
    of_suite = run.algo in ALGORITHMS and run.run_config.get("preset") in (None, "", DEFAULT_PRESET)
    return of_suite and bool(run.settings) and not overridden(run_tables(run))


def _at_equal_steps(group: Any, one: Any, two: Any) -> tuple[float, float] | None:
    """The mean scores after as many simulator steps, those of the budget; None where both used about as many."""
    sides, budget = (one, two), group.total_timesteps
    used, more = [side.learning_timesteps for side in sides], [*map(has_fitness_steps, sides)]
    if not (budget and any(more) and np.isfinite(used).all() and max(used) > SIMILAR * min(used)):
        return None
    first, second = (
        mean(scores_at_equal_steps(side, budget) if counted else side.scores)
        for side, counted in zip(sides, more, strict=True)
    )
    return first, second
