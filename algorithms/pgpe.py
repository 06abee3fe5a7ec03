"""PGPE with ClipUp: policy gradients with parameter-based exploration.

Sehnke et al., "Parameter-exploring policy gradients", Neural Networks 23, 2010, in the form of Toklu, Liskowski,
Srivastava, "ClipUp: A Simple and Powerful Optimizer for Distribution-based Policy Evolution", PPSN 2020, with
details of its public code (github.com/nnaisense/pgpelib).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from erlbench.algorithms.individuals import FitnessSettings
from erlbench.algorithms.policy_settings import PolicySettings
from erlbench.algorithms.search.evolution_strategy import centred_ranks
from erlbench.algorithms.search.optimisers import ClipUp, Moments
from erlbench.algorithms.search.search import (
    MEAN_ONLY,
    Individual,
    MirroredSearch,
    MirroredState,
    displacement,
    with_worst,
)
from erlbench.algorithms.search.search_distribution import ranking
from erlbench.policy import INITIALISATIONS
from erlbench.settings import at_least_one, at_least_zero, fraction, setting
from erlbench.work.tasks import ArrayRef

PAPER, CODE = "ClipUp, table 1", "ClipUp, public code"
# EvoTorch's script rl_clipup.py: step size and radius as multiples of the maximum speed
PRESETS: Mapping[str, Mapping[str, Any]] = {"evotorch": {"step_size": 0.01125, "radius": 0.225}}


@dataclass(frozen=True, kw_only=True)
class PGPESettings(PolicySettings, FitnessSettings):
    """Hyper-parameters of PGPE; the policy is linear with bias, and starts at zero."""

    hidden: tuple[int, ...] = at_least_one((), "widths of the hidden layers; () is linear", PAPER)
    initialisation: str = setting("zero", "initialisation of the weights", PAPER, choices=INITIALISATIONS)
    population: int = setting(
        100, "individuals per generation, two of each mirrored pair (lambda)", PAPER,
        by_env={"Humanoid": 200, "LunarLanderContinuous": 200}, minimum=2,
    )  # fmt: skip
    population_max: int = at_least_zero(
        0,
        "a generation gets further populations below this number; 0: none",
        PAPER,
        by_env={"Walker2d": 800, "Humanoid": 3200},
        symbol="lambda_max",
    )
    generation_steps: int = at_least_zero(
        0, "and below so many environment steps", PAPER, by_env={"Walker2d": 75_000, "Humanoid": 150_000}, symbol="T"
    )
    radius: float = setting(
        0.225, "length of the initial standard deviations: each is radius / sqrt(d)", PAPER,
        by_env={"Humanoid": 0.27, "LunarLanderContinuous": 4.5}, minimum=1e-12,
    )  # fmt: skip
    max_speed: float = at_least_zero(
        0.015, "longest step of the mean", PAPER, by_env={"LunarLanderContinuous": 0.3}, symbol="v_max"
    )
    step_size: float = at_least_zero(
        0.0075, "length of a gradient in the velocity", PAPER, by_env={"LunarLanderContinuous": 0.15}, symbol="alpha"
    )
    momentum: float = fraction(0.9, "momentum of the velocity", PAPER, symbol="m")
    stdev_learning_rate: float = at_least_zero(0.1, "step of the standard deviations", PAPER, symbol="eta_sigma")
    stdev_max_change: float = setting(
        0.2, "largest change of a standard deviation, relative", PAPER, minimum=0, maximum=0.99
    )
    normalise_observations: bool = setting(
        True, "normalise observations by mean and standard deviation of all that were seen", PAPER,
        by_env={"LunarLanderContinuous": False},
    )  # fmt: skip
    reward_shift: float = setting(
        0.0, "subtracted from each reward in what the search is told", PAPER, by_env={"Walker2d": 1.0, "Humanoid": 5.0}
    )

    def __post_init__(self) -> None:
        if self.population % 2:
            raise ValueError(f"population must be even, for mirrored pairs, not {self.population}")


@dataclass(kw_only=True)
class PGPEState(MirroredState):
    """Mean, standard deviations, velocity, and the statistics of all observations."""

    std: np.ndarray  # (P,) float64
    std_ref: ArrayRef
    velocity: Moments


class PGPE(MirroredSearch[PGPESettings, PGPEState]):
    """Policy gradients with parameter-based exploration: mirrored pairs, ranks, ClipUp."""

    settings_type: ClassVar[type] = PGPESettings

    def start(self, mean: np.ndarray) -> PGPEState:
        settings = self.settings
        self._clipup = ClipUp(settings.step_size, settings.max_speed, settings.momentum)
        std = np.full(mean.size, settings.radius / math.sqrt(mean.size))
        std_ref = self.context.share(std.astype(np.float32))
        return PGPEState(std=std, std_ref=std_ref, velocity=self._clipup.start(mean.size), **self.begin(mean))

    @property
    def scale(self) -> ArrayRef:
        return self.state.std_ref

    def extends(self, steps: int, individuals: int) -> bool:
        return steps < self.settings.generation_steps and individuals < self.settings.population_max

    def tell(self, individuals: Sequence[Individual]) -> None:
        """The two gradients, with centred ranks w whose mean is zero, d = z - mean and n pairs.

        Mean: sum of w d / (2 n), which is sum of (w+ - w-) sigma e / (2 n) for mirrored samples. Sigma: sum of w (d^2 -
        sigma^2) / (2 n sigma), the same as with (w+ + w-) / 2 for mirrored samples. By default trained individuals have
        no part in sigma's.
        """
        settings, state = self.settings, self.state
        fitness = with_worst([individual.fitness for individual in individuals])
        state.elites = ranking(fitness.tolist())[: len(individuals) // 2]
        samples = np.array([not individual.injected or self.injected != MEAN_ONLY for individual in individuals])
        of_mean, of_std = centred_ranks(fitness), np.zeros(len(fitness))
        of_std[samples] = centred_ranks(fitness[samples])
        slope, growth = np.zeros_like(state.mean), np.zeros_like(state.mean)
        for w, v, individual in zip(of_mean, of_std, individuals):
            d = displacement(self, individual, state.mean, state.std)
            slope += w * d
            growth += v * (d * d - state.std**2) / state.std
        change = settings.stdev_learning_rate * growth / max(1, samples.sum())
        limit = settings.stdev_max_change * state.std
        state.std = state.std + np.clip(change, -limit, limit)
        state.mean = state.mean + self._clipup.step(state.velocity, slope / len(individuals))
        state.policy = self.publish(state.mean, state.statistics)
        state.std_ref = self.context.share(state.std.astype(np.float32))

    def metrics(self) -> dict[str, float]:
        state = self.state
        return {
            "stdev_mean": float(state.std.mean()),
            **super().metrics(),
            "speed": float(np.linalg.norm(state.velocity.first)),
        }
