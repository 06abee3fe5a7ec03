"""Noise that is added to actions for exploration."""

from __future__ import annotations

import numpy as np


class ExplorationNoise:
    """Exploration noise, zero before an episode: x <- (1 - theta) x + sigma N(0, I).

    An Ornstein-Uhlenbeck process with mean 0 in steps of time 1 (Lillicrap et al. 2016, section 7); white noise for
    theta = 1.
    """

    def __init__(self, size: int, theta: float, sigma: float) -> None:
        self._x = np.zeros(size, np.float32)
        self._theta, self._sigma = np.float32(theta), np.float32(sigma)

    def step(self, random: np.random.Generator) -> np.ndarray:
        """The noise of the next step, `(size,)` float32; the next call overwrites it."""
        self._x -= self._theta * self._x
        self._x += self._sigma * random.standard_normal(len(self._x), dtype=np.float32)
        return self._x
