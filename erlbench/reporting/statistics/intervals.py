"""Intervals: of a mean, of any statistic by bootstrap, and of the runs themselves (tolerance)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from erlbench.reporting.statistics.estimates import Array, flat

NONE = (float("nan"), float("nan"))
FEWEST_RUNS = 6  # per side, for an interval or a test: below, only the scores are shown


def share_interval(of: int, runs: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of a share of runs (1927); NaN without runs."""
    if not runs:
        return NONE
    z, share = float(special.ndtri((1 + confidence) / 2)), of / runs
    middle, half = share + z * z / (2 * runs), z * math.sqrt(share * (1 - share) / runs + (z / (2 * runs)) ** 2)
    return max(0.0, (middle - half) / (1 + z * z / runs)), min(1.0, (middle + half) / (1 + z * z / runs))


def mean_interval(values: ArrayLike, *, confidence: float = 0.95) -> tuple[float, float]:
    """Student's interval of the mean; NaN for fewer than two values."""
    x = flat(values)
    if x.size < 2:
        return NONE
    half = float(special.stdtrit(x.size - 1, (1 + confidence) / 2)) * x.std(ddof=1) / math.sqrt(x.size)
    return float(x.mean() - half), float(x.mean() + half)


def tolerance_interval(values: ArrayLike, *, share: float = 0.9, confidence: float = 0.95) -> tuple[float, float]:
    """The interval that holds a `share` of all runs, past and future, if runs are normally distributed.

    It does so in `confidence` of all samples. Mean ± k standard deviations with Howe's k (1969, "Two-sided tolerance
    limits for normal populations"). NaN for fewer than two values. Patterson et al. 2024, "Empirical design in
    reinforcement learning", recommend tolerance intervals to say what one more run would give.
    """
    x = flat(values)
    if x.size < 2:
        return NONE
    freedom = x.size - 1
    k = special.ndtri((1 + share) / 2) * math.sqrt((1 + 1 / x.size) * freedom / special.chdtri(freedom, confidence))
    half = float(k) * x.std(ddof=1)
    return float(x.mean() - half), float(x.mean() + half)


def share_between_extremes(runs: int, *, confidence: float = 0.95) -> float:
    """The share of all runs that lies between the lowest and the highest of `runs` runs, whatever their distribution.

    At least that share, in `confidence` of all samples: the root q of n q^(n-1) - (n-1) q^n = 1 - confidence (Wilks
    1941). 0 for a single run.
    """
    return float(special.betaincinv(runs - 1, 2, 1 - confidence)) if runs > 1 else 0.0


def superiority_interval(probability: float, n: int, m: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of the probability that a value of one sample of n lies above one of another of m.

    Newcombe 2006, "Confidence intervals for an effect size measure based on the Mann-Whitney statistic", part 2,
    method 5: like Wilson's interval of a share, so it has a width also when all of one sample lies above the other,
    where a bootstrap sees no spread. NaN with fewer than two values on a side.
    """
    if n < 2 or m < 2 or math.isnan(probability):
        return NONE
    z, others = float(special.ndtri((1 + confidence) / 2)), (n + m) / 2 - 1

    def beyond(theta: float) -> bool:
        variance = theta * (1 - theta) * (1 + others * ((1 - theta) / (2 - theta) + theta / (1 + theta))) / (n * m)
        return abs(theta - probability) > z * math.sqrt(variance)

    return _edge(beyond, 0.0, probability), _edge(beyond, 1.0, probability)


def _edge(beyond: Callable[[float], bool], outside: float, inside: float) -> float:
    """Where, between the two, `beyond` begins to hold; `outside` itself when it does not hold before."""
    for _ in range(60):
        middle = (outside + inside) / 2
        outside, inside = (middle, inside) if beyond(middle) else (outside, middle)
    return outside


def bootstrap_interval(
    statistic: Callable[[list[Array]], float],
    strata: Sequence[ArrayLike],
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[float, float]:
    """The bootstrap interval of `statistic(strata)`, resampling with replacement within each stratum.

    Its ends are percentiles, further out the smaller the strata are (`expanded_tail`). A stratum is the scores of one
    algorithm's runs in one environment. NaN when a stratum has fewer than two runs, or the statistic of a resample is
    NaN.
    """
    samples = [flat(stratum) for stratum in strata]
    if not samples or min(sample.size for sample in samples) < 2:
        return NONE
    rng = np.random.default_rng(seed)
    draws = [sample[rng.integers(sample.size, size=(resamples, sample.size))] for sample in samples]
    values = np.array([statistic([draw[i] for draw in draws]) for i in range(resamples)])
    tail = expanded_tail([sample.size for sample in samples], confidence)
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def bootstrap_mean_band(
    values: Array, *, confidence: float = 0.95, resamples: int = 500, seed: int = 0
) -> tuple[Array, Array]:
    """The bootstrap interval of the mean over axis 0 at every point; `values` is (runs, points).

    As `bootstrap_interval`; whole runs are resampled, the same ones at all points.
    """
    runs = len(values)
    picks = np.random.default_rng(seed).integers(runs, size=(resamples, runs))
    weights = np.stack([(picks == run).sum(axis=1) for run in range(runs)], axis=1) / runs
    tail = expanded_tail([runs], confidence)
    low, high = np.quantile(weights @ values, [tail, 1 - tail], axis=0)
    return low, high


def expanded_tail(sizes: Sequence[int], confidence: float) -> float:
    """The share of resamples to leave out at either end, for samples of these sizes.

    Resamples of n values have (n - 1) / n of the variance, and few values know it badly, so plain percentiles cover too
    seldom. Hesterberg 2015, "What teachers should know about the bootstrap", section 5.3: the normal distribution's
    tail beyond sqrt(n / (n - 1)) times Student's quantile; n is that of the smallest sample.
    """
    fewest = min(sizes)
    quantile = float(special.stdtrit(sum(sizes) - len(sizes), (1 + confidence) / 2))
    return float(special.ndtr(-math.sqrt(fewest / (fewest - 1)) * quantile))
