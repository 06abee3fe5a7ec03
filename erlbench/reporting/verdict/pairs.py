"""The comparisons of a page: each algorithm against the baseline, or each against each, a row for each pair."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
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
    has `group` (its number on the page), names, `first` and `second` (`sample_of`), what `decide` says, and what else
    a reader has to know: `reason` (why they are not comparable), `equal_steps` (mean scores where both have used as
    many simulator steps, or None), `unequal` settings, and whether both have their `defaults`.
    """
    pairs = [(group, *pair) for group in page.groups for pair in _pairs(page, group, names)]
    outcomes = decide([
        (one.scores, two.scores, find_origin(group.env, group.cells), _why_not(one, two))
        for group, one, two, _ in pairs
    ])  # fmt: skip
    rows = [
        {**_circumstances(group, one, two, outcome["reason"]), **outcome}
        for (group, one, two, shown), outcome in zip(pairs, outcomes, strict=True) if shown
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    if rows:  # None stands for more seeds than can be counted
        frame["seeds_missing"] = pd.Series([row.get("seeds_missing") for row in rows], dtype=object)
    return frame


def pair_rows(pairs: pd.DataFrame) -> list[Any]:
    """The rows of `compare_pairs`, with their columns as attributes."""
    return list_rows(pairs)


def decide(pairs: Sequence[tuple[Array, Array, float, str]]) -> list[Record]:
    """What `compare` and `judge` say of each pair, corrected for all of them, `tests` in number.

    A pair has the scores of both sides, one a seed, the score of a random policy, and a reason why they are not
    comparable, or an empty text.
    """
    compared = [compare(x, y) for x, y, *_ in pairs]
    p_values = holm(*([found[name] for found in compared] for name in ("p_rank", "level")))
    tests = int(np.isfinite(p_values).sum())
    rows = []
    for (x, y, origin, reason), found, p in zip(pairs, compared, p_values, strict=True):
        ruled = {"case": Case.NOT_COMPARABLE, "p_holm": p, "detectable_difference": math.nan, "decidable": False}
        if not reason:
            ruled = judge(x, y, found, p=float(p), tests=tests, origin=origin)
        rows.append({**found, **ruled, "tests": tests, "origin": origin, "reason": reason})
    return rows


def _circumstances(group: Any, one: Any, two: Any, reason: str) -> Record:
    return {
        "group": group.group, "env": group.env, "budget": group.limit,
        "axis": one.stretch.axis if one.stretch else TIMESTEPS, "score": one.score_words, "name": one.name,
        "name_against": two.name, "first": _sample(one), "second": _sample(two),
        "defaults": defaults(one.done[0], two.done[0]), "unequal": unequal(one.done[0], two.done[0]),
        "equal_steps": None if reason else _at_equal_steps(group, one, two),
    }  # fmt: skip


def _why_not(one: Any, two: Any) -> str:
    """Why the scores are no samples of the algorithms; empty where they are."""
    if reason := selection_reason((one, two)):
        return reason
    if not all(math.isfinite(mean(side.scores)) and not math.isinf(std(side.scores)) for side in (one, two)):
        return "the scores are too large for a mean and a spread"
    alike = (one.metric, one.stretch) == (two.metric, two.stretch)
    return "" if alike else "their scores are of different evaluations"


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


def _pairs(page: PageCells, group: Any, names: Names | None) -> Iterator[tuple[Any, Any, bool]]:
    """The pairs of a group, and whether each is shown."""
    cells = {cell.name: cell for cell in group.cells if cell.exists and cell.judged and len(cell.scores)}
    base = find_cell(group, page.baseline)
    if names is not None:
        yield from ((cells[one], cells[two], True) for one, two in names if one in cells and two in cells)
    elif not page.tested:
        return
    elif base is not None:
        yield from ((one, base, True) for one in cells.values() if one.name != base.name and base.name in cells)
    elif not page.source:  # a study with published numbers compares with these
        best = _best_of_many([*cells.values()])
        for one, two in itertools.combinations(cells.values(), 2):
            first, second = (two, one) if two is best else (one, two)
            yield first, second, best is None or first is best


def _best_of_many(cells: Sequence[Any]) -> Any:
    """The highest mean, where possible of those that can be tested; None for few cells."""
    if len(cells) <= MOST_CELLS:
        return None
    tested = [one for one in cells if len(one.scores) >= FEWEST_RUNS]
    return max(tested if len(tested) > 1 else cells, key=lambda one: mean(one.scores))


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


def _sample(side: Any) -> SimpleNamespace:
    return sample_of(side.label, side.scores, side.done, seeds=side.seeds, failed=len(side.failed))


def sample_of(
    name: str, scores: Sequence[float] | Array, runs: Sequence[Any], *, seeds: tuple[int, ...], failed: int
) -> SimpleNamespace:
    """One side of a comparison: scores, one a seed; the seeds with a finished run; how many runs failed.

    Steps are means over runs: of training, and of the simulator with those that measure the mean for learning. Minutes
    of training are medians over runs, by the clock and in simulated time; NaN without one.
    """
    return SimpleNamespace(
        name=name,
        scores=tuple(float(score) for score in scores),
        seeds=seeds,
        runs=tuple("/".join(run.path.parts[-4:]) for run in runs),
        failed=failed,
        training_steps=mean([run.evaluations.timesteps[-1] for run in runs]),
        simulator_steps=mean([run.evaluations.learning_steps[-1] for run in runs]),
        measured_minutes=median([run.seconds / 60 for run in runs if not run.simulated_time and run.timed]),
        modelled_minutes=median([run.seconds / 60 for run in runs if run.simulated_time]),
    )


def defaults(one: Any, two: Any) -> bool:
    """Whether both are the suite's algorithms with all of their defaults."""
    return all(
        run.algo in ALGORITHMS and run.run_config.get("preset") in (None, "", DEFAULT_PRESET)
        and bool(run.settings) and not overridden(run_tables(run))
        for run in (one, two)
    )  # fmt: skip


def _at_equal_steps(group: Any, one: Any, two: Any) -> tuple[float, float] | None:
    """The mean scores after as many simulator steps, those of the budget; None where both used about as many."""
    steps = [mean([run.evaluations.learning_steps[-1] for run in side.done]) for side in (one, two)]
    more = [has_fitness_steps(side) for side in (one, two)]
    if not (group.total_timesteps and any(more) and np.isfinite(steps).all() and max(steps) > SIMILAR * min(steps)):
        return None
    first, second = (
        mean(scores_at_equal_steps(side, group.total_timesteps) if counted else side.scores)
        for side, counted in zip((one, two), more, strict=True)
    )
    return first, second


def unequal(one: Any, two: Any) -> dict[str, tuple[str, str]]:
    """The settings that both have with different values."""
    names = [name for name in one.settings if name in two.settings]
    return {
        name: (setting_text(one.settings[name]), setting_text(two.settings[name]))
        for name in names if not same_setting(one.settings[name], two.settings[name])
    }  # fmt: skip
