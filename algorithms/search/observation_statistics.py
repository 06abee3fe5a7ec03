"""Running mean and standard deviation of the observations, for OpenAI-ES, ARS and PGPE."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from erlbench.work.rollout import LARGEST

PRIOR = 1e-2  # how many observations with mean 0 and mean square 1 there were before the first
LOWEST_VARIANCE = 1e-2
LOWEST_OF_ARS = 1e-7  # standard deviation below which an input is 0


@dataclass
class ObservationStatistics:
    """Number, sum and sum of squares of all observations so far, `(observation,)` float64 each."""

    count: float
    total: np.ndarray
    squares: np.ndarray

    @classmethod
    def create(cls, size: int, prior: float = PRIOR) -> ObservationStatistics:
        """Before the first observation: mean 0, standard deviation 1; the prior is OpenAI-ES's."""
        return cls(prior, np.zeros(size), np.full(size, prior))

    def add(self, count: int, sums: np.ndarray) -> None:
        """Take in `count` observations with `sums` `(2, observation)`: their sum, and the sum of their squares."""
        self.count += count
        self.total = self.total + sums[0]
        self.squares = self.squares + sums[1]

    @property
    def moments(self) -> np.ndarray:
        """Mean and standard deviation, at least 0.1: `(2 * observation,)`, the end of a policy's vector."""
        if not self.count:
            return np.concatenate((np.zeros_like(self.total), np.ones_like(self.total)))
        mean = self.total / self.count
        variance = np.maximum(self.squares / self.count - mean**2, LOWEST_VARIANCE)
        return np.concatenate((mean, np.sqrt(variance)))

    @property
    def moments_of_ars(self) -> np.ndarray:
        """As `moments`, by ARS's public code: ddof 1, plus 1e-8; below 1e-7 the largest number, so the input is 0."""
        if self.count < 2:
            return np.concatenate((np.zeros_like(self.total), np.ones_like(self.total)))
        mean = self.total / self.count
        variance = np.maximum(self.squares - self.count * mean**2, 0.0) / (self.count - 1)
        std = np.sqrt(variance)
        return np.concatenate((mean, np.where(std < LOWEST_OF_ARS, LARGEST, std + 1e-8)))
