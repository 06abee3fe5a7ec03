"""A verdict as a value: what was compared, by which rule, from which runs, and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from erlbench.reporting.verdict.rule import Case, Ruling

SIMILAR = 1.1  # times the simulator steps of the other side: more is said


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
    measured_minutes: float  # of training, median over the runs by the clock; NaN without one
    modelled_minutes: float  # the same of those in simulated time


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
    margin: float  # as a share
    origin: float  # from which shares are reckoned: a random policy's score
    equal_steps: tuple[float, float] | None  # mean scores where both have used as many simulator steps
    unequal: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # settings that both have
    defaults: bool = False  # no setting of either was overridden

    @property
    def ordered(self) -> tuple[Sample, Sample]:
        """The better one, the worse one, by the ranks."""
        assert self.outcome is not None
        above = self.outcome.difference.probability > 0.5
        return (self.first, self.second) if above else (self.second, self.first)

    @property
    def by_steps(self) -> tuple[Sample, Sample]:
        """The one that used more steps of the simulator, the other one."""
        more = self.first.simulator_steps >= self.second.simulator_steps
        return (self.first, self.second) if more else (self.second, self.first)

    @property
    def ratio(self) -> float:
        """Simulator steps of the side that used more, as a multiple of the other's."""
        many, few = (one.simulator_steps for one in self.by_steps)
        return many / few if few > 0 else float("nan")
