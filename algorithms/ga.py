"""GA: the plain genetic algorithm: truncation selection, Gaussian mutation, one elite, no crossover.

Such, Madhavan, Conti, Lehman, Stanley, Clune, "Deep Neuroevolution: Genetic Algorithms Are a Competitive Alternative
for Training Deep Neural Networks for Reinforcement Learning" (arXiv:1712.06567), algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from erlbench.algorithms.individuals import FitnessSettings
from erlbench.algorithms.policy_settings import OURS, PolicySettings
from erlbench.algorithms.search.search import AS_SAMPLES, Individual, Search, SearchState, Vector
from erlbench.algorithms.search.search_distribution import ranking
from erlbench.settings import at_least_one, at_least_zero, setting
from erlbench.work.seeding import Key, Purpose, generator
from erlbench.work.tasks import ArrayRef, Perturbed

PAPER = "Deep GA, algorithm 1"


@dataclass(frozen=True, kw_only=True)
class GASettings(PolicySettings, FitnessSettings):
    """Hyper-parameters of the genetic algorithm."""

    population: int = setting(40, "individuals per generation, the elite among them", OURS, minimum=2, symbol="N")
    parents: int = at_least_one(10, "best individuals that have children", OURS, symbol="T")
    mutation_stdev: float = at_least_zero(0.05, "standard deviation of a mutation", OURS, symbol="sigma")

    def __post_init__(self) -> None:
        if self.parents > self.population:
            raise ValueError(f"parents ({self.parents}) cannot exceed population ({self.population})")


@dataclass(kw_only=True)
class GAState(SearchState):
    """The parents, best first; at the start the initial policy alone."""

    parents: list[ArrayRef]


class GA(Search[GASettings, GAState]):
    """Genetic algorithm: the best have mutated children, and the very best stays as it is."""

    settings_type: ClassVar[type] = GASettings
    injection: ClassVar[str] = AS_SAMPLES  # it has no variance

    def start(self, mean: np.ndarray) -> GAState:
        return GAState(parents=[self.share_policy(mean)])

    @property
    def spared(self) -> int:  # type: ignore[override]
        """The elite's place."""
        return self.settings.population - 1

    @property
    def mean_ref(self) -> ArrayRef:
        """The elite."""
        return self.state.parents[0]

    def sample(self, key: Key) -> Vector:
        """A child of a parent that is drawn uniformly."""
        parents = self.state.parents
        place = int(generator(*key, int(Purpose.POPULATION)).integers(len(parents)))
        return Perturbed(parents[place], self.settings.mutation_stdev, key)

    def around(self, centre: ArrayRef, key: Key) -> Vector:
        return Perturbed(centre, self.settings.mutation_stdev, key)

    def generation(
        self, key: Callable[[int], Key], first: Sequence[ArrayRef] = (), last: Sequence[ArrayRef] = ()
    ) -> list[Vector]:
        """The elite is behind the children, so that it is not trained."""
        individuals = super().generation(key, first, last)
        individuals[-1 - len(last)] = self.mean_ref
        return individuals

    def tell(self, individuals: Sequence[Individual]) -> None:
        """The best become the parents; among equals a later one comes first, so the elite keeps its place."""
        last = len(individuals) - 1
        fitness = [individual.fitness for individual in reversed(individuals)]
        self.state.elites = [last - place for place in ranking(fitness)[: self.settings.parents]]
        self.state.parents = self.shared(individuals[place] for place in self.state.elites)
