"""A diagonal Gaussian search distribution, and the ranking of its samples.

The driver keeps mean and variance in float64; the store holds float32 copies of mean and standard deviation, of which
individuals are `Perturbed` references. So no sample is ever sent: whoever needs one draws its noise again from its key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from erlbench.work.seeding import Key
from erlbench.work.tasks import ArrayRef, Perturbed


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


def ranking(fitness: Sequence[float]) -> list[int]:
    """Indices from best to worst. Ties keep their order; NaN and infinite values are the worst."""
    values = np.array(fitness, np.float64)
    values[~np.isfinite(values)] = -math.inf
    return [int(index) for index in np.argsort(-values, kind="stable")]
