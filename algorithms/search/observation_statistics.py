"""Running mean and standard deviation of the observations, as OpenAI's evolution-strategies-starter has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PRIOR = 1e-2  # how many observations with mean 0 and mean square 1 there were before the first
LOWEST_VARIANCE = 1e-2


@dataclass
class ObservationStatistics:
    """Number, sum and sum of squares of all observations so far, `(observation,)` float64 each."""

    count: float
    total: np.ndarray
    squares: np.ndarray

    @classmethod
    def create(cls, size: int) -> ObservationStatistics:
        """Before the first observation: mean 0, standard deviation 1."""
        return cls(PRIOR, np.zeros(size), np.full(size, PRIOR))

    def add(self, count: int, sums: np.ndarray) -> None:
        """Take in `count` observations with `sums` `(2, observation)`: their sum, and that of their squares."""
        self.count += count
        self.total = self.total + sums[0]
        self.squares = self.squares + sums[1]

    @property
    def moments(self) -> np.ndarray:
        """Mean and standard deviation, at least 0.1: `(2 * observation,)`, the end of a policy's vector."""
        mean = self.total / self.count
        variance = np.maximum(self.squares / self.count - mean**2, LOWEST_VARIANCE)
        return np.concatenate((mean, np.sqrt(variance)))
