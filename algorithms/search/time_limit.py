"""How long the episodes of a generation may be: the environment's limit, or one that adapts to what was played.

Salimans et al. ("Evolution Strategies as a Scalable Alternative to Reinforcement Learning", 2017, section 2.2) cap
episodes, at twice the mean length for example, so that a few long ones do not leave the other processes idle; their
public code raises a limit when many episodes reach it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

ENVIRONMENT, ADAPTIVE, MEAN = "environment", "adaptive", "mean"
FORMS = f"{ENVIRONMENT}, {ADAPTIVE}:START,SHARE,FACTOR or {MEAN}:FACTOR"


@dataclass(frozen=True)
class TimeLimit:
    """A rule for the limit, in steps.

    `environment`: the environment's. `adaptive`: `start`; times `factor`, rounded down, after a generation in which
    at least the share `share` of the episodes was as long as the limit. `mean`: `factor` times the mean length of the
    generation before, the environment's in the first. None is ever above `highest`.
    """

    rule: str
    highest: int
    start: int = 0
    share: float = 0.0
    factor: float = 1.0

    @classmethod
    def parse(cls, text: str, highest: int) -> TimeLimit:
        """The rule that `text` names in one of `FORMS`; raises ValueError."""
        rule, _, rest = text.partition(":")
        try:
            numbers = [float(word) for word in rest.split(",")] if rest else []
        except ValueError:
            numbers = [-1.0]
        numbers = [number if math.isfinite(number) else -1.0 for number in numbers]
        if rule == ENVIRONMENT and not rest:
            return cls(rule, highest)
        if rule == ADAPTIVE and len(numbers) == 3 and numbers[0] >= 1 and 0 < numbers[1] <= 1 < numbers[2]:
            return cls(rule, highest, int(numbers[0]), numbers[1], numbers[2])
        if rule == MEAN and len(numbers) == 1 and numbers[0] >= 1:
            return cls(rule, highest, factor=numbers[0])
        raise ValueError(f"time_limit must be {FORMS}, with START >= 1, 0 < SHARE <= 1 < FACTOR, not '{text}'")

    @property
    def first(self) -> int:
        """The limit of the first generation."""
        return min(self.start, self.highest) if self.rule == ADAPTIVE else self.highest

    def next(self, limit: int, lengths: Sequence[int]) -> int:
        """The limit after a generation with `limit` and episodes of these lengths."""
        if self.rule == ENVIRONMENT or not lengths:
            return limit
        if self.rule == MEAN:
            new = int(self.factor * sum(lengths) / len(lengths))
        else:
            reached = sum(length >= limit for length in lengths) / len(lengths)
            new = int(self.factor * limit) if reached >= self.share else limit
        return max(1, min(new, self.highest))
