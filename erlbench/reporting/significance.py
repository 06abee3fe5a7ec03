"""The difference of two samples of runs: interval, test, effect sizes, power, the correction for many tests, the rule.

The rule takes scores of two algorithms to one of six cases; docs/how-we-decide.md has it for readers. Power is Welch's;
for the test of the ranks it is an approximation, with `RANK_EFFICIENCY` of the runs.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from erlbench.reporting.statistics import (
    FEWEST_RUNS,
    NO_INTERVAL,
    Array,
    dense_ranks,
    flat,
    mean,
    probability_of_improvement,
    std,
    superiority_interval,
)

LEVEL = 0.05  # of all comparisons of a family
LEVELS = ((10, 0.025), (FEWEST_RUNS, 0.015))  # from so many runs on the smaller side on: the largest p that decides
MARGIN = 0.1  # of the way from a random policy to the second algorithm: smaller differences of means decide nothing
POWER = 0.8
RANK_EFFICIENCY = 3 / math.pi  # of the ranks' test, in runs of Welch's: asymptotic, for normal scores
MOST_SEEDS = 8192
FEWEST_ALIKE = 20  # seeds per side that can show that two are equivalent: fewer may miss that some runs fail
FAR = 2.0  # margins from its side's mean, where a run has fallen into another group

Outcome = dict[str, Any]  # the values of `compare`
Effect = tuple[float, float, float]  # value, low, high
UNKNOWN: Effect = (math.nan, math.nan, math.nan)
Moments = tuple[float, float, int]  # mean, sample standard deviation, runs


class Case(StrEnum):
    """What is known of two algorithms."""

    DECIDED = "decided"
    RANKS = "ranks alone"  # they differ, and the means by less than the margin, or in the other direction
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"
    TOO_FEW = "too few"
    NOT_COMPARABLE = "not comparable"


def compare(x: ArrayLike, y: ArrayLike, p_rank: float | None = None) -> Outcome:
    """How the runs of x differ from the runs of y; below `FEWEST_RUNS` a side only by their means.

    `difference` of the means with Welch's 95 % interval; `p_rank` of `rank_test`, unless it is given, not corrected,
    and the largest p that decides (`level`); `probability_better`, that a run of x scores above one of y, with
    Newcombe's 95 % interval; and `gain`, the difference of the means in the direction in which the ranks differ.
    """
    a, b = flat(x), flat(y)
    enough = min(a.size, b.size) >= FEWEST_RUNS
    difference, low, high = mean_difference(a, b)
    probability = probability_of_improvement([a], [b]) if enough else math.nan
    below, above = superiority_interval(probability, (a.size, b.size))
    return {
        "n": a.size, "n_against": b.size, "std": std(a), "std_against": std(b), "difference": difference,
        "difference_low": low, "difference_high": high, "p_rank": rank_test(a, b) if p_rank is None else p_rank,
        "level": rank_level(a.size, b.size), "probability_better": probability, "probability_low": below,
        "probability_high": above, "gain": difference if probability > 0.5 else -difference,
    }  # fmt: skip


def mean_difference(x: ArrayLike, y: ArrayLike) -> Effect:
    """The mean of x minus the mean of y, with Welch's 95 % interval from `FEWEST_RUNS` a side on."""
    return _difference(_moments(x), _moments(y))


def percent_more(x: ArrayLike, y: ArrayLike) -> Effect:
    """By how many percent of the mean of y the mean of x is above it, with Welch's interval of the logarithm.

    The standard error of the logarithm of a mean is the mean's standard error divided by the mean (delta method). NaN
    unless both means are above 0.
    """
    sides = _moments(x), _moments(y)
    if not all(centre > 0 for centre, _, _ in sides):
        return UNKNOWN
    value, low, high = _difference(*((math.log(centre), spread / centre, runs) for centre, spread, runs in sides))
    return 100 * (math.exp(value) - 1), 100 * (math.exp(low) - 1), 100 * (math.exp(high) - 1)


def _moments(scores: ArrayLike) -> Moments:
    return mean(scores), std(scores), flat(scores).size


def _difference(first: Moments, second: Moments) -> Effect:
    gap = first[0] - second[0]
    if min(first[2], second[2]) < FEWEST_RUNS:
        return gap, *NO_INTERVAL
    error, freedom = welch_error(*first[1:], *second[1:])
    half = float(special.stdtrit(freedom, 0.975)) * error if error else 0.0
    return gap, gap - half, gap + half


def welch_error(std_x: float, n: float, std_y: float, m: float) -> tuple[float, float]:
    """The standard error of a difference of means, and Satterthwaite's degrees of freedom; NaN below two runs."""
    if min(n, m) < 2:
        return NO_INTERVAL
    vx, vy = std_x**2 / n, std_y**2 / m
    if vx + vy == 0:
        return 0.0, math.nan
    return math.sqrt(vx + vy), (vx + vy) ** 2 / (vx**2 / (n - 1) + vy**2 / (m - 1))


