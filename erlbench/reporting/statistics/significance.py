"""The difference of two samples of runs with its interval and test, and the correction for many such tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

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
    def scaled_p(self) -> float:
        """`p` relative to the level of these numbers of runs, so that `LEVEL` is the level of every comparison."""
        return scale_p(self.p, *self.runs)

    @property
    def gain(self) -> float:
        """The difference of the means in the direction in which the ranks differ."""
        return self.difference if self.probability > 0.5 else -self.difference

    def significant(self, p: float) -> bool:
        """Whether the ranks differ, by their scaled p after the correction; never without a finite interval."""
        return p < LEVEL and all(map(math.isfinite, self.interval))


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


def rank_level(runs: int) -> float:
    """The largest p of `rank_test` that decides one comparison, with so many runs on the smaller side; NaN: none.

    Lower than `LEVEL`, because both tests promise too much with few runs and unequal spreads
    (benchmarks/verdict_rates.py has the error rates).
    """
    return next((level for fewest, level in LEVELS if runs >= fewest), float("nan"))


def level_words() -> str:
    """The levels for notes."""
    return ", ".join(f"{level:g} from {fewest} seeds on" for fewest, level in reversed(LEVELS))


def scale_p(p: float, n: int, m: int) -> float:
    """A p of `rank_test` of n and m runs as a multiple of `rank_level`, times `LEVEL`; at most 1, NaN: no test.

    It is never below `coin_p` of either side. At `LEVEL` that changes nothing, but below it, where a family shares the
    level.
    """
    scaled = p * LEVEL / rank_level(min(n, m))
    return scaled if math.isnan(scaled) else min(1.0, max(scaled, coin_p(p, n), coin_p(p, m)))


def coin_p(p: float, runs: int) -> float:
    """How often so small a p of `rank_test` comes of one side's runs of any spread beside steady ones.

    Each of its `runs` then lies above or below all of the other side, as a coin falls, and no test of ranks sees more.
    """
    p_values, chances = _coins(runs)
    return float(chances[np.searchsorted(p_values, p, side="right")])


def decisive_p(n: int, m: int, tests: int) -> float:
    """The p of `rank_test` of n and m runs below which one of so many comparisons is decided; NaN: none is."""
    levels = [rank_level(min(n, m)) / tests]
    for p_values, chances in map(_coins, (n, m)):
        allowed = int(np.searchsorted(chances, LEVEL / tests))
        if not allowed:
            return float("nan")
        levels += [float(p_values[allowed - 1])] if allowed <= len(p_values) else []
    return min(levels)


@cache
def _coins(runs: int) -> tuple[Array, Array]:
    """For 1, 2, ... runs on one side of steady ones and the rest on the other: Brunner and Munzel's p.

    And how often 0, 1, ... runs or fewer lie on either side.
    """
    below = np.arange(1, (runs + 1) // 2)
    share = below / runs
    t = (0.5 - share) * np.sqrt((runs - 1) / (share * (1 - share)))
    return 2 * special.stdtr(runs - 1, -t), 2 * special.bdtr(np.arange(len(below) + 1), runs, 0.5)


def least_scaled_p(n: int, m: int) -> float:
    """The smallest scaled p of n and m runs: where all runs of one side score above all of the other."""
    return scale_p(2 / math.comb(n + m, n), n, m)


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


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the order given; NaN (not tested) stays NaN and is not counted.

    Comparisons with different numbers of runs have different levels: give their scaled p. That is Holm's procedure
    with each p relative to its own level. If none of k comparisons has a difference, a family decides something only
    where one of its scaled p is below `LEVEL` / k. Each is so in at most `LEVEL` / k of studies: runs of equal spread
    by Mann and Whitney's exact test, runs of very unequal spreads by `coin_p`. So the family's error is at most `LEVEL`
    (Bonferroni), and Holm's later steps follow the first. Between the two, simulation has to show it:
    docs/how-we-decide.md has these rates, of which one is above.
    """
    adjusted = [float("nan")] * len(p_values)
    order = sorted((i for i, p in enumerate(p_values) if not math.isnan(p)), key=lambda i: p_values[i])
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted
