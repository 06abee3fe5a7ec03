"""What a schedule is: the order in which a critic learns, actors are trained, and individuals play."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from erlbench.algorithms.individuals import start_states
from erlbench.work.tasks import Counts, Input, Result, Task

if TYPE_CHECKING:
    from erlbench.algorithms.hybrid import Hybrid


@dataclass(kw_only=True)
class ScheduleState:
    """The base of the states of schedules."""


def mean_fitness(result: Result) -> float:
    """F(mu) of the mean's episodes."""
    returns = result.values["returns"]
    return math.fsum(returns) / len(returns)


class Schedule(ABC):
    """Asks for tasks and takes their results, for a run with a search, a coupling and perhaps a critic."""

    settings_type: ClassVar[type]
    generations: ClassVar[bool] = True
    default_workers: ClassVar[int | None] = None  # of an algorithm without a number
    state: Any

    def __init__(self, settings: Any, run: Hybrid[Any]) -> None:
        self.settings, self.run = settings, run

    @classmethod
    def is_synchronous(cls, settings: Any) -> bool:
        return True

    @classmethod
    def gradient_workers(cls, trained: int, workers: int) -> int:
        """The most tasks with gradient steps at once, where `trained` actors are trained in a generation."""
        return trained + 1 if trained else 0

    @property
    @abstractmethod
    def warm(self) -> bool:
        """Whether there is enough experience to learn from."""

    def episodes(self, policies: Sequence[Input], kind: str, individual: int, number: int) -> list[Task]:
        """The episodes that are the fitness of individuals from `individual` on; see `start_states` on `number`.

        Where somebody learns from everybody, they go to the replay.
        """
        run = self.run
        return run.rollouts(
            policies,
            kind=kind,
            individual=individual,
            episodes=run.settings.episodes,
            seeds=start_states(run, number),
            observe=float(run.policy_spec.normalisation),
            record=run.learns and run.coupling.records,
            random_actions=kind == "random",
            mode=run.acts_by_mode,
        )

    def measurement(self, mean: Input, number: int, individual: int = 0) -> Task:
        """The episodes of the mean, where the search compares individuals with it; see `start_states`."""
        run, episodes = self.run, self.run.search.mean_episodes
        fields = {"episodes": episodes, "seeds": start_states(run, number, episodes), "mode": run.acts_by_mode}
        return run.rollout(mean, kind="mean", counts=Counts.FITNESS, individual=individual, **fields)

    @abstractmethod
    def ask(self) -> list[Task]: ...

    @abstractmethod
    def tell(self, task: Task, result: Result) -> None: ...

    @abstractmethod
    def metrics(self) -> dict[str, float]: ...
