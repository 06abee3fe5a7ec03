"""CEM: the cross-entropy method with a diagonal Gaussian over policy parameters.

Pourchot and Sigaud, "CEM-RL", ICLR 2019, section 2.2, with the constants of its public code
(github.com/apourchot/CEM-RL). CEM-RL and P-CEM-RL have the same search, `CEMState`, and
train part of each generation by gradients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np

from erlbench.algorithms.base import Algorithm, Context
from erlbench.algorithms.generation import Generation
from erlbench.algorithms.individuals import FitnessSettings, start_states
from erlbench.algorithms.policy_settings import PolicySettings, initial_mean
from erlbench.algorithms.search.search_distribution import (
    LOG,
    PARAMETERS_AT_ONCE,
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
from erlbench.envs.functions import share_of_domain
from erlbench.policy import ACTIVATIONS
from erlbench.settings import setting
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import ArrayRef, Perturbed, Result, Task

CEM_RL = "CEM-RL, public code"
PRESETS: Mapping[str, Mapping[str, Any]] = {"paper": {}, "no-extra-division": {"extra_ke_division": False}}


@dataclass(frozen=True, kw_only=True)
class CEMSearchSettings:
    """Hyper-parameters of CEM's search distribution."""

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
class CEMSettings(PolicySettings, CEMSearchSettings, FitnessSettings):
    """Hyper-parameters of CEM."""

    hidden: tuple[int, ...] = setting((400, 300), "widths of the actor's hidden layers", CEM_RL, minimum=1)
    activation: str = setting("tanh", "hidden activation of the actor", CEM_RL, choices=ACTIVATIONS)
    initial_variance: float = setting(
        1e-3,
        "initial variance of each parameter, and initial epsilon; on functions that of a quarter of the domain's width",
        "CEM-RL, public code; on functions ours",
        by_env={name: float(f"{sigma**2:.4g}") for name, sigma in share_of_domain(0.5).items()},
        minimum=0,
    )


@dataclass
class CEMState(Generation):
    """The search of CEM and its kin, and everything it needs to go on."""

    distribution: SearchDistribution
    epsilon: float
    individuals: list[Perturbed | ArrayRef] = field(default_factory=list)  # of this generation, trained or not
    elites: list[int] = field(default_factory=list)  # of the generation before, best first

    def columns(self) -> dict[str, float]:
        """The columns of train.csv."""
        return {
            **self.extremes(),
            "epsilon": self.epsilon,
            "variance_mean": float(self.distribution.variance.mean()),
            "steps": self.previous_steps,
        }


# What CEM and its kin do: algorithms with `CEMSearchSettings` and a `CEMState`.
S = TypeVar("S", bound=CEMSearchSettings)
D = TypeVar("D", bound=CEMState)


def first_distribution(algorithm: Algorithm[S, D]) -> SearchDistribution:
    """The distribution before the first generation."""
    settings = algorithm.settings
    mean = initial_mean(algorithm.policy_spec, settings, algorithm.key(Purpose.PARAMETERS))
    return SearchDistribution.create(mean, settings.initial_variance, algorithm.share)


def sample(algorithm: Algorithm[S, D]) -> list[Perturbed | ArrayRef]:
    """The individuals of the next generation."""
    settings, generation = algorithm.settings, algorithm.counters.generation
    mirrored = settings.antithetic and settings.population % 2 == 0
    return list(
        algorithm.state.distribution.population(
            settings.population, mirrored, lambda index: algorithm.key(Purpose.NOISE, generation, index)
        )
    )


def evaluated(algorithm: Algorithm[S, D], individual: int, result: Result) -> bool:
    """Take one individual's fitness; the last one of the generation updates the distribution. Whether it did."""
    state = algorithm.state
    state.take(individual, result)
    if len(state.fitness) < len(state.individuals):
        return False
    _refit(algorithm, state)
    algorithm.counters.generation += 1
    return True


def _refit(algorithm: Algorithm[S, D], state: D) -> None:
    """Eq. 1 to 3; the variance is taken around the old mean."""
    settings, store, old = algorithm.settings, algorithm.context.store, state.distribution
    fitness = state.in_order
    ranked = ranking(fitness)
    state.elites = ranked[: settings.elites]
    elites = [store.blocks(state.individuals[index], PARAMETERS_AT_ONCE) for index in state.elites]
    state.epsilon = decayed(state.epsilon, settings.tau_cem, settings.epsilon_end)
    weights = recombination_weights(settings.recombination, settings.elites)
    mean, spread = weighted_moments(old.mean, elites, weights)
    if settings.recombination == RANKS:
        everyone = (np.asarray(store.load(state.individuals[index])) for index in ranked)
        mean = rank_move(old.mean, everyone, len(ranked))
    variance = cem_variance(spread, state.epsilon, settings.elites, settings.extra_ke_division)
    state.distribution = old.moved(mean, variance, algorithm.share)
    state.end(fitness)
    state.individuals = []


class CEM(Algorithm[CEMSettings, CEMState]):
    """Cross-entropy method: sample, rank, and refit mean and variance to the elites."""

    settings_type: ClassVar[type] = CEMSettings
    default_workers: ClassVar[int | None] = None

    def __init__(self, settings: CEMSettings, context: Context) -> None:
        super().__init__(settings, context)
        self.state = CEMState(first_distribution(self), settings.initial_variance)

    @classmethod
    def depends_on_budget(cls, settings: CEMSettings) -> str:
        return ""

    def policy(self) -> ArrayRef:
        return self.state.distribution.mean_ref

    def _ask(self) -> list[Task]:
        """A whole generation when none is under way."""
        if self.state.individuals or self.exhausted:
            return []
        self.state.individuals = sample(self)
        episodes, seeds = self.settings.episodes, start_states(self, self.counters.generation)
        return self.rollouts(self.state.individuals, kind="es", episodes=episodes, seeds=seeds)

    def _tell(self, task: Task, result: Result) -> None:
        evaluated(self, task.individual, result)

    def metrics(self) -> dict[str, float]:
        return self.state.columns()
