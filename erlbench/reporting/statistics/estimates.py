"""Location and spread of scores, and comparisons that are a single number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def mean(values: ArrayLike) -> float:
    """The arithmetic mean of all values; NaN for none."""
    x = flat(values)
    return float(x.mean()) if x.size else float("nan")


def std(values: ArrayLike) -> float:
    """The sample standard deviation (divided by n - 1); NaN for fewer than two values."""
    x = flat(values)
    return float(x.std(ddof=1)) if x.size > 1 else float("nan")


def mean_std(values: ArrayLike) -> tuple[float, float]:
    """Mean and sample standard deviation."""
    return mean(values), std(values)


def relative_std(values: ArrayLike) -> float:
    """The sample standard deviation as a share of the mean's size; NaN where that is 0 or there is no deviation."""
    centre = abs(mean(values))
    return std(values) / centre if centre else float("nan")


def median(values: ArrayLike) -> float:
    """The median; NaN for none."""
    x = flat(values)
    return float(np.median(x)) if x.size else float("nan")


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
        return float("nan")
    x = np.concatenate(samples)
    weights = np.concatenate([np.full(sample.size, 1 / (len(samples) * sample.size)) for sample in samples])
    order = np.argsort(x, kind="stable")
    edges = np.concatenate([[0.0], np.cumsum(weights[order])])
    cut = (x.size // 4) / x.size
    kept = np.diff(np.clip(edges, cut, 1 - cut))
    return float(x[order] @ kept / kept.sum())


def improvement(value: float, baseline: float) -> float:
    """By how many percent of the baseline's magnitude `value` lies above it; NaN for a baseline of zero."""
    return 100 * (value - baseline) / abs(baseline) if baseline else float("nan")


def probability_of_improvement(x: Sequence[ArrayLike], y: Sequence[ArrayLike]) -> float:
    """The probability that a random run of x scores above one of y (ties count half), averaged over environments.

    `x[i]` and `y[i]` are the scores of the runs in environment i; their lengths may differ (Agarwal et al. 2021).
    """
    values = []
    for a, b in zip(x, y, strict=True):
        difference = flat(a)[:, None] - flat(b)[None, :]
        values.append(np.mean((difference > 0) + 0.5 * (difference == 0)))
    return mean(values)


def performance_profile(scores: ArrayLike, thresholds: ArrayLike) -> Array:
    """The share of all scores above each threshold, of the shape of `thresholds` (run-score distribution)."""
    return np.asarray((flat(scores)[:, None] > flat(thresholds)[None, :]).mean(axis=0), dtype=np.float64)


def flat(values: ArrayLike) -> Array:
    """All values as one float64 vector."""
    return np.asarray(values, dtype=np.float64).ravel()
