"""The cross-entropy method with a diagonal Gaussian, as a search.

Pourchot and Sigaud, "CEM-RL", ICLR 2019, section 2.2, with the constants of its public code
(github.com/apourchot/CEM-RL). Equations are the paper's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from erlbench.algorithms.search.search import (
    AS_SAMPLES,
    MEAN_ONLY,
    GaussianSearch,
    GaussianState,
    Individual,
    Vector,
    own_displacement,
)
from erlbench.algorithms.search.search_distribution import ranking
from erlbench.settings import at_least_one, at_least_zero, fraction, setting
from erlbench.work.seeding import Key

CEM_RL = "CEM-RL, public code"
LOG, EQUAL, RANKS = "log", "equal", "ranks"
RECOMBINATIONS = (LOG, EQUAL, RANKS)


@dataclass(frozen=True, kw_only=True)
class CEMSearchSettings:
    """Hyper-parameters of CEM's search distribution."""

    population: int = setting(10, "individuals per generation", CEM_RL, minimum=2)
    elites: int = at_least_one(5, "best individuals that make the next distribution", CEM_RL, symbol="K_e")
    recombination: str = setting(
        LOG,
        "the mean's update: elites with log or equal weights, or all by centred ranks",
        CEM_RL,
        choices=RECOMBINATIONS,
    )
    initial_variance: float = at_least_zero(1e-3, "initial variance of each parameter, and initial epsilon", CEM_RL)
    epsilon_start: float | None = at_least_zero(
        None, "initial epsilon; none: as initial_variance", CEM_RL, symbol="epsilon"
    )
    epsilon_end: float = at_least_zero(1e-5, "limit of epsilon, which is added to the variance", CEM_RL)
    tau_cem: float = fraction(0.95, "epsilon's decay per generation", CEM_RL)
    antithetic: bool = setting(True, "the second half mirrors the first (even populations)", CEM_RL)
    extra_ke_division: bool = setting(
        True, "divide the weighted variance by K_e once more", "CEM-RL, public code; the paper has no such factor"
    )

    def __post_init__(self) -> None:
        if self.elites > self.population:
            raise ValueError(f"elites ({self.elites}) cannot exceed population ({self.population})")


@dataclass(kw_only=True)
class CEMState(GaussianState):
    """Mean and variance, and the noise that is added to the variance."""

    epsilon: float


class CEMSearch(GaussianSearch[CEMSearchSettings, CEMState]):
    """Refits mean and variance to the elites."""

    settings_type: ClassVar[type] = CEMSearchSettings
    injection: ClassVar[str] = AS_SAMPLES

    def start(self, mean: np.ndarray) -> CEMState:
        start = self.settings.epsilon_start
        return CEMState(
            distribution=self.distribution(mean), epsilon=self.settings.initial_variance if start is None else start
        )

    def samples(self, key: Callable[[int], Key]) -> list[Vector]:
        """Antithetic: the second half has the first half's noise with the other sign, e_{size/2 + i} = -e_i."""
        half, rest = divmod(self.settings.population, 2)
        if rest or not self.settings.antithetic:
            return super().samples(key)
        return [self.state.distribution.sample(key(index), sign) for sign in (1, -1) for index in range(half)]

    def tell(self, individuals: Sequence[Individual]) -> None:
        """Eq. 1 to 3; the variance is taken around the old mean."""
        settings, state = self.settings, self.state
        old, ranked = state.distribution, ranking([individual.fitness for individual in individuals])
        state.elites = ranked[: settings.elites]
        state.epsilon = decayed(state.epsilon, settings.tau_cem, settings.epsilon_end)
        weights = recombination_weights(settings.recombination, settings.elites)
        elites = [*self.positions(individuals[index] for index in state.elites)]
        mean, spread = weighted_moments(old.mean, elites, weights)
        if settings.recombination == RANKS:
            mean = rank_move(old.mean, self.positions(individuals[index] for index in ranked), len(ranked))
        if self.injected == MEAN_ONLY:
            samples = [index for index in ranked if not individuals[index].injected][: settings.elites]
            if not samples:  # nothing is known about the variance
                state.distribution = old.moved(mean, old.variance, self.context.share)
                return
            weights = recombination_weights(settings.recombination, len(samples))
            elites = [old.mean + own_displacement(self, individuals[index], old.mean) for index in samples]
            _, spread = weighted_moments(old.mean, elites, weights)
        variance = cem_variance(spread, state.epsilon, settings.elites, settings.extra_ke_division)
        self.move(mean, variance)

    def metrics(self) -> dict[str, float]:
        return {"epsilon": self.state.epsilon, **super().metrics()}


def elite_weights(elites: int) -> np.ndarray:
    """lambda_i = log((1 + K) / i) / sum for i = 1..K, `(K,)`: CEM-RL section 2.2, with CMA-ES's reading of its log."""
    weights = np.log((1.0 + elites) / np.arange(1, elites + 1))
    return weights / weights.sum()


def recombination_weights(recombination: str, elites: int) -> np.ndarray:
    """Of the elites, best first, `(K,)`, sum 1: equal for `equal`, else `elite_weights`."""
    return np.full(elites, 1.0 / elites) if recombination == EQUAL else elite_weights(elites)


def weighted_moments(
    mean: np.ndarray, elites: Iterable[np.ndarray], weights: Sequence[float] | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """sum_i lambda_i z_(i), and sum_i lambda_i (z_(i) - mean)^2 around the OLD mean; `(P,)` float64 each.

    Eq. 1 and 2; `elites` are vectors `(P,)` float64, best first.
    """
    centre, spread = np.zeros_like(mean), np.zeros_like(mean)
    for weight, z in zip(weights, elites, strict=True):
        centre += weight * z
        spread += weight * (z - mean) ** 2
    return centre, spread


def cem_variance(spread: np.ndarray, epsilon: float, elites: int, extra_ke_division: bool) -> np.ndarray:
    """The weighted spread plus epsilon, eq. 3.

    `extra_ke_division` divides the spread by K once more, as the authors' public code does although the weights
    already sum to one; the published results most likely were obtained so.
    """
    variance = spread / (elites if extra_ke_division else 1)
    variance += epsilon
    return variance


def decayed(epsilon: float, tau: float, end: float) -> float:
    """The noise added to the variance, one step on: tau * epsilon + (1 - tau) * end."""
    return tau * epsilon + (1.0 - tau) * end


def rank_move(mean: np.ndarray, ranked: Iterable[np.ndarray], count: int) -> np.ndarray:
    """Mean + sum_i w_i (z_(i) - mean) over all `count` individuals, best first; `(P,)` float64.

    w_i are the centred ranks of an evolution strategy (OpenAI-ES), linear from positive for the best to as much
    below zero for the worst, with positive weights that sum to 1. It climbs the gradient that the displacements
    z - mean estimate, whatever they come from: noise or training.
    """
    weights = np.linspace(1.0, -1.0, count)
    weights /= weights[weights > 0].sum()
    move = np.zeros_like(mean)
    for weight, z in zip(weights, ranked, strict=True):
        move += weight * (z - mean)
    return mean + move
