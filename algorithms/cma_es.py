"""CMA-ES: the covariance matrix adaptation evolution strategy on policy parameters, by pycma.

Hansen, "The CMA Evolution Strategy: A Tutorial", 2016 (arXiv 1604.00772); its constants and updates are those of
pycma, which is called, not copied. Separable for large policies: Ros and Hansen, PPSN 2008; VD-CMA: Akimoto, Auger
and Hansen, GECCO 2014; VkD-CMA: Akimoto and Hansen, GECCO 2016.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from erlbench.algorithms.base import Algorithm, Context, Needs
from erlbench.algorithms.generation import Generation
from erlbench.algorithms.individuals import FitnessSettings, start_states
from erlbench.algorithms.policy_settings import OURS, PolicySettings, initial_mean
from erlbench.algorithms.search.pycma import (
    COVARIANCES,
    FULL,
    Strategy,
    choose_covariance,
    default_population,
    losses,
    needs_of,
)
from erlbench.envs.functions import share_of_domain
from erlbench.envs.registry import Problem
from erlbench.errors import CellError
from erlbench.settings import setting
from erlbench.work.seeding import Purpose, generator
from erlbench.work.tasks import ArrayRef, Result, Task

PYCMA = "pycma"
# goodai: CMA-ES as in its LunarLander experiment, without the fixed start states and the report of the best sample;
# with them it is `nevergrad@goodai`.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {},
    "linear": {"hidden": (), "sigma_init": 0.5},
    "goodai": {"hidden": (), "squashing": "linear", "initialisation": "zero", "sigma_init": 1.0, "episodes": 5},
}


@dataclass(frozen=True)
class CMAESSettings(PolicySettings, FitnessSettings):
    """Hyper-parameters of CMA-ES."""

    population: int | None = setting(None, "individuals per generation; none: 4 + floor(3 ln N)", PYCMA, minimum=4)
    sigma_init: float = setting(
        0.1,
        "initial standard deviation of each parameter; on functions a quarter of the domain's width",
        OURS,
        by_env=share_of_domain(0.5),
        minimum=1e-12,
    )
    covariance: str = setting(
        "auto", "covariance matrix; auto: full up to 2000 parameters, then diagonal", OURS, choices=COVARIANCES
    )


@dataclass
class CMAESState(Generation):
    """Everything CMA-ES needs to go on, with the told rankings in place of pycma's object."""

    mean: np.ndarray  # (P,) float64
    mean_ref: ArrayRef
    rankings: np.ndarray  # (capacity, population) int32: the losses of the generations told
    individuals: list[ArrayRef] = field(default_factory=list)  # of this generation


class CMAES(Algorithm[CMAESSettings, CMAESState]):
    """Covariance matrix adaptation evolution strategy; full, diagonal or restricted covariance."""

    settings_type: ClassVar[type] = CMAESSettings
    default_workers: ClassVar[int | None] = None

    def __init__(self, settings: CMAESSettings, context: Context) -> None:
        super().__init__(settings, context)
        self._covariance = choose_covariance(settings.covariance, self._policy.size)
        self._population = settings.population or default_population(self._policy.size)
        self._strategy = self._new_strategy()
        mean = self._strategy.mean
        rankings = np.zeros((16, self._population), np.int32)
        self.state = CMAESState(mean, self.share(mean.astype(np.float32)), rankings)

    @classmethod
    def depends_on_budget(cls, settings: CMAESSettings) -> str:
        return ""

    @classmethod
    def needs(cls, settings: CMAESSettings, problem: Problem) -> Needs:
        size = cls.policy_for(settings, problem).size
        return needs_of(settings, problem, size, choose_covariance(settings.covariance, size) == FULL)

    @classmethod
    def check(cls, settings: CMAESSettings, problem: Problem) -> None:
        choose_covariance(settings.covariance, cls.policy_for(settings, problem).size)

    def policy(self) -> ArrayRef:
        return self.state.mean_ref

    def _new_strategy(self) -> Strategy:
        mean = initial_mean(self._policy, self.settings, self.key(Purpose.PARAMETERS))
        return Strategy(
            mean,
            self.settings.sigma_init,
            self._population,
            self._covariance,
            lambda stream: generator(*self.key(Purpose.NOISE, stream)),
        )

    def _ask(self) -> list[Task]:
        """A whole generation when none is under way."""
        state, settings, generation = self.state, self.settings, self.counters.generation
        if state.individuals or self.exhausted:
            return []
        state.individuals = [self.share(x.astype(np.float32)) for x in self._strategy.ask(generation)]
        seeds = start_states(self, generation)
        return self.rollouts(state.individuals, kind="es", episodes=settings.episodes, seeds=seeds)

    def _tell(self, task: Task, result: Result) -> None:
        """Take one individual's fitness; the last one of the generation updates the distribution."""
        state = self.state
        state.take(task.individual, result)
        if len(state.fitness) == len(state.individuals):
            self._update()

    def _update(self) -> None:
        state, generation = self.state, self.counters.generation
        fitness = state.in_order
        if generation == len(state.rankings):
            state.rankings = np.concatenate((state.rankings, np.zeros_like(state.rankings)))
        state.rankings[generation] = losses(fitness)
        self._strategy.tell(state.rankings[generation])
        state.mean = self._strategy.mean
        state.mean_ref = self.share(state.mean.astype(np.float32))
        state.end(fitness)
        state.individuals = []
        self.counters.generation += 1

    def metrics(self) -> dict[str, float]:
        state, stds = self.state, self._strategy.stds
        return {
            **state.extremes(),
            "sigma": self._strategy.sigma,
            "std_min": float(stds.min()),
            "std_max": float(stds.max()),
            "steps": state.previous_steps,
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go on from a snapshot: pycma is told all rankings again, with the noise of their generations."""
        super().restore(snapshot)
        state = self.state
        state.rankings = state.rankings.copy()  # what comes from a file may be read-only
        self._strategy = self._new_strategy()
        for generation in range(self.counters.generation):
            self._strategy.ask(generation)
            self._strategy.tell(state.rankings[generation])
        if not np.array_equal(self._strategy.mean, state.mean):
            raise CellError(
                "the search distribution cannot be computed again from the checkpoint: pycma, numpy or the processor "
                "is another than before; go on where the run began, or start anew by --force"
            )
        if state.individuals:
            self._strategy.ask(self.counters.generation)
