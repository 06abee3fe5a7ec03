"""The episodes that are the fitness of a search's individuals: their settings, start states and returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from erlbench.algorithms.base import Algorithm
from erlbench.algorithms.policy_settings import OURS, PolicySettings, initial_mean, make_policy_spec
from erlbench.settings import at_least_one, setting
from erlbench.work.rollout import REFUSE, WORST
from erlbench.work.seeding import Key, Purpose, environment_seed
from erlbench.work.tasks import Result

# Packages with an algorithm also import `PolicySettings`, `initial_mean` and `make_policy_spec` from here.
__all__ = [
    "START_STATES",
    "FitnessSettings",
    "Generation",
    "NanSettings",
    "PolicySettings",
    "compute_fitness",
    "initial_mean",
    "make_policy_spec",
    "start_states",
]

START_STATES = ("fresh", "generation", "fixed")


@dataclass(frozen=True)
class FitnessSettings:
    """Hyper-parameters of an individual's evaluation."""

    episodes: int = at_least_one(1, "episodes whose mean return is an individual's fitness", OURS)
    start_states: str = setting(
        "fresh",
        "start states of episodes: fresh, the same within a generation, or fixed for the run",
        OURS,
        choices=START_STATES,
    )


@dataclass(frozen=True)
class NanSettings:
    """What becomes of an individual whose return is NaN; for searches that go by ranks."""

    nan_fitness: str = setting(
        REFUSE, "a return that is NaN: refuse ends the run, worst ranks the individual last", OURS,
        choices=(REFUSE, WORST),
    )  # fmt: skip


Evaluated = TypeVar("Evaluated", bound=FitnessSettings)


def nan_as_worst(fitness: np.ndarray) -> np.ndarray:
    """Fitness with a number below all others, by 1, in place of NaN."""
    missing = np.isnan(fitness)
    lowest = 0.0 if missing.all() else fitness[~missing].min() - 1.0
    return np.where(missing, lowest, fitness)


def start_states(algorithm: Algorithm[Evaluated, Any], generation: int, episodes: int | None = None) -> list[int]:
    """The start states that the individuals of a generation share; none where each has other ones.

    `episodes` is how many; by default an individual's.
    """
    settings = algorithm.settings
    if settings.start_states == "fresh":
        return []
    common = generation if settings.start_states == "generation" else 0
    count = settings.episodes if episodes is None else episodes
    return [*_common_seeds(algorithm.key(Purpose.EPISODE, common), count)]


@lru_cache(maxsize=8)  # all individuals of a generation ask for the same
def _common_seeds(key: Key, count: int) -> tuple[int, ...]:
    return tuple(environment_seed(*key, episode) for episode in range(count))


def compute_fitness(result: Result) -> float:
    """The mean return of an individual's episodes."""
    returns = result.values["returns"]
    return float(np.mean(returns)) if len(returns) > 1 else float(returns[0])  # numpy would take most of the time


@dataclass(kw_only=True)
class Generation:
    """What the states of strategies with a fixed population have in common; their base."""

    fitness: dict[int, float] = field(default_factory=dict)  # by individual, those evaluated so far
    steps: int = 0  # of this generation's episodes so far
    previous_steps: int = 0  # of the whole generation before
    best: float = math.nan  # fitness in the generation before
    average: float = math.nan

    def take(self, individual: int, result: Result, fitness: float | None = None) -> None:
        """Take in the episodes that are an individual's fitness, by default their mean return."""
        self.fitness[individual] = compute_fitness(result) if fitness is None else fitness
        self.steps += sum(result.values["lengths"])

    @property
    def in_order(self) -> list[float]:
        """The fitness of all, by individual; once all are evaluated."""
        return [self.fitness[individual] for individual in range(len(self.fitness))]

    def end(self, fitness: Sequence[float]) -> None:
        """The generation with this fitness is over; best and mean are of what is finite, NaN where nothing is."""
        finite = [value for value in fitness if math.isfinite(value)]
        self.best = max(finite, default=math.nan)
        self.average = math.fsum(finite) / len(finite) if finite else math.nan
        self.fitness = {}
        self.previous_steps, self.steps = self.steps, 0

    def extremes(self) -> dict[str, float]:
        """The first columns of train.csv."""
        return {"fitness_best": self.best, "fitness_mean": self.average}
