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
from erlbench.reporting.data.cells import same_setting
from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.origin import origin_of
from erlbench.reporting.data.runs import StoredRun
from erlbench.reporting.data.score import TIMESTEPS
from erlbench.reporting.statistics.estimates import FEWEST_RUNS, Array, improvement, mean, median, std
from erlbench.reporting.statistics.significance import MARGIN, Case, compare, holm, is_significant, judge
from erlbench.settings import setting_text

Record = dict[str, Any]
Names = Sequence[tuple[str, str]]
MOST_RUN_SETS = 6  # of an environment whose pairs are all shown; of more, those of the best one
SIMILAR = 1.1  # times the simulator steps of the other side: more is said


def compare_pairs(comparison: Comparison, names: Names | None = None) -> pd.DataFrame:
    """Pairs with scores on both sides; none for studies with published numbers and no baseline.

    All of them, or of more than `MOST_RUN_SETS` in an environment those of the best one. The correction is for all, as
    the data say which one is best. `names` are the pairs that are wanted, where they are not those of the page. A row
    has `group` (its number on the page), names, `first` and `second` (`sample_of`), what `compare` and `judge` say, and
    what else a reader has to know: `reason` (why they are not comparable), `equal_steps` (mean scores where both have
    used as many simulator steps, or None), `unequal` settings, and whether both have their `defaults`.
    """
    pairs = [
        (number, *pair)
        for number, group in enumerate(comparison.groups) for pair in _pairs(comparison, group, names)
    ]  # fmt: skip
    compared = [compare(one.scores, two.scores) for _, one, two, _ in pairs]
    p_values = holm([found["p_rank"] for found in compared], [found["level"] for found in compared])
    tests = int(np.isfinite(p_values).sum())
    rows = [
        {"group": number, **_row(comparison.groups[number], one, two, found, float(p), tests)}
        for (number, one, two, shown), found, p in zip(pairs, compared, p_values, strict=True) if shown
    ]  # fmt: skip
    return pd.DataFrame(rows, dtype=object)


def pair_rows(pairs: pd.DataFrame) -> list[Any]:
    """The rows of `compare_pairs`, with their columns as attributes."""
    return [*pairs.itertuples()]


def _row(group: Group, one: RunSet, two: RunSet, found: Record, p: float, tests: int) -> Record:
    reason, origin = _why_not(one, two), origin_of(group)
    ruled: Record = {"case": Case.NOT_COMPARABLE, "p_holm": p, "detectable_difference": math.nan}
    if not reason:
        ruled = judge(one.scores, two.scores, found, p=p, tests=tests, origin=origin)
    return {
        "env": group.env, "budget": group.limit, "axis": one.stretch.axis if one.stretch else TIMESTEPS,
        "score": one.score_words, "name": one.name, "name_against": two.name, "first": _sample(one),
        "second": _sample(two), "reason": reason, "origin": origin, "defaults": defaults(one.done[0], two.done[0]),
        "equal_steps": None if reason else _at_equal_steps(group, one, two),
        "unequal": unequal(one.done[0], two.done[0]), "decidable": False, **found, **ruled, "tests": tests,
    }  # fmt: skip


def _why_not(one: RunSet, two: RunSet) -> str:
    """Why the scores are no samples of the algorithms; empty where they are."""
    if reason := selection_reason((one, two)):
        return reason
    if not all(math.isfinite(mean(side.scores)) and not math.isinf(std(side.scores)) for side in (one, two)):
        return "the scores are too large for a mean and a spread"
    alike = (one.metric, one.stretch) == (two.metric, two.stretch)
    return "" if alike else "their scores are of different evaluations"


def selection_reason(sides: Sequence[RunSet]) -> str:
    """Why the finished runs of one side are a selection, or of another kind than those of the other; else empty."""
    for side in sides:
        if side.failed:
            runs = f"{len(side.failed)} of {len(side.runs)} runs of {side.label} failed"
            return f"{runs}, so those that are left are a selection"
    kinds = {run.imported.returns if run.imported else EVALUATIONS for side in sides for run in side.done}
    if TRAINING in kinds and len(kinds) > 1:
        return f"scores of one are returns of {TRAINING}, those of the other are not"
    return ""


