"""A verdict as a value: what was compared, by which rule, from which runs, and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from erlbench.reporting.verdict.rule import Case, Ruling

SIMILAR = 1.1  # times the simulator steps of the other side: more is said
NO_PLAN, FOLLOWED, DEPARTED = "none", "followed", "departed"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One algorithm of a comparison."""

    name: str
    scores: tuple[float, ...]  # one a seed
    seeds: tuple[int, ...]  # with a finished run
    runs: tuple[str, ...]  # folders of those that count
    failed: int  # runs
    training_steps: float  # mean over runs, at the moment of the score
    simulator_steps: float  # the same with the steps that measure the mean for learning
    near_best: int  # seeds within the margin of the best mean
    minutes: float  # of training, median over runs
    modelled: bool  # minutes of simulated time


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What is known of two algorithms in an environment; the effect is that of `first` minus `second`."""

    case: Case
    reason: str  # why they are not comparable; else empty
    env: str
    budget: str
    axis: str  # that the score is read on
    score: str  # what a score is, with its stretch
    first: Sample
    second: Sample
    outcome: Ruling | None  # None: not comparable
    margin: float  # of equivalence, as a share
    origin: float  # from which shares are reckoned: a random policy's score
    equal_steps: tuple[float, float] | None  # mean scores where both have used as many simulator steps
    unequal: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # settings that both have
    plan: str = NO_PLAN  # or FOLLOWED, DEPARTED

    @property
    def ratio(self) -> float:
        """Simulator steps of the side that used more, as a multiple of the other's."""
        few, many = sorted((self.first.simulator_steps, self.second.simulator_steps))
        return many / few if few > 0 else float("nan")
