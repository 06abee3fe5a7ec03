"""What a test of two means can find: its power, the smallest difference it would show, the seeds that one needs.

All is of Welch's test. For the test of the ranks it is an approximation, with `RANK_EFFICIENCY` of the runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy import special

POWER = 0.8
RANK_EFFICIENCY = 3 / math.pi  # of the ranks' test, in runs of Welch's: asymptotic, for normal scores
MOST_SEEDS = 10_000


def welch_power(difference: float, std_x: float, std_y: float, n: float, m: float, *, level: float = 0.05) -> float:
    """The probability that Welch's two-sided test of n against m runs is significant at `level`.

    `difference` is that of the true means, the standard deviations are the true ones. By the noncentral t
    distribution with Satterthwaite's degrees of freedom, which is exact for equal n and spread. NaN with fewer than
    two runs a side.
    """
    if n < 2 or m < 2 or math.isnan(std_x + std_y):
        return float("nan")
    vx, vy = std_x**2 / n, std_y**2 / m
    if vx + vy == 0:
        return 1.0 if difference else level
    freedom = (vx + vy) ** 2 / (vx**2 / (n - 1) + vy**2 / (m - 1))
    critical = special.stdtrit(freedom, 1 - level / 2)
    shift = abs(difference) / math.sqrt(vx + vy)
    if shift > 35 + critical:  # beyond what the distribution's function resolves
        return 1.0
    wrong_side = special.nctdtr(freedom, shift, -critical) if shift < 4 else 0.0  # below 1e-8, where scipy may give NaN
    return float(1 - special.nctdtr(freedom, shift, critical) + wrong_side)


def smallest_difference(
    std_x: float, std_y: float, n: float, m: float, *, level: float = 0.05, power: float = POWER
) -> float:
    """The difference of the true means that the test would show with `power`; NaN where it cannot be said."""
    error = math.sqrt(std_x**2 / n + std_y**2 / m) if n > 1 and m > 1 else float("nan")
    if not 0 < error < math.inf:
        return float("nan")

    def enough(shift: float) -> bool:
        return welch_power(shift * error, std_x, std_y, n, m, level=level) >= power

    high = 1.0
    while not enough(high):
        high *= 2
    low = high / 2 if high > 1 else 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high * error


def std_upper_limit(std: float, n: int, *, confidence: float = 0.8) -> float:
    """The value that the true standard deviation does not exceed with `confidence`, after a sample of n runs.

    A pilot's own standard deviation is too small in half of all pilots; Browne 1995, "On the use of a pilot sample
    for sample size determination", takes this limit. NaN for fewer than two runs.
    """
    return std * math.sqrt((n - 1) / float(special.chdtri(n - 1, confidence))) if n > 1 else float("nan")


def detectable(std_x: float, std_y: float, n: int, m: int, *, level: float = 0.05) -> float:
    """The smallest difference that the ranks' test shows with `POWER`, if normal runs spread as far as they may.

    By the upper limits of the standard deviations: the samples' own ones are too small in half of all cases, and with
    few runs by far. NaN where it cannot be said.
    """
    limits = std_upper_limit(std_x, n), std_upper_limit(std_y, m)
    return smallest_difference(*limits, RANK_EFFICIENCY * n, RANK_EFFICIENCY * m, level=level)


def fewest_seeds(enough: Callable[[int], bool]) -> int | None:
    """The smallest n from 2 to `MOST_SEEDS` that is enough; more are enough, too."""
    high = 2
    while not enough(high):
        high *= 2
        if high > MOST_SEEDS:
            return None
    low = max(1, high // 2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
