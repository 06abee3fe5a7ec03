"""The generation under way: what is known of its individuals, and how the one before ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from erlbench.algorithms.individuals import fitness_of
from erlbench.work.tasks import Result


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
        self.fitness[individual] = fitness_of(result) if fitness is None else fitness
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
