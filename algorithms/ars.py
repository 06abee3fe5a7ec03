"""ARS: augmented random search, version V2, and V1 by a preset.

Mania, Guy, Recht, "Simple random search of static linear policies is competitive for reinforcement learning", NeurIPS
2018, algorithm 2, with details of its public code (github.com/modestyachts/ARS).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from erlbench.algorithms.individuals import FitnessSettings
from erlbench.algorithms.policy_settings import PolicySettings
from erlbench.algorithms.search.observation_statistics import ObservationStatistics
from erlbench.algorithms.search.search import Individual, MirroredSearch, MirroredState, displacement, with_worst
from erlbench.envs.registry import Problem
from erlbench.policy import INITIALISATIONS, SQUASHINGS, PolicySpec
from erlbench.settings import at_least_one, at_least_zero, setting

PAPER, CODE = "ARS, table of chosen settings", "ARS, public code"
PRESETS: Mapping[str, Mapping[str, Any]] = {"v1": {"normalise_observations": False}}


@dataclass(frozen=True, kw_only=True)
class ARSSettings(PolicySettings, FitnessSettings):
    """Hyper-parameters of ARS; the policy is linear, without bias, and starts at zero."""

    hidden: tuple[int, ...] = at_least_one((), "widths of the hidden layers; () is linear", PAPER)
    bias: bool = setting(False, "whether layers have biases", PAPER)
    squashing: str = setting(
        "linear", "how continuous actions are bounded; linear: only the environment clips them", PAPER,
        choices=SQUASHINGS,
    )  # fmt: skip
    initialisation: str = setting("zero", "initialisation of the weights", PAPER, choices=INITIALISATIONS)
    directions: int = at_least_one(
        8,
        "directions per iteration",
        CODE,
        by_env={"Swimmer": 1, "Walker2d": 40, "Ant": 60, "Humanoid": 230},
        symbol="N",
    )
    top: int = at_least_one(
        8,
        "best directions that make the step",
        CODE,
        by_env={"Swimmer": 1, "Hopper": 4, "Walker2d": 30, "Ant": 20, "Humanoid": 230},
        symbol="b",
    )
    step_size: float = at_least_zero(
        0.02, "step size", CODE, by_env={"Hopper": 0.01, "Walker2d": 0.03, "Ant": 0.015}, symbol="alpha"
    )
    nu: float = setting(
        0.03, "standard deviation of the exploration noise", CODE,
        by_env={"Swimmer": 0.01, "Hopper": 0.025, "Walker2d": 0.025, "Ant": 0.025, "Humanoid": 0.0075}, minimum=1e-12,
    )  # fmt: skip
    normalise_observations: bool = setting(
        True, "normalise observations by mean and standard deviation of all that were seen (V2)", PAPER
    )
    reward_shift: float = setting(
        0.0, "subtracted from each reward in what the search is told", CODE,
        by_env={"Hopper": 1.0, "Walker2d": 1.0, "Ant": 1.0, "Humanoid": 5.0},
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.top > self.directions:
            raise ValueError(f"top ({self.top}) cannot exceed directions ({self.directions})")


@dataclass(kw_only=True)
class ARSState(MirroredState):
    """The parameters M as a flat vector, and the statistics of all observations."""

    sigma_r: float = math.nan  # of the last step


class ARS(MirroredSearch[ARSSettings, ARSState]):
    """Augmented random search: mirrored directions of a linear policy, the best of them, steps over sigma_R."""

    settings_type: ClassVar[type] = ARSSettings

    @classmethod
    def policy_for(cls, settings: ARSSettings, problem: Problem) -> PolicySpec:
        return replace(super().policy_for(settings, problem), observation_clip=math.inf)

    @classmethod
    def count_population(cls, settings: ARSSettings) -> int:
        return 2 * settings.directions

    def start(self, mean: np.ndarray) -> ARSState:
        return ARSState(**self.begin(mean))

    def moments(self, statistics: ObservationStatistics) -> np.ndarray:
        return statistics.moments_of_ars

    @property
    def scale(self) -> float:
        return self.settings.nu

    def tell(self, individuals: Sequence[Individual]) -> None:
        """Lines 6 to 8: M += alpha / (b sigma_R) sum of (r+ - r-) delta over the b best directions.

        Ties with the last of the b are also kept, and b is the number of kept ones. A trained individual counts by
        its displacement: the pair's term is (r+ - r) delta+ + (r- - r) delta-, r the mean of what is kept.
        """
        settings, state = self.settings, self.state
        returns = with_worst([individual.fitness for individual in individuals]).reshape(-1, 2)
        best = returns.max(axis=1)
        kept = np.flatnonzero(best >= np.percentile(best, 100 * (1 - settings.top / settings.directions)))
        state.elites = [int(2 * pair + returns[pair].argmax()) for pair in kept[np.argsort(-best[kept], kind="stable")]]
        state.sigma_r = float(returns[kept].std())
        step, scale = np.zeros_like(state.mean), np.full_like(state.mean, settings.nu)
        for pair in kept if state.sigma_r else ():  # equal returns tell nothing
            both = [individuals[2 * int(pair) + second] for second in (0, 1)]
            if any(individual.injected for individual in both):
                advantage = returns[pair] - returns[kept].mean()
                step += sum(
                    a * displacement(self, individual, state.mean, scale) / settings.nu
                    for a, individual in zip(advantage, both)
                )
            else:
                delta = self.context.store.noise(both[0].z.key, state.mean.size)  # type: ignore[union-attr]
                step += (returns[pair, 0] - returns[pair, 1]) * delta.astype(np.float64)
        if state.sigma_r:
            state.mean = state.mean + settings.step_size / (len(kept) * state.sigma_r) * step
        state.policy = self.publish(state.mean, state.statistics)

    def metrics(self) -> dict[str, float]:
        return {"sigma_r": self.state.sigma_r, **super().metrics()}
