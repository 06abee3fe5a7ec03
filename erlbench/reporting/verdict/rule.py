"""The rule: from the scores of two algorithms to one of five cases. docs/how-we-decide.md has it for readers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from scipy import special

from erlbench.reporting.statistics.estimates import Array, flat, mean
from erlbench.reporting.statistics.intervals import FEWEST_RUNS
from erlbench.reporting.statistics.power import seeds_needed, std_upper_limit
from erlbench.reporting.statistics.significance import HALF, LEVEL, Difference, compare, standard_error

MARGIN = 0.1  # of the way from a random policy to the second algorithm
FEWEST_ALIKE = 20  # seeds a side that can show that two are equivalent: fewer may miss that some runs fail
FAR = 2.0  # margins from its side's mean, where a run has fallen into another group


class Case(StrEnum):
    """What is known of two algorithms."""

    DECIDED = "decided"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"
    TOO_FEW = "too few"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """What the rule says of two samples; NaN where something cannot be said."""

    case: Case
    difference: Difference
    p: float  # after the correction for `tests`
    tests: int  # that share the level
    margin: float  # of equivalence, in units of the score
    seeds_missing: int | None  # a side, to find a difference of one margin with 80 % power; None: beyond counting
    by_means: bool  # decided, and by the test of the means; else by the ranks alone
    boundary: float = math.nan  # the largest p at which the look of a plan stops; then `p` is not corrected

    @property
    def of_a_plan(self) -> bool:
        """Whether a plan's own test decides."""
        return not math.isnan(self.boundary)

    def of_plan(self, case: Case, p: float, boundary: float, missing: int | None) -> Ruling:
        """The same as a plan decides it."""
        by_means = case is Case.DECIDED
        return replace(self, case=case, p=p, boundary=boundary, seeds_missing=missing, by_means=by_means)


def judge(x: Array, y: Array, *, p: float, tests: int = 1, origin: float = 0.0, margin: float = MARGIN) -> Ruling:
    """Two samples of scores, one a seed, both (seeds,).

    `p` is that of `compare`, corrected for all `tests` of the family. The margin of equivalence is a share of the way
    from `origin`, the score of a random policy, to the mean of y.
    """
    a, b, tests = flat(x), flat(y), max(1, tests)
    found = compare(a, b).at_level(LEVEL / tests)
    width = margin * abs(mean(b) - origin)
    if not found.enough:
        case = Case.TOO_FEW
    elif p < LEVEL:
        case = Case.DECIDED
    elif equivalent(a, b, level=LEVEL / tests, origin=origin, margin=margin):
        case = Case.EQUIVALENT
    else:
        case = Case.UNDECIDED
    by_means = case is Case.DECIDED and (found.welch <= found.rank or HALF * tests * found.welch < LEVEL)
    missing = 0 if case in (Case.DECIDED, Case.EQUIVALENT) else _missing(found, width, LEVEL / tests)
    return Ruling(case=case, difference=found, p=p, tests=tests, margin=width, seeds_missing=missing, by_means=by_means)


def unseen_failures(seeds: int) -> float:
    """The largest share of failing runs of which so many seeds show none in 5 of 100 studies."""
    return float(1 - LEVEL ** (1 / seeds))


def equivalent(x: Array, y: Array, *, level: float, origin: float, margin: float) -> bool:
    """Whether the mean of x lies surely within the margin of that of y: two one-sided tests, each at level / 2.

    The margin is a share of the second mean, which is no constant, so each test is one of mean(x) - k mean(y)
    (Sasabuchi 1988). Not said below `FEWEST_ALIKE` seeds, nor where a run has fallen far from the others of its side.
    """
    a, b = flat(x) - origin, flat(y) - origin
    width = margin * abs(mean(b))
    fallen = any(np.abs(side - side.mean()).max() > FAR * width for side in (a, b))
    if min(a.size, b.size) < FEWEST_ALIKE or fallen or not width > 0:
        return False
    sign = math.copysign(1.0, mean(b))
    above = _one_sided(a * sign, (1 - margin) * b * sign)
    below = _one_sided((1 + margin) * b * sign, a * sign)
    return max(above, below) < level / 2


def _one_sided(x: Array, y: Array) -> float:
    """The p-value of Welch's test that the mean of x is above that of y."""
    error, freedom = standard_error(x, y)
    gap = float(x.mean() - y.mean())
    if not error > 0:
        return 0.0 if gap > 0 else 1.0
    return float(special.stdtr(freedom, -gap / error))


def _missing(found: Difference, width: float, level: float) -> int | None:
    """Seeds a side that are missing to find a difference of `width`, by the upper limits of the spreads."""
    fewest = min(found.runs)
    if fewest < 2:
        return FEWEST_RUNS - fewest
    if not (width > 0 and max(found.stds) > 0):
        return max(0, FEWEST_RUNS - fewest)
    upper: Sequence[float] = [std_upper_limit(own, runs) for own, runs in zip(found.stds, found.runs, strict=True)]
    needed = seeds_needed(width, upper[0], upper[1], level=level / HALF)
    return None if needed is None else max(0, max(FEWEST_RUNS, needed) - fewest)
