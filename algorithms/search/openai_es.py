"""OpenAI-ES's estimate as a search for hybrids; `algorithms/openai_es.py` is the algorithm alone, with all it has.

Salimans, Ho, Chen, Sidor, Sutskever, "Evolution Strategies as a Scalable Alternative to Reinforcement Learning", 2017
(arXiv:1703.03864), algorithm 2: mirrored perturbations, centred ranks, Adam.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from erlbench.algorithms.search.evolution_strategy import centred_ranks
from erlbench.algorithms.search.optimisers import Adam, Moments
from erlbench.algorithms.search.search import Individual, MirroredSearch, MirroredState, displacement
from erlbench.algorithms.search.search_distribution import ranking
from erlbench.settings import at_least_zero, setting

PUBLIC = "OpenAI-ES, public code"


@dataclass(frozen=True, kw_only=True)
class OpenAIESSearchSettings:
    """Hyper-parameters of the estimate and of Adam."""

    population: int = setting(40, "individuals per generation, two of each mirrored pair", "this suite", minimum=2)
    sigma: float = setting(0.02, "standard deviation of the perturbations, fixed", PUBLIC, minimum=1e-12)
    learning_rate: float = at_least_zero(0.01, "Adam's step size", PUBLIC)
    l2: float = at_least_zero(0.005, "coefficient of the parameters in the gradient", PUBLIC)

    def __post_init__(self) -> None:
        if self.population % 2:
            raise ValueError(f"population must be even, for mirrored pairs, not {self.population}")


@dataclass(kw_only=True)
class OpenAIESSearchState(MirroredState):
    """The mean, and Adam's moments."""

    moments: Moments


class OpenAIESSearch(MirroredSearch[OpenAIESSearchSettings, OpenAIESSearchState]):
    """Mirrored perturbations of a fixed size, centred ranks, Adam."""

    settings_type: ClassVar[type] = OpenAIESSearchSettings

    def start(self, mean: np.ndarray) -> OpenAIESSearchState:
        self._adam = Adam(self.settings.learning_rate)
        return OpenAIESSearchState(moments=self._adam.start(mean.size), **self.begin(mean))

    @property
    def scale(self) -> float:
        return self.settings.sigma

    def tell(self, individuals: Sequence[Individual]) -> None:
        """The gradient: sum of w (z - mean) / (n sigma) for centred ranks w; trained ones by their z."""
        settings, state = self.settings, self.state
        fitness = [individual.fitness for individual in individuals]
        state.elites = ranking(fitness)[: len(individuals) // 2]
        std, slope = np.full_like(state.mean, settings.sigma), np.zeros_like(state.mean)
        for w, individual in zip(centred_ranks(fitness), individuals):
            slope += w * displacement(self, individual, state.mean, std)
        slope /= len(individuals) * settings.sigma
        state.mean = state.mean + self._adam.step(state.moments, settings.l2 * state.mean - slope)
        state.policy = self.publish(state.mean, state.statistics)
