"""The scale of returns in an environment for which no paper has one: a rule from the first individuals' returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

FEWEST = 10  # individuals whose returns give a scale
UNKNOWN = 1.0  # while all returns are equal


@dataclass
class FitnessScale:
    """What is known of the returns: all of them until the scale is fixed, then two numbers."""

    returns: list[float] = field(default_factory=list)
    spread: float | None = None  # the scale, once it is fixed
    lowest: float | None = None  # a bad score, likewise

    @property
    def known(self) -> bool:
        """Whether the scale is fixed for the rest of the run."""
        return self.spread is not None

    def add(self, fitness: float, warm: bool) -> None:
        """Note an individual's fitness; the scale is fixed when the warm-up is over and returns differ."""
        if self.known or not math.isfinite(fitness):
            return
        self.returns.append(fitness)
        if warm and len(self.returns) >= FEWEST and (found := deviation(self.returns)) > 0.0:
            self.spread, self.lowest, self.returns = found, min(self.returns), []

    def now(self) -> float:
        """The scale as it is known now, above 0."""
        return self.spread or deviation(self.returns) or UNKNOWN

    def worst(self) -> float:
        """A bad score as it is known now."""
        return self.lowest if self.lowest is not None else min(self.returns, default=-UNKNOWN)


def deviation(returns: Sequence[float]) -> float:
    """The sample standard deviation; 0 for fewer than two."""
    if len(returns) < 2:
        return 0.0
    mean = math.fsum(returns) / len(returns)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in returns) / (len(returns) - 1))
