"""The evolution strategy of ESAC: centred ranks over all, the gradient of those around the mean, and a tuned sigma.

Suri, Shi, Plataniotis and Lawryshyn, "Maximum Mutation Reinforcement Learning for Scalable Control",
arXiv:2007.13690, 2020: algorithm 1, line 11, and section 5.2, automatic mutation tuning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from erlbench.algorithms.search.evolution_strategy import centred_ranks
from erlbench.algorithms.search.optimisers import Adam, Moments, Optimiser, Sgd
from erlbench.algorithms.search.search import Individual, Search, SearchState, Vector, find_centre
from erlbench.settings import at_least_zero, setting
from erlbench.work.seeding import Key
from erlbench.work.tasks import ArrayRef, Perturbed

PAPER, CODE, OURS = "ESAC", "ESAC, public code", "this suite"
TABLE, SIGMA = "ESAC, appendix D", 5e-3
MIRRORED, PAIRS, INDEPENDENT = "mirrored", "pairs", "independent"
ADAM, SGD = "adam", "sgd"
RAW, RANK = "raw", "rank"


@dataclass(frozen=True, kw_only=True)
class ESACSearchSettings:
    """Hyper-parameters of the evolution strategy."""

    population: int = setting(50, "members of a generation", TABLE, minimum=2, symbol="n")
    sampling: str = setting(
        MIRRORED,
        "mirrored: members around the mean come in pairs; pairs: every member is evaluated with both signs; "
        "independent: no pairs",
        OURS,
        choices=(MIRRORED, PAIRS, INDEPENDENT),
    )
    sigma_init: float = setting(
        SIGMA, "initial mutation rate", TABLE, by_env={"dm_control": 1e-2}, minimum=1e-12, symbol="sigma"
    )
    es_learning_rate: float = at_least_zero(
        5e-3, "step size of the ES update", TABLE, by_env={"Ant": 1e-4, "dm_control": 1e-2}
    )
    optimizer: str = setting(ADAM, "of the ES update; sgd is plain ascent", CODE, choices=(ADAM, SGD))
    amt_clip: float = at_least_zero(1e-4, "largest step of sigma", CODE, symbol="zeta")
    amt_rewards: str = setting(RAW, "rewards that tune sigma: raw or centred ranks", PAPER, choices=(RAW, RANK))


@dataclass(kw_only=True)
class ESACSearchState(SearchState):
    """The mean theta_es and sigma."""

    mean: np.ndarray  # (P,) float64
    policy: ArrayRef
    moments: Moments
    sigma: float
    amt_steps: int = 0  # of sigma
    amt_clipped: int = 0  # of these, at zeta
    best: float = math.nan  # fitness in the generation before
    average: float = math.nan


class ESACSearch(Search[ESACSearchSettings, ESACSearchState]):
    """Perturbations of the mean and of other centres, of one size."""

    settings_type: ClassVar[type] = ESACSearchSettings

    def start(self, mean: np.ndarray) -> ESACSearchState:
        settings, rate = self.settings, self.settings.es_learning_rate
        self._optimiser: Optimiser = Adam(rate) if settings.optimizer == ADAM else Sgd(rate, momentum=0.0)
        moments = self._optimiser.start(mean.size)
        return ESACSearchState(mean=mean, policy=self.share_policy(mean), moments=moments, sigma=settings.sigma_init)

    @property
    def mean_ref(self) -> ArrayRef:
        return self.state.policy

    def sample(self, key: Key) -> Vector:
        return Perturbed(self.state.policy, self.state.sigma, key)

    def generation(
        self, key: Callable[[int], Key], first: Sequence[ArrayRef] = (), last: Sequence[ArrayRef] = ()
    ) -> list[Vector]:
        settings, state = self.settings, self.state
        around = settings.population - len(first) - len(last)
        signs = (1, -1) if settings.sampling == PAIRS else (1,)
        members: list[tuple[ArrayRef, Sequence[int]]] = [(state.policy, signs)] * around
        if settings.sampling == MIRRORED:
            members = [(state.policy, (1, -1))] * (around // 2) + [(state.policy, signs)] * (around % 2)
        centres = [*((centre, signs) for centre in first), *members, *((centre, signs) for centre in last)]
        return [
            Perturbed(centre, state.sigma, key(index), sign)
            for index, (centre, signs) in enumerate(centres)
            for sign in signs
        ]

    def noise_weights(self, individuals: Sequence[Individual]) -> dict[Key, float]:
        """The estimate of line 11, from the members around the mean; the ranks are over all members."""
        weights: dict[Key, float] = {}
        ranks = centred_ranks([individual.fitness for individual in individuals])
        around = [
            (rank, individual.z)
            for rank, individual in zip(ranks, individuals)
            if find_centre(individual.z) == self.state.policy
        ]
        for rank, z in around:
            assert isinstance(z, Perturbed)
            weights[z.key] = weights.get(z.key, 0.0) + z.sign * rank / (len(around) * self.state.sigma)
        return weights

    def tell(self, individuals: Sequence[Individual]) -> None:
        state, fitness = self.state, np.array([individual.fitness for individual in individuals])
        state.mean = state.mean + self._optimiser.step(state.moments, -self.noise_sum)
        state.policy = self.share_policy(state.mean)
        state.best, state.average = float(fitness.max()), float(fitness.mean())

    def tune(self, fitness: np.ndarray) -> None:
        """Automatic mutation tuning; the next generation's noise has the new sigma."""
        state, settings = self.state, self.settings
        seen = centred_ranks(fitness) if settings.amt_rewards == RANK else fitness
        step = raw_step(seen, state.sigma, settings.es_learning_rate, settings.population)
        state.sigma = tuned(state.sigma, step, settings.amt_clip)
        state.amt_steps += 1
        state.amt_clipped += step > settings.amt_clip

    def metrics(self) -> dict[str, float]:
        state = self.state
        return {
            "fitness_best": state.best,
            "fitness_mean": state.average,
            "sigma": state.sigma,
            "amt_steps": state.amt_steps,
            "amt_clip_rate": state.amt_clipped / state.amt_steps if state.amt_steps else math.nan,
        }


def smooth_l1(x: float, y: float) -> float:
    """The Huber loss of `x` and `y`, never negative; eq. 4."""
    distance = abs(x - y)
    return 0.5 * distance**2 if distance < 1.0 else distance - 0.5


def raw_step(fitness: np.ndarray, sigma: float, learning_rate: float, population: int) -> float:
    """What eq. 5 adds to `sigma`: learning_rate / (population * sigma) * SmoothL1(best, mean) of `fitness` `(n,)`.

    Only finite values count; 0 without any.
    """
    finite = fitness[np.isfinite(fitness)]
    if not len(finite):
        return 0.0
    return learning_rate / (population * sigma) * smooth_l1(float(finite.max()), math.fsum(finite) / len(finite))


def tuned(sigma: float, step: float, clip: float) -> float:
    """`sigma` after a `raw_step`, which is clipped at `clip`; eq. 6."""
    return sigma + min(max(step, 0.0), clip)
