"""No selection: the mean goes to the average of all individuals, whatever their fitness; the variance is fixed.

The ablation of hybrids: what is left is the learner's gradients, and noise in parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from erlbench.algorithms.search.search import GaussianSearch, GaussianState, Individual, displacement
from erlbench.settings import at_least_one, at_least_zero


@dataclass(frozen=True, kw_only=True)
class NoSearchSettings:
    """Hyper-parameters of no selection."""

    population: int = at_least_one(10, "individuals per generation", "this suite")
    initial_variance: float = at_least_zero(1e-3, "variance of each parameter, fixed", "CEM-RL, public code")


class NoSearch(GaussianSearch[NoSearchSettings, GaussianState]):
    """No selection at all."""

    settings_type: ClassVar[type] = NoSearchSettings

    def start(self, mean: np.ndarray) -> GaussianState:
        return GaussianState(distribution=self.distribution(mean))

    def tell(self, individuals: Sequence[Individual]) -> None:
        old = self.state.distribution
        std = np.sqrt(old.variance)
        move = sum(displacement(self, individual, old.mean, std) for individual in individuals) / len(individuals)
        self.state.distribution = old.moved(old.mean + move, old.variance, self.context.share)
