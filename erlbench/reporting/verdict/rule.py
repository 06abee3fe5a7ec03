"""The rule: from the scores of two algorithms to one of six cases. docs/how-we-decide.md has it for readers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from scipy import special

from erlbench.reporting.statistics.estimates import Array, flat, mean
from erlbench.reporting.statistics.intervals import FEWEST_RUNS
from erlbench.reporting.statistics.power import (
    POWER,
    RANK_EFFICIENCY,
    detectable,
    fewest_seeds,
    std_upper_limit,
    welch_power,
)
from erlbench.reporting.statistics.significance import (
    LEVEL,
    MARGIN,
    Difference,
    compare,
    least_p,
    rank_level,
    standard_error,
)

FEWEST_ALIKE = 20  # seeds per side that can show that two are equivalent: fewer may miss that some runs fail
FAR = 2.0  # margins from its side's mean, where a run has fallen into another group


class Case(StrEnum):
    """What is known of two algorithms."""

    DECIDED = "decided"
    SMALL = "small difference"  # the ranks differ, and the means by less than the margin in the same direction
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
    margin: float  # in units of the score
    seeds_missing: int | None  # per side, for a test, or to find a difference of one margin; None: beyond counting

    @property
    def least_p(self) -> float:
        """The smallest corrected p that so many seeds and tests can have; NaN: no test."""
        return self.tests * least_p(*self.difference.runs)

    @property
    def decidable(self) -> bool:
        """Whether any scores of so many seeds would decide."""
        return self.least_p <= self.difference.level

    @cached_property
    def detectable(self) -> float:
        """About the smallest difference that such runs show with `POWER`; NaN where they can show none."""
        found = self.difference
        return (
            detectable(*found.stds, *found.runs, level=found.level / self.tests)
            if self.least_p <= found.level
            else math.nan
        )


def judge(x: Array, y: Array, *, p: float, tests: int = 1, origin: float = 0.0, margin: float = MARGIN) -> Ruling:
    """Two samples of scores, one a seed, both (seeds,).

    `p` is that of `compare`, corrected for all `tests` of the family. The margin is a share of the way from
    `origin`, the score of a random policy, to the mean of y.
    """
    a, b, tests = flat(x), flat(y), max(1, tests)
    found = compare(a, b)
    width = margin * abs(mean(b) - origin)
    if not found.enough:
        case = Case.TOO_FEW
    elif found.significant(p):
        case = Case.DECIDED if found.gain >= width else Case.SMALL
    elif equivalent(a, b, level=LEVEL / tests, origin=origin, margin=margin):
        case = Case.EQUIVALENT
    else:
        case = Case.UNDECIDED
    missing: int | None = 0
    if case is Case.TOO_FEW:
        missing = FEWEST_RUNS - min(found.runs)
    elif case is Case.UNDECIDED:
        missing = _missing(found, width, tests)
    return Ruling(case=case, difference=found, p=p, tests=tests, margin=width, seeds_missing=missing)


def seeds_for_tests(tests: int) -> int | None:
    """The fewest seeds per side with which one of so many comparisons can be decided."""
    return fewest_seeds(lambda n: tests * least_p(n, n) <= rank_level(n, n))


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


def _missing(found: Difference, width: float, tests: int) -> int | None:
    """Seeds per side that are missing to find a difference of `width`, by the upper limits of the spreads."""
    one, two = (std_upper_limit(own, runs) for own, runs in zip(found.stds, found.runs, strict=True))

    def enough(n: int) -> bool:
        runs = RANK_EFFICIENCY * n
        return tests * least_p(n, n) <= rank_level(n, n) and (
            not (width > 0 and max(one, two) > 0)
            or welch_power(width, one, two, runs, runs, level=rank_level(n, n) / tests) >= POWER
        )

    needed = fewest_seeds(enough)
    return None if needed is None else max(0, needed - min(found.runs))
