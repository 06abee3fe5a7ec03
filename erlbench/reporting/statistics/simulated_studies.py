"""Simulated group-sequential studies by Welch's test: their power, and whether looks keep the level that they promise.

Boundaries are those of normal statistics. With few seeds Welch's test has less power than these say; and where spreads
are unequal or some runs fail, an early look may stop more often than it promises. Both are found by simulation, with
fixed random numbers, so that a plan is judged the same each time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from erlbench.errors import UsageError
from erlbench.experiment.plan import HOLM, Plan
from erlbench.reporting.statistics.estimates import Array
from erlbench.reporting.statistics.sequential import Design, design

STUDIES = 20_000  # for a power: its standard error is 0.003 or less
MANY = 100_000  # for a level
MOST_VALUES = 10_000_000  # of one side, held at once
WORST_LEVEL = 1.2  # times the promised level
FAILURES, FAILED, REACHED, NOISE = 0.3, 50.0, 350.0, 10.0  # runs that fall into two groups
UNEQUAL = 5.0  # spread of one side, times the other's


@dataclass(frozen=True)
class Studies:
    """Simulated studies without a true difference: what Welch's test computes at each look, all (studies, looks)."""

    gap: Array  # difference of the means
    error: Array  # its standard error
    freedom: Array  # degrees of freedom

    def stopping(self, found: Design, difference: float = 0.0) -> list[float]:
        """The probability to stop at each look where the true means differ by `difference`."""
        with np.errstate(invalid="ignore", divide="ignore"):
            t = np.abs(self.gap + difference) / self.error
            p = 2 * special.stdtr(self.freedom, -t)
        crossed = p <= np.array(found.p)  # NaN, of samples without spread: no
        first = np.where(crossed.any(axis=1), crossed.argmax(axis=1), len(found.looks))
        return [float((first == look).mean()) for look in range(len(found.looks))]


def simulate(x: Array, y: Array, looks: Sequence[int]) -> Studies:
    """Studies of runs x and y, both (studies, seeds), looked at after so many seeds."""
    (mean_x, var_x), (mean_y, var_y) = _moments(x, looks), _moments(y, looks)
    n = np.array(looks, dtype=np.float64)
    var_x, var_y = var_x / n, var_y / n
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = (var_x + var_y) ** 2 / ((var_x**2 + var_y**2) / (n - 1))
    return Studies(mean_x - mean_y, np.sqrt(var_x + var_y), freedom)


def normal_studies(std_x: float, std_y: float, looks: Sequence[int], studies: int = STUDIES, seed: int = 0) -> Studies:
    """Studies of normal runs with these standard deviations."""
    draws = np.random.default_rng(seed).normal(size=(2, _as_many(studies, looks), looks[-1]))
    return simulate(std_x * draws[0], std_y * draws[1], looks)


def least_difference(studies: Studies, found: Design, power: float) -> float:
    """The smallest true difference that such studies find with `power`; their runs must have some spread."""
    low, high = 0.0, float(studies.error[:, -1].mean())
    while sum(studies.stopping(found, high)) < power:
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if sum(studies.stopping(found, middle)) >= power else (middle, high)
    return high


def check_looks(looks: Sequence[int], level: float, spending: str, tests: int = 1) -> None:
    """Raise `UsageError` for looks whose real level is a fifth or more above the promised one.

    The level is shared by `tests` (the first step of Holm's correction). The real one is that of equal normal runs, of
    spreads 1:5, and of runs of which three in ten fail.
    """
    designs = {share: design(looks, share, spending) for share in (level / tests, level)}
    found = []
    for words, studies in _worst_cases(looks):
        for share, boundaries in designs.items():
            real = sum(studies.stopping(boundaries))
            if real - 2 * math.sqrt(real / len(studies.gap)) > WORST_LEVEL * share:
                found.append((real / share, real, share, words))
    if found:
        _, real, share, words = max(found)
        raise UsageError(
            f"looks after {', '.join(map(str, looks))} seeds with {spending} spending have level {real:.2g}, not "
            f"{share:.2g}, where {words}; begin later, take fewer looks, or obrien-fleming spending"
        )


def check_plan(plan: Plan) -> None:
    """Raise `UsageError` for a plan whose looks do not keep its level."""
    test = plan.test
    check_looks(test.looks, test.level, test.spending, len(plan.contrasts) if test.correction == HOLM else 1)


def _worst_cases(looks: Sequence[int]) -> Iterator[tuple[str, Studies]]:
    yield "all runs are normal", normal_studies(1.0, 1.0, looks, MANY)
    yield f"spreads are 1 and {UNEQUAL:g}", normal_studies(1.0, UNEQUAL, looks, MANY)
    generator = np.random.default_rng(0)
    size = (2, _as_many(MANY, looks), looks[-1])
    failed = generator.random(size, dtype=np.float32) < FAILURES
    x, y = np.where(failed, FAILED, REACHED) + NOISE * generator.normal(size=size)
    yield f"{100 * FAILURES:g} % of the runs fail", simulate(x, y, looks)


def _moments(values: Array, looks: Sequence[int]) -> tuple[Array, Array]:
    """Mean and sample variance of the first n values of each study, for each look n: both (studies, looks)."""
    means, variances = [], []
    for n in looks:
        means.append(values[:, :n].mean(axis=1))
        variances.append(values[:, :n].var(axis=1, ddof=1))
    return np.stack(means, axis=1), np.stack(variances, axis=1)


def _as_many(studies: int, looks: Sequence[int]) -> int:
    return max(1000, min(studies, MOST_VALUES // looks[-1]))
