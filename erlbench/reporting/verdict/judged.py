"""The verdicts of a comparison: each algorithm against the baseline, or each against each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from erlbench.experiment.fairness import overridden
from erlbench.records.config import EVALUATIONS, TRAINING
from erlbench.reporting.data.cells import same_setting
from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.origin import origin_of
from erlbench.reporting.data.runs import StoredRun
from erlbench.reporting.data.score import TIMESTEPS
from erlbench.reporting.statistics.estimates import Array, mean, median, std
from erlbench.reporting.statistics.intervals import FEWEST_RUNS
from erlbench.reporting.statistics.significance import MARGIN, Difference, compare, holm
from erlbench.reporting.verdict.rule import Case, Ruling, judge
from erlbench.reporting.verdict.value import SIMILAR, Sample, Verdict
from erlbench.settings import setting_text

Names = Sequence[tuple[str, str]]
MOST_RUN_SETS = 6  # of an environment whose pairs are all shown; of more, those of the best one


@dataclass(frozen=True)
class TestedPair:
    """Two run sets of an environment with their difference."""

    group: Group
    run_set: RunSet
    other: RunSet
    difference: Difference
    p: float  # scaled, after Holm's correction; NaN where there are too few seeds for a test
    tests: int  # of its family

    @property
    def reason(self) -> str:
        """Why the scores are no samples of the algorithms; empty where they are."""
        sides = self.run_set, self.other
        if reason := selection_reason(sides):
            return reason
        if not all(math.isfinite(mean(side.scores)) and not math.isinf(std(side.scores)) for side in sides):
            return "the scores are too large for a mean and a spread"
        alike = (self.run_set.metric, self.run_set.stretch) == (self.other.metric, self.other.stretch)
        return "" if alike else "their scores are of different evaluations"

    @cached_property
    def outcome(self) -> Ruling | None:
        """What the rule says; None where they are not comparable."""
        if self.reason:
            return None
        scores = self.run_set.scores, self.other.scores
        return judge(*scores, p=self.p, tests=self.tests, origin=origin_of(self.group))

    @property
    def case(self) -> Case:
        """The case of the rule."""
        return self.outcome.case if self.outcome else Case.NOT_COMPARABLE


def compared_pairs(comparison: Comparison, names: Names | None = None) -> list[TestedPair]:
    """Pairs with scores on both sides; none for studies with published numbers and no baseline.

    All of them, or of more than `MOST_RUN_SETS` in an environment those of the best one. The correction is for all, as
    the data say which one is best. `names` are the pairs that are wanted, where they are not those of the page.
    """
    pairs = [(group, *pair) for group in comparison.groups for pair in _pairs(comparison, group, names)]
    differences = [compare(one.scores, two.scores) for _, one, two, _ in pairs]
    p_values = holm([found.p for found in differences], [found.level for found in differences])
    tests = sum(not math.isnan(found.p) for found in differences)
    return [
        TestedPair(group, one, two, difference, p, tests)
        for (group, one, two, shown), difference, p in zip(pairs, differences, p_values, strict=True)
        if shown
    ]


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


def verdicts_of(pairs: Iterable[TestedPair]) -> list[Verdict]:
    """A verdict of each pair."""
    return list(map(_verdict, pairs))


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


def _verdict(pair: TestedPair) -> Verdict:
    one, two = pair.run_set, pair.other
    origin = origin_of(pair.group)
    stretch = one.stretch
    return Verdict(
        case=pair.case,
        reason=pair.reason,
        env=pair.group.env,
        budget=pair.group.limit,
        axis=stretch.axis if stretch else TIMESTEPS,
        score=one.score_words,
        first=_sample(one),
        second=_sample(two),
        defaults=defaults(one.done[0], two.done[0]),
        outcome=pair.outcome,
        margin=MARGIN,
        origin=origin,
        equal_steps=None if pair.reason else _at_equal_steps(pair.group, one, two),
        unequal=unequal(one.done[0], two.done[0]),
    )


def _sample(side: RunSet) -> Sample:
    return sample_of(side.label, side.scores, side.done, seeds=side.seeds, failed=len(side.failed))


def sample_of(
    name: str, scores: Sequence[float] | Array, runs: Sequence[StoredRun], *, seeds: tuple[int, ...], failed: int
) -> Sample:
    """One side of a verdict: its scores, one a seed, and the runs that count."""
    return Sample(
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
    from erlbench.algorithms.registry import ALGORITHMS, DEFAULT_PRESET  # not at the top: a report alone needs none

    return all(
        run.algo in ALGORITHMS and run.asked.get("preset") in (None, "", DEFAULT_PRESET)
        and run.settings and not overridden(run.config)
        for run in (one, two)
    )  # fmt: skip


def _at_equal_steps(group: Group, one: RunSet, two: RunSet) -> tuple[float, float] | None:
    """The mean scores after as many simulator steps, those of the budget; None where both used about as many."""
    steps = [mean([run.evaluations.learning_steps[-1] for run in side.done]) for side in (one, two)]
    budget = group.total_timesteps
    if (
        not budget
        or not np.isfinite(steps).all()
        or max(steps) <= SIMILAR * min(steps)
        or not (one.has_fitness_steps or two.has_fitness_steps)
    ):
        return None
    found = [side.within(budget) if side.has_fitness_steps else side for side in (one, two)]
    return mean(found[0].scores), mean(found[1].scores)


def unequal(one: StoredRun, two: StoredRun) -> dict[str, tuple[str, str]]:
    """The settings that both have with different values."""
    names = [name for name in one.settings if name in two.settings]
    return {
        name: (setting_text(one.settings[name]), setting_text(two.settings[name]))
        for name in names if not same_setting(one.settings[name], two.settings[name])
    }  # fmt: skip
