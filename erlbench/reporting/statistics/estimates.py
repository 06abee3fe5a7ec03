"""Statistics of scores as pure functions of arrays: location, spread, bootstrap intervals, comparisons."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def mean(values: ArrayLike) -> float:
    """The arithmetic mean of all values; NaN for none."""
    x = _flat(values)
    return float(x.mean()) if x.size else float("nan")


def std(values: ArrayLike) -> float:
    """The sample standard deviation (divided by n - 1); NaN for fewer than two values."""
    x = _flat(values)
    return float(x.std(ddof=1)) if x.size > 1 else float("nan")


def median(values: ArrayLike) -> float:
    """The median; NaN for none."""
    x = _flat(values)
    return float(np.median(x)) if x.size else float("nan")


def iqm(values: ArrayLike) -> float:
    """The interquartile mean: the mean without the lowest and the highest floor(n / 4) values.

    Agarwal et al. 2021, "Deep reinforcement learning at the edge of the statistical precipice".
    """
    x = np.sort(_flat(values))
    cut = x.size // 4
    return mean(x[cut : x.size - cut])


def improvement(value: float, baseline: float) -> float:
    """By how many percent of the baseline's magnitude `value` lies above it; NaN for a baseline of zero."""
    return 100 * (value - baseline) / abs(baseline) if baseline else float("nan")


def probability_of_improvement(x: Sequence[ArrayLike], y: Sequence[ArrayLike]) -> float:
    """The probability that a random run of x scores above one of y (ties count half), averaged over environments.

    `x[i]` and `y[i]` are the scores of the runs in environment i; their lengths may differ (Agarwal et al. 2021).
    """
    values = []
    for a, b in zip(x, y, strict=True):
        difference = _flat(a)[:, None] - _flat(b)[None, :]
        values.append(np.mean((difference > 0) + 0.5 * (difference == 0)))
    return mean(values)


def performance_profile(scores: ArrayLike, thresholds: ArrayLike) -> Array:
    """The share of all scores above each threshold, of the shape of `thresholds` (run-score distribution)."""
    return np.asarray((_flat(scores)[:, None] > _flat(thresholds)[None, :]).mean(axis=0), dtype=np.float64)


def bootstrap_interval(
    statistic: Callable[[list[Array]], float],
    strata: Sequence[ArrayLike],
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[float, float]:
    """The percentile bootstrap interval of `statistic(strata)`, resampling with replacement within each stratum.

    A stratum is the scores of one algorithm's runs in one environment. NaN when a stratum has fewer than two runs.
    """
    samples = [_flat(stratum) for stratum in strata]
    if not samples or min(sample.size for sample in samples) < 2:
        return float("nan"), float("nan")
    rng = np.random.default_rng(seed)
    draws = [sample[rng.integers(sample.size, size=(resamples, sample.size))] for sample in samples]
    values = np.array([statistic([draw[i] for draw in draws]) for i in range(resamples)])
    tail = 50 * (1 - confidence)
    low, high = np.percentile(values, [tail, 100 - tail])
    return float(low), float(high)


def bootstrap_mean_band(
    values: Array, *, confidence: float = 0.95, resamples: int = 500, seed: int = 0
) -> tuple[Array, Array]:
    """The percentile bootstrap interval of the mean over axis 0 at every point; `values` is (runs, points).

    Whole runs are resampled, the same ones at all points.
    """
    runs = len(values)
    picks = np.random.default_rng(seed).integers(runs, size=(resamples, runs))
    weights = np.stack([(picks == run).sum(axis=1) for run in range(runs)], axis=1) / runs
    tail = 50 * (1 - confidence)
    low, high = np.percentile(weights @ values, [tail, 100 - tail], axis=0)
    return low, high


def _flat(values: ArrayLike) -> Array:
    return np.asarray(values, dtype=np.float64).ravel()
