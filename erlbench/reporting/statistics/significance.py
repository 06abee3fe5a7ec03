"""The difference of two samples of runs with its interval and test, and the correction for many such tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from erlbench.reporting.statistics.estimates import Array, flat, mean, probability_of_improvement, std
from erlbench.reporting.statistics.intervals import FEWEST_RUNS, NONE, superiority_interval

LEVEL = 0.05  # of all comparisons of a family
LEVELS = ((10, 0.025), (FEWEST_RUNS, 0.015))  # from so many runs on the smaller side on: the largest p that decides
MARGIN = 0.1  # of the way from a random policy to the second algorithm: smaller differences of means decide nothing


@dataclass(frozen=True)
class Summary:
    """What papers print of a sample of runs; also of our own."""

    mean: float
    std: float  # sample standard deviation
    runs: int

    @classmethod
    def of(cls, scores: ArrayLike) -> Summary:
        """That of scores (runs,)."""
        x = flat(scores)
        return cls(mean(x), std(x), x.size)

    def minus(self, other: Summary, confidence: float = 1 - LEVEL) -> tuple[float, float, float]:
        """The difference of the means with Welch's interval; NaN for the interval with fewer than two runs a side."""
        gap, (error, freedom) = self.mean - other.mean, error_of(self, other)
        if math.isnan(error):
            return gap, *NONE
        half = float(special.stdtrit(freedom, (1 + confidence) / 2)) * error if error else 0.0
        return gap, gap - half, gap + half


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How the runs of x differ from those of y; NaN where that cannot be said."""

    runs: tuple[int, int]
    stds: tuple[float, float]
    difference: float  # mean of x - mean of y
    interval: tuple[float, float]  # 95 %, Welch
    p: float  # of the test of the ranks, two-sided; not corrected for other comparisons
    probability: float  # that a run of x scores above one of y
    probability_interval: tuple[float, float]  # 95 %, Newcombe

    @property
    def enough(self) -> bool:
        """Whether both sides have `FEWEST_RUNS`."""
        return min(self.runs) >= FEWEST_RUNS

    @property
    def level(self) -> float:
        """The largest corrected p that decides with so many runs; NaN where there is no test."""
        return rank_level(*self.runs)

    @property
    def gain(self) -> float:
        """The difference of the means in the direction in which the ranks differ."""
        return self.difference if self.probability > 0.5 else -self.difference

    def significant(self, p: float) -> bool:
        """Whether the ranks differ, by their p after the correction; never without a finite interval."""
        return p <= self.level and all(map(math.isfinite, self.interval))


def compare(x: ArrayLike, y: ArrayLike) -> Difference:
    """Compare two samples of runs. Below `FEWEST_RUNS` per side there is no interval, no p and no probability."""
    a, b = flat(x), flat(y)
    enough = min(a.size, b.size) >= FEWEST_RUNS
    gap, low, high = Summary.of(a).minus(Summary.of(b))
    if not enough:
        low, high = NONE
    probability = probability_of_improvement([a], [b]) if enough else float("nan")
    return Difference(
        runs=(a.size, b.size),
        stds=(std(a), std(b)),
        difference=gap,
        interval=(low, high),
        p=rank_test(a, b) if enough else float("nan"),
        probability=probability,
        probability_interval=superiority_interval(probability, a.size, b.size),
    )


def welch(x: ArrayLike, y: ArrayLike) -> float:
    """The two-sided p-value of Welch's t-test; NaN when it cannot be computed.

    That is with fewer than two values on a side, or without any spread. Recommended for scores of runs by
    Colas et al. 2019, "A hitchhiker's guide to statistical comparisons of reinforcement learning algorithms".
    """
    a, b = flat(x), flat(y)
    error, freedom = standard_error(a, b)
    if not error > 0:
        return float("nan")
    return float(2 * special.stdtr(freedom, -abs(a.mean() - b.mean()) / error))


def rank_test(x: ArrayLike, y: ArrayLike) -> float:
    """The two-sided p-value of a test of whether runs of one side mostly score above the other's; NaN without scores.

    The larger one of two. Mann and Whitney's is exact for equal distributions where no two scores are equal, but also
    finds unequal spreads. Brunner and Munzel's (2000) finds P(better) alone, but promises too much with few runs.
    """
    from scipy import stats  # slow to load

    a, b = flat(x), flat(y)
    if not (a.size and b.size):
        return float("nan")
    values = np.unique(np.concatenate([a, b]))
    tied = len(values) < a.size + b.size
    exact = float(stats.mannwhitneyu(a, b, method="asymptotic" if tied else "exact").pvalue)
    apart = a.max() < b.min() or b.max() < a.min() or len(values) == 1
    return exact if apart else max(exact, float(stats.brunnermunzel(a, b).pvalue))  # the second has no p where apart


def rank_level(n: int, m: int) -> float:
    """The largest p of `rank_test` that decides one comparison of n and m runs; NaN: too few for a test.

    Lower than `LEVEL`, because both tests promise too much with few runs and unequal spreads
    (benchmarks/verdict_rates.py has the error rates).
    """
    return next((level for fewest, level in LEVELS if min(n, m) >= fewest), float("nan"))


def level_words() -> str:
    """The levels for notes."""
    return ", ".join(f"{level:g} from {fewest} seeds on" for fewest, level in reversed(LEVELS))


def least_p(n: int, m: int) -> float:
    """The smallest p of `rank_test` of n and m runs: where all runs of one side score above all of the other."""
    return 2 / math.comb(n + m, n)


def standard_error(a: Array, b: Array) -> tuple[float, float]:
    """Of the difference of the means, and Satterthwaite's degrees of freedom; NaN with fewer than two values a side."""
    return error_of(Summary.of(a), Summary.of(b))


def error_of(a: Summary, b: Summary) -> tuple[float, float]:
    """The same of two summaries."""
    if min(a.runs, b.runs) < 2:
        return NONE
    va, vb = a.std**2 / a.runs, b.std**2 / b.runs
    if va + vb == 0:
        return 0.0, float("nan")
    return math.sqrt(va + vb), (va + vb) ** 2 / (va**2 / (a.runs - 1) + vb**2 / (b.runs - 1))


def holm(p_values: Sequence[float], levels: Sequence[float] | None = None) -> list[float]:
    """Holm's step-down adjusted p-values, in the order given; NaN (not tested) stays NaN and is not counted.

    With `levels`, one for each p, they are ordered by p relative to its level, and the result of each is to be compared
    with its own level. The first step decides nothing unless some p is at most its level / k, k the number of p-values
    (Bonferroni's inequality for unequal levels); the later steps are Holm's.
    """
    scale = [1.0] * len(p_values) if levels is None else levels
    adjusted = [float("nan")] * len(p_values)
    order = sorted((i for i, p in enumerate(p_values) if not math.isnan(p)), key=lambda i: p_values[i] / scale[i])
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, (len(order) - rank) * p_values[i] / scale[i])
        adjusted[i] = min(1.0, highest * scale[i])
    return adjusted