def rank_test(x: ArrayLike, y: ArrayLike) -> float:
    """The two-sided p-value of a test of whether runs of one side mostly score above the other's; NaN for too few runs.

    The larger one of two. Mann and Whitney's is exact for equal distributions where no two scores are equal, but also
    finds unequal spreads. Brunner and Munzel's (2000) finds P(better) alone, but promises too much with few runs; it
    has no p where one side is above the other, which is exact with ties, too.
    """
    return float(rank_tests([(x, y)])[0])


def rank_tests(pairs: Sequence[tuple[ArrayLike, ArrayLike]]) -> Array:
    """`rank_test` of each pair (pairs,); those of the same numbers of runs in one call of scipy."""
    p_values, alike = np.full(len(pairs), math.nan), dict[tuple[int, int, str], list[int]]()
    ranks = [dense_ranks(x, y) for x, y in pairs]
    for index, (a, b) in enumerate(ranks):
        if min(a.size, b.size) < FEWEST_RUNS:
            continue
        values = len(np.unique(np.concatenate([a, b])))
        if a.max() < b.min() or b.max() < a.min():
            p_values[index] = least_p(a.size, b.size)
        elif values == 1:
            p_values[index] = 1.0
        else:
            method = "asymptotic" if values < a.size + b.size else "exact"
            alike.setdefault((a.size, b.size, method), []).append(index)
    for (_, _, method), indices in alike.items():
        a, b = (np.stack([ranks[index][side] for index in indices]) for side in (0, 1))
        by_distribution = scipy.stats.mannwhitneyu(a, b, method=method, axis=1).pvalue
        p_values[indices] = np.fmax(by_distribution, scipy.stats.brunnermunzel(a, b, axis=1).pvalue)
    return p_values


def rank_level(n: int, m: int) -> float:
    """The largest p of `rank_test` that decides one comparison of n and m runs; NaN: too few for a test.

    Lower than `LEVEL`, because both tests promise too much with few runs and unequal spreads
    (tests/audit/verdict_rates.py has the error rates).
    """
    return next((level for fewest, level in LEVELS if min(n, m) >= fewest), math.nan)


def level_words() -> str:
    """The levels for notes."""
    return ", ".join(f"{level:g} from {fewest} seeds on" for fewest, level in reversed(LEVELS))


@cache
def least_p(n: int, m: int) -> float:
    """The smallest p of `rank_test` of n and m runs: where all runs of one side score above all of the other."""
    return 2 / math.comb(n + m, n)


def holm(p_values: Sequence[float], levels: Sequence[float] | None = None) -> Array:
    """Holm's step-down adjusted p-values, in the order given; NaN (not tested) stays NaN and is not counted.

    With `levels`, one for each p, they are ordered by p relative to its level, and the result of each is to be compared
    with its own level. The first step decides nothing unless some p is at most its level / k, k the number of p-values
    (Bonferroni's inequality for unequal levels); the later steps are Holm's.
    """
    p = flat(p_values)
    scale = np.ones(p.size) if levels is None else flat(levels)
    order = np.argsort(p / scale, kind="stable")[: p.size - int(np.isnan(p).sum())]
    highest = np.maximum.accumulate(np.arange(len(order), 0, -1) * p[order] / scale[order])
    adjusted = np.full(p.size, math.nan)
    adjusted[order] = np.minimum(1.0, highest * scale[order])
    return adjusted


def welch_power(difference: float, std_x: float, std_y: float, n: float, m: float, *, level: float) -> float:
    """The probability that Welch's two-sided test of n against m runs is significant at `level`.

    `difference` is between the true means, the standard deviations are the true ones. By the noncentral t
    distribution with Satterthwaite's degrees of freedom, which is exact for equal n and spread. NaN with fewer than
    two runs a side.
    """
    error, freedom = welch_error(std_x, n, std_y, m)
    if error == 0:
        return 1.0 if difference else level
    if math.isnan(error):
        return math.nan
    critical, shift = special.stdtrit(freedom, 1 - level / 2), abs(difference) / error
    if shift > 35 + critical:  # beyond what the distribution's function resolves
        return 1.0
    wrong_side = special.nctdtr(freedom, shift, -critical) if shift < 4 else 0.0  # below 1e-8, where scipy may give NaN
    return float(1 - special.nctdtr(freedom, shift, critical) + wrong_side)


def smallest_difference(std_x: float, std_y: float, n: float, m: float, *, level: float) -> float:
    """The difference of the true means that Welch's test would show with `POWER`; NaN where undefined."""
    error, _ = welch_error(std_x, n, std_y, m)
    if not 0 < error < math.inf:
        return math.nan

    def lacking(shift: float) -> float:
        return welch_power(shift * error, std_x, std_y, n, m, level=level) - POWER

    return float(scipy.optimize.brentq(lacking, 0.0, 1000.0, xtol=1e-13)) * error


