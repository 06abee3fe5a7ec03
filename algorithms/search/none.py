"""No selection: the mean goes to the average of all individuals, whatever their fitness; the variance is fixed.

The ablation of hybrids: what is left is the learner's gradients, and noise in parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from erlbench.algorithms.search.search import Individual, Search, SearchState, Vector, displacement
from erlbench.algorithms.search.search_distribution import SearchDistribution
from erlbench.settings import setting
from erlbench.work.seeding import Key
from erlbench.work.tasks import ArrayRef


@dataclass(frozen=True, kw_only=True)
class NoSearchSettings:
    """Hyper-parameters of no selection."""

    population: int = setting(10, "individuals per generation", "this suite", minimum=1)
    initial_variance: float = setting(1e-3, "variance of each parameter, fixed", "CEM-RL, public code", minimum=0)


@dataclass(kw_only=True)
class NoSearchState(SearchState):
    """The mean, and the fixed variance."""

    distribution: SearchDistribution


class NoSearch(Search[NoSearchSettings, NoSearchState]):
    """No selection at all."""

    settings_type: ClassVar[type] = NoSearchSettings

    def start(self, mean: np.ndarray) -> NoSearchState:
        distribution = SearchDistribution.create(mean, self.settings.initial_variance, self.context.share)
        return NoSearchState(distribution=distribution)

    @property
    def mean_ref(self) -> ArrayRef:
        return self.state.distribution.mean_ref

    def sample(self, key: Key) -> Vector:
        return self.state.distribution.sample(key)

    def tell(self, individuals: Sequence[Individual]) -> None:
        old = self.state.distribution
        std = np.sqrt(old.variance)
        move = sum(displacement(self, each, old.mean, std) for each in individuals) / len(individuals)
        self.state.distribution = old.moved(old.mean + move, old.variance, self.context.share)
