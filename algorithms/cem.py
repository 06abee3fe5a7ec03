"""CEM: the cross-entropy method with a diagonal Gaussian over policy parameters.

Pourchot and Sigaud, "CEM-RL", ICLR 2019, section 2.2, with the constants of its public code
(github.com/apourchot/CEM-RL). CEM-RL and P-CEM-RL are this class with part of each generation trained by gradients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from erlbench.algorithms.base import Algorithm, Context
from erlbench.algorithms.generation import Generation
from erlbench.algorithms.individuals import FitnessSettings, PolicySettings, initial_mean, policy_of, start_states
from erlbench.algorithms.search.search_distribution import (
    LOG,
    RANKS,
    RECOMBINATIONS,
    SearchDistribution,
    cem_variance,
    decayed,
    rank_move,
    ranking,
    recombination_weights,
    weighted_moments,
)
from erlbench.envs.registry import Problem
from erlbench.experiment.settings import setting
from erlbench.policy import ACTIVATIONS, PolicySpec
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import ArrayRef, Perturbed, Result, Task

CEM_RL = "CEM-RL, public code"
PRESETS: Mapping[str, Mapping[str, Any]] = {"paper": {}, "no-extra-division": {"extra_ke_division": False}}


@dataclass(frozen=True)
class CEMSearchSettings(FitnessSettings):
    """Hyper-parameters of CEM's search distribution and of its evaluations."""

    population: int = setting(10, "individuals per generation", CEM_RL, minimum=2)
    elites: int = setting(5, "best individuals that make the next distribution (K_e)", CEM_RL, minimum=1)
    recombination: str = setting(
        LOG,
        "the mean's update: elites with log or equal weights, or all by centred ranks",
        CEM_RL,
        choices=RECOMBINATIONS,
    )
    initial_variance: float = setting(
        1e-3, "initial variance of each parameter, and initial epsilon", CEM_RL, minimum=0
    )
    epsilon_end: float = setting(1e-5, "limit of epsilon, which is added to the variance", CEM_RL, minimum=0)
    tau_cem: float = setting(0.95, "epsilon's decay per generation", CEM_RL, minimum=0, maximum=1)
    antithetic: bool = setting(True, "the second half mirrors the first (even populations)", CEM_RL)
    extra_ke_division: bool = setting(
        True, "divide the weighted variance by K_e once more", "CEM-RL, public code; the paper has no such factor"
    )

    def __post_init__(self) -> None:
        if self.elites > self.population:
            raise ValueError(f"elites ({self.elites}) cannot exceed population ({self.population})")


@dataclass(frozen=True)
class CEMSettings(PolicySettings, CEMSearchSettings):
    """Hyper-parameters of CEM."""

    hidden: tuple[int, ...] = setting((400, 300), "widths of the actor's hidden layers", CEM_RL, minimum=1)
    activation: str = setting("tanh", "hidden activation of the actor", CEM_RL, choices=ACTIVATIONS)


@dataclass
class CEMState(Generation):
    """Everything CEM needs to go on."""

    distribution: SearchDistribution
    epsilon: float
    individuals: list[Perturbed | ArrayRef] = field(default_factory=list)  # of this generation, trained or not
    elites: list[int] = field(default_factory=list)  # of the generation before, best first


class CEM(Algorithm):
    """Cross-entropy method: sample, rank, and refit mean and variance to the elites."""

    settings_type: ClassVar[type] = CEMSettings
    default_workers: ClassVar[int | None] = None
    settings: Any

    def __init__(self, settings: Any, context: Context) -> None:
        super().__init__(settings, context)
        self._weights = recombination_weights(settings.recombination, settings.elites)
        mean = initial_mean(self._policy, settings, self.key(Purpose.PARAMETERS))
        self.state = self.initial_state(SearchDistribution.create(mean, settings.initial_variance, self.share))

    def initial_state(self, distribution: SearchDistribution) -> CEMState:
        """The state before the first generation."""
        return CEMState(distribution, self.settings.initial_variance)

    @classmethod
    def depends_on_budget(cls, settings: Any) -> str:
        return ""

    @classmethod
    def policy_for(cls, settings: Any, problem: Problem) -> PolicySpec:
        return policy_of(problem, settings)

    def policy(self) -> ArrayRef:
        mean: ArrayRef = self.state.distribution.mean_ref
        return mean

    def _ask(self) -> list[Task]:
        """A whole generation when none is under way."""
        if self.state.individuals or self.exhausted:
            return []
        settings, generation = self.settings, self.counters.generation
        population = self.state.distribution.population(
            settings.population,
            settings.antithetic and settings.population % 2 == 0,
            lambda index: self.key(Purpose.NOISE, generation, index),
        )
        self.state.individuals = list(population)
        return self.generation(population)

    def generation(self, population: list[Perturbed]) -> list[Task]:
        """The tasks that evaluate `population`."""
        episodes, seeds = self.settings.episodes, start_states(self, self.counters.generation)
        return [
            self.rollout(z, kind="es", episodes=episodes, individual=index, seeds=seeds)
            for index, z in enumerate(population)
        ]

    def _tell(self, task: Task, result: Result) -> None:
        """Take one individual's fitness; the last one of the generation updates the distribution."""
        state = self.state
        state.take(task.individual, result)
        if len(state.fitness) == len(state.individuals):
            self.update()

    def update(self) -> None:
        """Eq. 1 to 3; the variance is taken around the old mean."""
        state, settings, load = self.state, self.settings, self.context.store.load
        fitness = state.in_order
        ranked = ranking(fitness)
        state.elites = ranked[: settings.elites]
        elites = (np.asarray(load(state.individuals[index])) for index in state.elites)
        state.epsilon = decayed(state.epsilon, settings.tau_cem, settings.epsilon_end)
        mean, spread = weighted_moments(state.distribution.mean, elites, self._weights)
        if settings.recombination == RANKS:
            everyone = (np.asarray(load(state.individuals[index])) for index in ranked)
            mean = rank_move(state.distribution.mean, everyone, len(ranked))
        variance = cem_variance(spread, state.epsilon, settings.elites, settings.extra_ke_division)
        state.distribution = SearchDistribution.create(mean, variance, self.share)
        state.end(fitness)
        state.individuals = []
        self.counters.generation += 1

    def metrics(self) -> dict[str, float]:
        state = self.state
        return {
            **state.extremes(),
            "epsilon": state.epsilon,
            "variance_mean": float(state.distribution.variance.mean()),
            "steps": state.previous_steps,
        }
