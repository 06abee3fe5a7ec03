"""The size of a difference between two samples of runs: (value, low, high), with a 95 % interval from six runs on."""

from __future__ import annotations

import math
from collections.abc import Callable

from numpy.typing import ArrayLike

from erlbench.reporting.statistics.intervals import FEWEST_RUNS
from erlbench.reporting.statistics.significance import Summary

Effect = tuple[float, float, float]
UNKNOWN: Effect = (math.nan, math.nan, math.nan)


def mean_difference(x: ArrayLike, y: ArrayLike) -> Effect:
    """The mean of x minus that of y, with Welch's interval."""
    return _without_early_interval(Summary.of(x), Summary.of(y), lambda value: value)


def mean_ratio(x: ArrayLike, y: ArrayLike) -> Effect:
    """The mean of x divided by that of y, with Welch's interval of its logarithm; NaN unless both means are above 0.

    The standard error of the logarithm of a mean is that of the mean divided by the mean (delta method).
    """
    sides = Summary.of(x), Summary.of(y)
    if not all(side.mean > 0 for side in sides):
        return UNKNOWN
    one, two = (Summary(math.log(side.mean), side.std / side.mean, side.runs) for side in sides)
    return _without_early_interval(one, two, math.exp)


def percent_less(x: ArrayLike, y: ArrayLike) -> Effect:
    """By how many percent of the mean of y the mean of x is below it."""
    value, low, high = mean_ratio(x, y)
    return 100 * (1 - value), 100 * (1 - high), 100 * (1 - low)


def percent_more(x: ArrayLike, y: ArrayLike) -> Effect:
    """By how many percent of the mean of y the mean of x is above it."""
    value, low, high = mean_ratio(x, y)
    return 100 * (value - 1), 100 * (low - 1), 100 * (high - 1)


def _without_early_interval(x: Summary, y: Summary, back: Callable[[float], float]) -> Effect:
    value, low, high = x.minus(y)
    if min(x.runs, y.runs) < FEWEST_RUNS:
        low = high = math.nan
    return back(value), back(low), back(high)
