"""Group-sequential tests: after how many seeds to look, and which p-value stops so that all looks keep the level.

Lan and DeMets 1983, "Discrete sequential boundaries for clinical trials", with two-sided symmetric boundaries, by the
recursion of Armitage, McPherson and Rowe 1969. The boundaries are those of normal statistics; they are applied to the
p-values of Welch's test (Jennison and Turnbull 2000, section 4.4: the significance level approach).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy import special

from erlbench.reporting.statistics.estimates import Array

NODES = 400  # of the quadrature


def obrien_fleming(fraction: float, level: float) -> float:
    """The level spent after a fraction of the seeds: little early, so that the last test is nearly an ordinary one."""
    return float(4 * special.ndtr(-special.ndtri(1 - level / 4) / math.sqrt(fraction)))


def pocock(fraction: float, level: float) -> float:
    """The level spent after a fraction of the seeds: much early, for studies that hope to stop soon."""
    return level * math.log(1 + (math.e - 1) * fraction)


SPENDING: dict[str, Callable[[float, float], float]] = {"obrien-fleming": obrien_fleming, "pocock": pocock}


@dataclass(frozen=True)
class Design:
    """The looks of a sequential test: after so many seeds a side, and the largest p-value that stops there."""

    looks: tuple[int, ...]
    z: tuple[float, ...]

    @property
    def p(self) -> tuple[float, ...]:
        """The nominal two-sided p-values of the looks."""
        return tuple(float(2 * special.ndtr(-z)) for z in self.z)

    def stopping(self, drift: float) -> list[float]:
        """The probability to stop with a significant result at each look.

        `drift` is the expected statistic at the last look: the difference divided by its standard error there.
        """
        _, crossed = _recursion(self.looks, lambda k, tail: self.z[k], drift)
        return crossed


def design(looks: Sequence[int], level: float, spending: str = "obrien-fleming") -> Design:
    """The boundaries for looks after these numbers of seeds, increasing; `level` is that of all looks together."""
    spend = SPENDING[spending]
    spent = [0.0, *(spend(n / looks[-1], level) for n in looks)]

    def boundary(k: int, tail: Callable[[float], float]) -> float:
        wanted, low, high = spent[k + 1] - spent[k], 0.0, 40.0
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if tail(middle) > wanted else (low, middle)
        return (low + high) / 2

    z, _ = _recursion(looks, boundary, 0.0)
    return Design(tuple(looks), tuple(z))


@cache
def _designed(looks: tuple[int, ...], level: float, spending: str) -> Design:
    return design(looks, level, spending)


@dataclass(frozen=True)
class LookVerdict:
    """A comparison at one look: the largest p-value that stops there, and whether the study stops or has stopped."""

    boundary: float
    stops: bool
    stopped: bool  # at an earlier look; then nothing is tested any more


def verdicts(
    looks: Sequence[int], p_values: Sequence[Sequence[float]], level: float, spending: str, *, holm: bool = True
) -> list[list[LookVerdict]]:
    """What each look (of those that were reached) says of each comparison; `p_values[look][comparison]`.

    Holm's correction at each look: of k comparisons that have not stopped, the smallest p-value is tested by the
    boundary for level / k, the next one, if that stops, for level / (k - 1), and so on (Ye et al. 2013, "A group
    sequential Holm procedure with multiple primary endpoints"). Without it each is tested at the whole level. A NaN
    stops nothing.
    """
    stopped: set[int] = set()
    found = []
    for look, row in enumerate(p_values):
        order = sorted((i for i in range(len(row)) if i not in stopped), key=lambda i: (math.isnan(row[i]), row[i]))
        boundaries, stops, goes_on = dict.fromkeys(stopped, float("nan")), set[int](), True
        for rank, i in enumerate(order):
            boundaries[i] = _designed(tuple(looks), level / (len(order) - rank) if holm else level, spending).p[look]
            goes_on = goes_on and row[i] <= boundaries[i] if holm else row[i] <= boundaries[i]
            stops |= {i} if goes_on else set()
        found.append([LookVerdict(boundaries[i], i in stops, i in stopped) for i in range(len(row))])
        stopped |= stops
    return found


def _recursion(
    looks: Sequence[int], boundary: Callable[[int, Callable[[float], float]], float], drift: float
) -> tuple[list[float], list[float]]:
    """Boundaries and probabilities of crossing look by look, of a Brownian motion with a drift at times n / last n.

    `boundary(k, tail)` gives the k-th boundary of Z; `tail(z)` is the probability to be beyond it, but not before.
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    x, density, before = np.zeros(1), np.ones(1), 0.0  # density holds the weights of the quadrature
    z_values, crossed = [], []
    for k, n in enumerate(looks):
        time = n / looks[-1]
        step, moved = math.sqrt(time - before), x + drift * (time - before)

        tail = partial(_beyond, time, step, moved, density)
        z = boundary(k, tail)
        z_values.append(z)
        crossed.append(tail(z))
        edge = z * math.sqrt(time)
        y = edge * nodes
        kernel = np.exp(-0.5 * ((y[:, None] - moved[None, :]) / step) ** 2) / (step * math.sqrt(2 * math.pi))
        x, density, before = y, (kernel @ density) * weights * edge, time
    return z_values, crossed


def _beyond(time: float, step: float, moved: Array, held: Array, z: float) -> float:
    """The probability that |Z| exceeds z at a time, of the paths whose next value has the means `moved`."""
    edge = z * math.sqrt(time)
    return float((special.ndtr((moved - edge) / step) + special.ndtr((-edge - moved) / step)) @ held)
