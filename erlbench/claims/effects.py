"""The effect of a part with its interval, for each measure of claims: (effect, low, high), NaN where unknown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from erlbench.claims.evidence import SideReading
from erlbench.experiment.claims import DIFFERENCE, DIVERSITY, RATIO, SHARES, SPREAD
from erlbench.playing.behaviour import diversity_difference
from erlbench.reporting.statistics.estimates import Array, relative_std
from erlbench.reporting.statistics.intervals import bootstrap_interval, share_difference, share_interval
from erlbench.reporting.statistics.significance import Summary

RESAMPLES = 10_000  # of a spread; its interval is that of a few tests at once
UNKNOWN = (math.nan,) * 3
Effect = tuple[float, float, float]


def difference(first: SideReading, second: SideReading, confidence: float) -> Effect:
    """Of the means, with Welch's interval; of a mean and a number, with Student's."""
    if first.summary is not None and second.summary is not None:
        return first.summary.minus(second.summary, confidence)
    sample = first.summary or second.summary
    assert sample is not None
    from scipy import special

    half = float(special.stdtrit(sample.runs - 1, (1 + confidence) / 2)) * sample.std / math.sqrt(sample.runs)
    gap = first.middle - second.middle
    return gap, gap - half, gap + half


def spread(first: SideReading, second: SideReading, confidence: float) -> Effect:
    """The difference of std / mean, with its bootstrap interval."""
    if first.scores is None or second.scores is None:
        return UNKNOWN

    def gap(sides: list[Array]) -> float:
        one, two = map(relative_std, sides)
        return one - two

    samples = [np.asarray(first.scores), np.asarray(second.scores)]
    low, high = bootstrap_interval(gap, samples, confidence=confidence, resamples=RESAMPLES)
    return gap(samples), low, high


def ratio(first: SideReading, second: SideReading, confidence: float) -> Effect:
    """The ratio of the geometric means, with Welch's interval of the logarithms; all values must be above zero."""
    logarithms = []
    for side in (first, second):
        if side.scores is None or not (np.isfinite(side.scores) & (side.scores > 0)).all():
            return UNKNOWN
        logarithms.append(Summary.of(np.log(side.scores)))
    effect, low, high = logarithms[0].minus(logarithms[1], confidence)
    return math.exp(effect), math.exp(low), math.exp(high)


def shares(first: SideReading, second: SideReading, confidence: float) -> Effect:
    """The difference of two shares of runs, with Newcombe's interval; of a share and a number, with Wilson's."""
    gap = first.middle - second.middle
    if first.scores is not None and second.scores is not None:
        (one, of_one), (two, of_two) = _counted(first.scores), _counted(second.scores)
        return gap, *share_difference((one, two), (of_one, of_two), confidence=confidence)
    if first.scores is not None:
        low, high = share_interval(*_counted(first.scores), confidence=confidence)
        return gap, low - second.middle, high - second.middle
    if second.scores is not None:
        low, high = share_interval(*_counted(second.scores), confidence=confidence)
        return gap, first.middle - high, first.middle - low
    return UNKNOWN


def diversity(first: SideReading, second: SideReading, confidence: float) -> Effect:
    """The difference of the mean distances within each side, with a bootstrap interval over policies."""
    if first.apart is None or second.apart is None:
        return UNKNOWN
    runs = first.runs, first.runs + second.runs
    apart = np.zeros((runs[1], runs[1]))  # distances between the sides do not count
    apart[: runs[0], : runs[0]], apart[runs[0] :, runs[0] :] = first.apart, second.apart
    gap, (low, high) = diversity_difference(apart, range(runs[0]), range(*runs), confidence)
    return gap, low, high


def _counted(scores: Array) -> tuple[int, int]:
    """Runs that count, and all."""
    return round(float(scores.sum())), len(scores)


EFFECTS: Mapping[str, Callable[[SideReading, SideReading, float], Effect]] = {
    DIFFERENCE: difference, SPREAD: spread, RATIO: ratio, SHARES: shares, DIVERSITY: diversity,
}  # fmt: skip
