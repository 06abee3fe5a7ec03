"""The diagonal Gaussian search distribution of the cross-entropy method, and what ranks its samples.

Pourchot and Sigaud, "CEM-RL: Combining evolutionary and gradient-based methods for policy search", ICLR 2019,
section 2.2 and eq. 1 to 3. The driver keeps mean and variance in float64; the store holds float32 copies of mean and
standard deviation, of which individuals are `Perturbed` references. So no sample is ever sent: whoever needs one
draws its noise again from its key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from erlbench.work.seeding import Key
from erlbench.work.tasks import ArrayRef, Perturbed

PARAMETERS_AT_ONCE = 8192  # parameters that are taken at once: small enough for the cache
LOG, EQUAL, RANKS = "log", "equal", "ranks"
RECOMBINATIONS = (LOG, EQUAL, RANKS)


@dataclass
class SearchDistribution:
    """N(mean, diag(variance)): `(P,)` float64 arrays, and the references to their shared float32 copies."""

    mean: np.ndarray
    variance: np.ndarray
    mean_ref: ArrayRef
    std_ref: ArrayRef

    @classmethod
    def create(
        cls, mean: np.ndarray, variance: np.ndarray | float, share: Callable[[np.ndarray], ArrayRef]
    ) -> SearchDistribution:
        """The distribution with its copies put into the store by `share` (`Algorithm.share`)."""
        mean = np.array(mean, np.float64)
        variance = np.array(np.broadcast_to(variance, mean.shape), np.float64)
        std = np.sqrt(variance).astype(np.float32)
        return cls(mean, variance, share(mean.astype(np.float32)), share(std))

    def moved(
        self, mean: np.ndarray, variance: np.ndarray, share: Callable[[np.ndarray], ArrayRef]
    ) -> SearchDistribution:
        """The next distribution; what is the same array as before is not shared anew."""
        mean_ref, std_ref = self.mean_ref, self.std_ref
        if mean is not self.mean:
            mean_ref = share(mean.astype(np.float32))
        if variance is not self.variance:
            std_ref = share(np.sqrt(variance).astype(np.float32))
        return SearchDistribution(mean, variance, mean_ref, std_ref)

    def sample(self, key: Key, sign: int = 1) -> Perturbed:
        """The individual mean + sign * std * e with e ~ N(0, I) of `key`."""
        return Perturbed(self.mean_ref, self.std_ref, key, sign)

    def population(self, size: int, antithetic: bool, key: Callable[[int], Key]) -> list[Perturbed]:
        """`size` individuals, drawn from `key(0)`, `key(1)`, ...

        Antithetic: the second half has the first half's noise with the other sign, e_{size/2 + i} = -e_i.
        """
        if not antithetic:
            return [self.sample(key(index)) for index in range(size)]
        half = size // 2
        return [self.sample(key(index % half), 1 if index < half else -1) for index in range(size)]


def elite_weights(elites: int) -> np.ndarray:
    """lambda_i = log((1 + K) / i) / sum for i = 1..K, `(K,)`: CEM-RL section 2.2, with CMA-ES's reading of its log."""
    weights = np.log((1.0 + elites) / np.arange(1, elites + 1))
    return weights / weights.sum()


def recombination_weights(recombination: str, elites: int) -> np.ndarray:
    """Of the elites, best first, `(K,)`, sum 1: equal for `equal`, else `elite_weights`."""
    return np.full(elites, 1.0 / elites) if recombination == EQUAL else elite_weights(elites)


def rank_move(mean: np.ndarray, ranked: Iterable[np.ndarray], count: int) -> np.ndarray:
    """Mean + sum_i w_i (z_(i) - mean) over all `count` individuals, best first; `(P,)` float64.

    w_i are the centred ranks of an evolution strategy (OpenAI-ES), linear from positive for the best to as much
    below zero for the worst, with positive weights that sum to 1. It climbs the gradient that the displacements
    z - mean estimate, whatever they come from: noise or training.
    """
    weights = np.linspace(1.0, -1.0, count)
    weights /= weights[weights > 0].sum()
    move = np.zeros_like(mean)
    for weight, z in zip(weights, ranked, strict=True):
        move += weight * (z.astype(np.float64) - mean)
    return mean + move


def ranking(fitness: Sequence[float]) -> list[int]:
    """Indices from best to worst. Ties keep their order; NaN and infinite values are the worst."""
    values = np.array(fitness, np.float64)
    values[~np.isfinite(values)] = -math.inf
    return [int(index) for index in np.argsort(-values, kind="stable")]


def decayed(epsilon: float, tau: float, end: float) -> float:
    """The noise added to the variance, one step on: tau * epsilon + (1 - tau) * end."""
    return tau * epsilon + (1.0 - tau) * end


def weighted_moments(
    mean: np.ndarray, elites: Sequence[Iterable[np.ndarray]], weights: Sequence[float] | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """sum_i lambda_i z_(i), and sum_i lambda_i (z_(i) - mean)^2 around the OLD mean; `(P,)` float64 each.

    Eq. 1 and 2; `elites` are vectors `(P,)`, best first, each in blocks of `PARAMETERS_AT_ONCE` (`Store.blocks`).
    """
    centre, spread = np.zeros_like(mean), np.zeros_like(mean)
    vector, product = np.empty((2, min(PARAMETERS_AT_ONCE, mean.size)))
    for start, *blocks in zip(range(0, mean.size, PARAMETERS_AT_ONCE), *elites, strict=True):
        part = slice(start, start + PARAMETERS_AT_ONCE)
        old, first, second = mean[part], centre[part], spread[part]
        v, p = vector[: old.size], product[: old.size]
        for weight, z in zip(weights, blocks, strict=True):
            v[:] = z
            first += np.multiply(weight, v, out=p)
            v -= old
            v *= v
            second += np.multiply(weight, v, out=p)
    return centre, spread


def blocks(vector: np.ndarray) -> list[np.ndarray]:
    """A vector in blocks of `PARAMETERS_AT_ONCE`."""
    return [vector[start : start + PARAMETERS_AT_ONCE] for start in range(0, vector.size, PARAMETERS_AT_ONCE)]


def cem_variance(spread: np.ndarray, epsilon: float, elites: int, extra_ke_division: bool) -> np.ndarray:
    """The weighted spread plus epsilon, eq. 3.

    `extra_ke_division` divides the spread by K once more, as the authors' public code does although the weights
    already sum to one; the published results most likely were obtained so.
    """
    variance = spread / (elites if extra_ke_division else 1)
    variance += epsilon
    return variance