def std_upper_limit(std: float, n: int) -> float:
    """The value that the true standard deviation does not exceed with 80 % confidence, after a sample of n runs.

    A pilot's standard deviation is too small in half of all pilots; Browne 1995, "On the use of a pilot sample
    for sample size determination", takes this limit. NaN for fewer than two runs.
    """
    return std * math.sqrt((n - 1) / float(special.chdtri(n - 1, 0.8))) if n > 1 else math.nan


def detectable(std_x: float, std_y: float, n: int, m: int, *, level: float) -> float:
    """The smallest difference that the ranks' test shows with `POWER`, if normal runs spread up to the limits.

    By the upper limits of the standard deviations: a sample's is too small in half of all cases, and by far with few
    runs. NaN where undefined.
    """
    limits = std_upper_limit(std_x, n), std_upper_limit(std_y, m)
    return smallest_difference(*limits, RANK_EFFICIENCY * n, RANK_EFFICIENCY * m, level=level)


def fewest_seeds(enough: Callable[[int], bool]) -> int | None:
    """The smallest n from 2 to `MOST_SEEDS` that is enough; so is every larger n."""
    n = bisect_left(range(MOST_SEEDS + 1), True, lo=2, key=enough)
    return n if n <= MOST_SEEDS else None


def seeds_for_tests(tests: int) -> int | None:
    """The fewest seeds per side with which one of so many comparisons can be decided."""
    return fewest_seeds(lambda n: tests * least_p(n, n) <= rank_level(n, n))


def unseen_failures(seeds: int) -> float:
    """The largest share of failing runs of which so many seeds show none in 5 of 100 studies."""
    return float(1 - LEVEL ** (1 / seeds))


def judge(x: Array, y: Array, comparison: Outcome, *, p: float, tests: int = 1, origin: float = 0.0) -> Outcome:
    """The ruling on two samples of scores, one a seed, both (seeds,); `comparison` is their `compare`.

    `p` is corrected for all `tests` of the family. `margin`, in units of the score, is a share of the way from
    `origin`, the score of a random policy, to the mean of y. `least_p` is the smallest corrected p that so many seeds
    and tests can have; `seeds_missing` per side for a test, or to find a difference of one margin (None: beyond
    counting); `detectable_difference` NaN where such runs can show none.
    """
    tests, margin = max(1, tests), MARGIN * abs(mean(y) - origin)
    n, m, level, high = (comparison[name] for name in ("n", "n_against", "level", "difference_high"))
    few, sizes = min(n, m), (comparison["std"], comparison["std_against"], n, m)
    missing: int | None = 0
    if few < FEWEST_RUNS:
        case, missing = Case.TOO_FEW, FEWEST_RUNS - few
    elif p <= level and math.isfinite(high):
        case = Case.DECIDED if comparison["gain"] >= margin else Case.RANKS
    elif equivalent(x, y, level=LEVEL / tests, origin=origin):
        case = Case.EQUIVALENT
    else:
        case, missing = Case.UNDECIDED, _missing(*sizes, margin, tests)
    least = tests * least_p(n, m)
    return {
        "case": case,
        "p_holm": p,
        "tests": tests,
        "margin": margin,
        "seeds_missing": missing,
        "least_p": least,
        "decidable": least <= level,
        "detectable_difference": detectable(*sizes, level=level / tests) if least <= level else math.nan,
    }


def equivalent(x: Array, y: Array, *, level: float, origin: float) -> bool:
    """Whether the mean of x lies surely within the margin of the mean of y: two one-sided tests, each at level / 2.

    The margin is a share of the second mean, which is no constant, so each test is one of mean(x) - k mean(y)
    (Sasabuchi 1988). Not said below `FEWEST_ALIKE` seeds, nor where a run has fallen far from the others of its side.
    """
    a, b = flat(x) - origin, flat(y) - origin
    width = MARGIN * abs(mean(b))
    fallen = any(np.abs(side - side.mean()).max() > FAR * width for side in (a, b))
    if min(a.size, b.size) < FEWEST_ALIKE or fallen or not width > 0:
        return False
    a, b = a * np.sign(b.mean()), b * np.sign(b.mean())
    p_values = []
    for upper, lower in ((a, (1 - MARGIN) * b), ((1 + MARGIN) * b, a)):
        error, freedom = welch_error(std(upper), upper.size, std(lower), lower.size)
        gap = mean(upper) - mean(lower)
        p_values.append(float(special.stdtr(freedom, -gap / error)) if error > 0 else float(gap <= 0))
    return max(p_values) < level / 2


def _missing(std_x: float, std_y: float, n: int, m: int, width: float, tests: int) -> int | None:
    """Seeds per side that are missing to find a difference of `width`, by the upper limits of the spreads."""
    limits = std_upper_limit(std_x, n), std_upper_limit(std_y, m)

    def enough(seeds: int) -> bool:
        runs, level = RANK_EFFICIENCY * seeds, rank_level(seeds, seeds)
        return tests * least_p(seeds, seeds) <= level and (
            not (width > 0 and max(limits) > 0) or welch_power(width, *limits, runs, runs, level=level / tests) >= POWER
        )

    needed = fewest_seeds(enough)
    return None if needed is None else max(0, needed - min(n, m))