def _pairs(comparison: Comparison, group: Group, names: Names | None) -> Iterator[tuple[RunSet, RunSet, bool]]:
    """The pairs of a group, and whether each is shown."""
    if not comparison.tested and names is None:
        return
    run_sets = [one for one in group.run_sets if one.exists and one.judged and len(one.scores)]
    base = group.run_set(comparison.baseline)
    if names is not None:
        known = {one.name: one for one in run_sets}
        yield from ((known[one], known[two], True) for one, two in names if one in known and two in known)
    elif base is not None:
        yield from ((one, base, True) for one in run_sets if one.name != base.name and len(base.scores))
    elif not comparison.source:  # a study with published numbers compares with these
        best = _best_of_many(run_sets)
        for one, two in itertools.combinations(run_sets, 2):
            first, second = (two, one) if two is best else (one, two)
            yield first, second, best is None or first is best


def _best_of_many(run_sets: Sequence[RunSet]) -> RunSet | None:
    """The highest mean, where possible of those that can be tested; None for few run sets."""
    if len(run_sets) <= MOST_RUN_SETS:
        return None
    tested = [one for one in run_sets if len(one.scores) >= FEWEST_RUNS]
    return max(tested if len(tested) > 1 else run_sets, key=lambda one: mean(one.scores))


def compare_with(run_set: RunSet, base: RunSet | None, origin: float) -> Record:
    """One run set against a baseline, empty where either has no finished run; see `mark`.

    What `compare` says, `improvement` in percent, and the smallest difference of means that is marked: `margin`, from
    `origin`, the score of a random policy, on.
    """
    if base is None or run_set is base or not (base.done and run_set.done):
        return {}
    return {
        **compare(run_set.scores, base.scores), "failed": bool(run_set.failed or base.failed),
        "improvement": improvement(mean(run_set.scores), mean(base.scores)),
        "margin": MARGIN * abs(mean(base.scores) - origin),
    }  # fmt: skip


def mark(found: Record, p: float) -> str:
    """The style of a mean: "bold" where the rule decides for it, "italic" where against it; `p` is corrected.

    None either while runs have failed: those that survived are no sample of all runs.
    """
    if not found or found["failed"] or not is_significant(found, p) or found["gain"] < found["margin"]:
        return ""
    return "bold" if found["difference"] > 0 else "italic"


def correct(found: Sequence[Record]) -> Array:
    """The p of the ranks of each `compare_with`, corrected for all of them."""
    return holm(*([one.get(name, math.nan) for one in found] for name in ("p_rank", "level")))


def run_set_scores(group: Group, name: str) -> Array:
    """The scores (seeds,) of an entry; empty when it has none."""
    run_set = group.run_set(name)
    return run_set.scores if run_set else np.empty(0)


def label(comparison: Comparison) -> str:
    """The baseline's name in tables, or an empty text."""
    return next((one.label for one in comparison.run_sets if one.exists and one.name == comparison.baseline), "")


def groups_with_baseline(comparison: Comparison) -> list[Group]:
    """The environments in which the baseline has a score."""
    return [group for group in comparison.groups if len(run_set_scores(group, comparison.baseline))]


def _sample(side: RunSet) -> SimpleNamespace:
    return sample_of(side.label, side.scores, side.done, seeds=side.seeds, failed=len(side.failed))


def sample_of(
    name: str, scores: Sequence[float] | Array, runs: Sequence[StoredRun], *, seeds: tuple[int, ...], failed: int
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


def defaults(one: StoredRun, two: StoredRun) -> bool:
    """Whether both are the suite's algorithms with all of their defaults."""
    return all(
        run.algo in ALGORITHMS and run.asked.get("preset") in (None, "", DEFAULT_PRESET)
        and bool(run.settings) and not overridden(run.config)
        for run in (one, two)
    )  # fmt: skip


def _at_equal_steps(group: Group, one: RunSet, two: RunSet) -> tuple[float, float] | None:
    """The mean scores after as many simulator steps, those of the budget; None where both used about as many."""
    steps = [mean([run.evaluations.learning_steps[-1] for run in side.done]) for side in (one, two)]
    more = one.has_fitness_steps or two.has_fitness_steps
    if not (group.total_timesteps and more and np.isfinite(steps).all() and max(steps) > SIMILAR * min(steps)):
        return None
    first, second = (side.within(group.total_timesteps) if side.has_fitness_steps else side for side in (one, two))
    return mean(first.scores), mean(second.scores)


def unequal(one: StoredRun, two: StoredRun) -> dict[str, tuple[str, str]]:
    """The settings that both have with different values."""
    names = [name for name in one.settings if name in two.settings]
    return {
        name: (setting_text(one.settings[name]), setting_text(two.settings[name]))
        for name in names if not same_setting(one.settings[name], two.settings[name])
    }  # fmt: skip
