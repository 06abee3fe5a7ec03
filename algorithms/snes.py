"""SNES: separable natural evolution strategy.

Wierstra, Schaul, Glasmachers, Sun, Peters, Schmidhuber, "Natural Evolution Strategies", JMLR 15, 2014, algorithm 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from erlbench.algorithms.individuals import FitnessSettings
from erlbench.algorithms.policy_settings import OURS, PolicySettings
from erlbench.algorithms.search.search import (
    HANSEN,
    MEAN_ONLY,
    GaussianSearch,
    GaussianState,
    Individual,
    displacement,
    with_worst,
)
from erlbench.algorithms.search.search_distribution import ranking
from erlbench.settings import at_least_zero, setting
from erlbench.work.tasks import Perturbed

PAPER = "SNES, table 1"


@dataclass(frozen=True, kw_only=True)
class SNESSettings(PolicySettings, FitnessSettings):
    """Hyper-parameters of SNES."""

    population: int = setting(20, "individuals per generation (lambda)", OURS, minimum=2)
    initial_variance: float = setting(1e-2, "initial variance of each parameter", OURS, minimum=1e-12)
    mean_learning_rate: float = at_least_zero(1.0, "step of the mean", PAPER, symbol="eta_mu")
    stdev_learning_rate: float | None = at_least_zero(
        None, "step of log sigma; none: (3 + log d) / (5 sqrt d) for d parameters", PAPER, symbol="eta_sigma"
    )


def utilities(fitness: Sequence[float]) -> np.ndarray:
    """u_k = max(0, log(n/2 + 1) - log k) / sum - 1/n for the ranks k = 1, 2, ... from the best; ties share theirs."""
    values, n = with_worst(fitness), len(fitness)
    by_rank = np.maximum(0.0, math.log(n / 2 + 1) - np.log(np.arange(1, n + 1)))
    by_rank = by_rank / by_rank.sum() - 1.0 / n
    _, group = np.unique(-values, return_inverse=True)
    ordered = np.sort(group)
    shared = np.array([by_rank[ordered == index].mean() for index in range(group.max() + 1)])
    return np.asarray(shared[group])


class SNES(GaussianSearch[SNESSettings, GaussianState]):
    """Separable natural evolution strategy: each parameter has a step size, which follows the ranks."""

    settings_type: ClassVar[type] = SNESSettings

    def start(self, mean: np.ndarray) -> GaussianState:
        return GaussianState(distribution=self.distribution(mean))

    def tell(self, individuals: Sequence[Individual]) -> None:
        """Mean += eta_mu sigma sum u s, sigma *= exp(eta_sigma / 2 sum u (s^2 - 1)), with z = mean + sigma s."""
        settings, old = self.settings, self.state.distribution
        mean, std = old.mean, np.sqrt(old.variance)
        fitness = [individual.fitness for individual in individuals]
        self.state.elites = ranking(fitness)[: len(individuals) // 2]
        samples = [not individual.injected or self.injected != MEAN_ONLY for individual in individuals]
        counted = iter(utilities([f for f, is_sample in zip(fitness, samples) if is_sample]) if any(samples) else ())
        move, growth = np.zeros_like(mean), np.zeros_like(mean)
        for u, individual, is_sample in zip(utilities(fitness), individuals, samples):
            d = displacement(self, individual, mean, std)
            move += u * d
            if is_sample:
                growth += next(counted) * (self._noise(individual, d / std) ** 2 - 1.0)
        size, eta = mean.size, settings.stdev_learning_rate
        step = ((3 + math.log(size)) / (5 * math.sqrt(size)) if eta is None else eta) / 2 * growth
        if self.injected == HANSEN:
            step = np.clip(step, -1.0, 1.0)
        variance = (std * np.exp(step)) ** 2
        moved = mean + settings.mean_learning_rate * move
        self.state.distribution = old.moved(moved, variance, self.context.share)

    def _noise(self, individual: Individual, s: np.ndarray) -> np.ndarray:
        """The noise of a sample, also of an old one, which belongs to another mean than today's; else `s`."""
        z = individual.z
        if individual.injected or not individual.age or not isinstance(z, Perturbed):
            return s
        return z.sign * self.context.store.noise(z.key, s.size).astype(np.float64)

    def metrics(self) -> dict[str, float]:
        return {**super().metrics(), "variance_max": float(self.state.distribution.variance.max())}
