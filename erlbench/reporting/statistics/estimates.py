"""Location, spread and intervals of scores, and comparisons that are a single number: functions of arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import special

Array = NDArray[np.float64]
NONE = (math.nan, math.nan)
FEWEST_RUNS = 6  # per side, for an interval or a test: below, only the scores are shown


def mean(values: ArrayLike) -> float:
    """The arithmetic mean of all values; NaN for none."""
    x = flat(values)
    return float(x.mean()) if x.size else math.nan


def std(values: ArrayLike) -> float:
    """The sample standard deviation (divided by n - 1); NaN for fewer than two values."""
    x = flat(values)
    return float(x.std(ddof=1)) if x.size > 1 else math.nan


def mean_std(values: ArrayLike) -> tuple[float, float]:
    """Mean and sample standard deviation."""
    return mean(values), std(values)


def median(values: ArrayLike) -> float:
    """The median; NaN for none."""
    x = flat(values)
    return float(np.median(x)) if x.size else math.nan


def iqm(values: ArrayLike) -> float:
    """The interquartile mean: the mean without the lowest and the highest floor(n / 4) values.

    Agarwal et al. 2021, "Deep reinforcement learning at the edge of the statistical precipice".
    """
    x = np.sort(flat(values))
    cut = x.size // 4
    return mean(x[cut : x.size - cut])


def iqm_over_environments(strata: Sequence[ArrayLike]) -> float:
    """The interquartile mean of all runs, each environment with the same weight; NaN when one has no run.

    `strata[i]` holds the scores of the runs in environment i. A run weighs 1 / (environments x runs of its
    environment), and a share floor(n / 4) / n of the weight is cut at either end. With equally many runs everywhere
    this is `iqm` of all runs, as in Agarwal et al. 2021.
    """
    samples = [flat(stratum) for stratum in strata]
    if not samples or min(sample.size for sample in samples) == 0:
        return math.nan
    x = np.concatenate(samples)
    weights = np.concatenate([np.full(sample.size, 1 / (len(samples) * sample.size)) for sample in samples])
    order = np.argsort(x, kind="stable")
    edges = np.concatenate([[0.0], np.cumsum(weights[order])])
    cut = (x.size // 4) / x.size
    kept = np.diff(np.clip(edges, cut, 1 - cut))
    return float(x[order] @ kept / kept.sum())


def improvement(value: float, baseline: float) -> float:
    """By how many percent of the baseline's magnitude `value` lies above it; NaN for a baseline of zero."""
    return 100 * (value - baseline) / abs(baseline) if baseline else math.nan


def probability_of_improvement(x: Sequence[ArrayLike], y: Sequence[ArrayLike]) -> float:
    """The probability that a random run of x scores above one of y (ties count half), averaged over environments.

    `x[i]` and `y[i]` are the scores of the runs in environment i; their lengths may differ (Agarwal et al. 2021).
    """
    gaps = [np.subtract.outer(flat(a), flat(b)) for a, b in zip(x, y, strict=True)]
    return mean([np.mean((gap > 0) + 0.5 * (gap == 0)) for gap in gaps])


def performance_profile(scores: ArrayLike, thresholds: ArrayLike) -> Array:
    """The share of all scores above each threshold, of the shape of `thresholds` (run-score distribution)."""
    return np.asarray((flat(scores)[:, None] > flat(thresholds)[None, :]).mean(axis=0), dtype=np.float64)


def flat(values: ArrayLike) -> Array:
    """All values as one float64 vector."""
    return np.asarray(values, dtype=np.float64).ravel()


def share_interval(of: int, runs: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of runs (1927); NaN without runs."""
    return tuple(scipy.stats.binomtest(of, runs).proportion_ci(method="wilson")) if runs else NONE


def mean_interval(values: ArrayLike) -> tuple[float, float]:
    """Student's 95 % interval of the mean; NaN for fewer than two values."""
    x = flat(values)
    half = special.stdtrit(x.size - 1, 0.975) * std(x) / math.sqrt(x.size) if x.size > 1 else math.nan
    return float(mean(x) - half), float(mean(x) + half)


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
    return float(mean(x) - k * std(x)), float(mean(x) + k * std(x))


def share_between_extremes(runs: int, *, confidence: float = 0.95) -> float:
    """The share of all runs that lies between the lowest and the highest of `runs` runs, whatever their distribution.

    At least that share, in `confidence` of all samples: the root q of n q^(n-1) - (n-1) q^n = 1 - confidence (Wilks
    1941). 0 for a single run.
    """
    return float(special.betaincinv(runs - 1, 2, 1 - confidence)) if runs > 1 else 0.0


def superiority_interval(probability: float, n: int, m: int) -> tuple[float, float]:
    """The 95 % interval of the probability that a value of one sample of n lies above one of another of m.

    Newcombe 2006, "Confidence intervals for an effect size measure based on the Mann-Whitney statistic", part 2,
    method 5: like Wilson's interval of a share, so it has a width also when all of one sample lies above the other,
    where a bootstrap sees no spread. NaN with fewer than two values on a side.
    """
    if n < 2 or m < 2 or math.isnan(probability):
        return NONE

    def beyond(theta: float) -> float:
        """How far `theta` lies from the probability, less what the interval allows."""
        more = ((n + m) / 2 - 1) * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        allowed = special.ndtri(0.975) * math.sqrt(theta * (1 - theta) * (1 + more) / (n * m))
        return float(abs(theta - probability) - allowed)

    inside = min(max(probability, 1e-12), 1 - 1e-12)
    low = scipy.optimize.brentq(beyond, 0.0, inside, xtol=1e-15) if probability > 0 else 0.0
    high = scipy.optimize.brentq(beyond, inside, 1.0, xtol=1e-15) if probability < 1 else 1.0
    return low, high


def bootstrap_interval(
    statistic: Callable[[list[Array]], float], strata: Sequence[ArrayLike], *, resamples: int = 1000, seed: int = 0
) -> tuple[float, float]:
    """The 95 % bootstrap interval of `statistic(strata)`, resampling with replacement within each stratum.

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
    tail = expanded_tail([sample.size for sample in samples])
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def bootstrap_mean_band(values: Array, *, resamples: int = 500, seed: int = 0) -> tuple[Array, Array]:
    """The bootstrap interval of the mean over axis 0 at every point; `values` is (runs, points).

    As `bootstrap_interval`; whole runs are resampled, the same ones at all points.
    """
    runs = len(values)
    picks = np.random.default_rng(seed).integers(runs, size=(resamples, runs))
    weights = np.stack([(picks == run).sum(axis=1) for run in range(runs)], axis=1) / runs
    tail = expanded_tail([runs])
    low, high = np.quantile(weights @ values, [tail, 1 - tail], axis=0)
    return low, high


def expanded_tail(sizes: Sequence[int]) -> float:
    """The share of resamples to leave out at either end, for samples of these sizes and 95 % confidence.

    Resamples of n values have (n - 1) / n of the variance, and few values know it badly, so plain percentiles cover too
    seldom. Hesterberg 2015, "What teachers should know about the bootstrap", section 5.3: the normal distribution's
    tail beyond sqrt(n / (n - 1)) times Student's quantile; n is that of the smallest sample.
    """
    fewest = min(sizes)
    quantile = special.stdtrit(sum(sizes) - len(sizes), 0.975)
    return float(special.ndtr(-math.sqrt(fewest / (fewest - 1)) * quantile))
