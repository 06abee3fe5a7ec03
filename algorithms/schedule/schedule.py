"""What a schedule is: the order in which a critic learns, actors are trained, and individuals play."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from erlbench.work.tasks import Result, Task

if TYPE_CHECKING:
    from erlbench.algorithms.hybrid import Hybrid


@dataclass(kw_only=True)
class ScheduleState:
    """The base of the states of schedules."""


class Schedule(ABC):
    """Asks for tasks and takes their results, for a run with a search, a coupling and perhaps a critic."""

    settings_type: ClassVar[type]
    generations: ClassVar[bool] = True
    state: Any

    def __init__(self, settings: Any, run: Hybrid[Any]) -> None:
        self.settings, self.run = settings, run

    @classmethod
    def is_synchronous(cls, settings: Any) -> bool:
        return True

    @classmethod
    def gradient_workers(cls, settings: Any, trained: int, workers: int) -> int:
        """The most tasks with gradient steps at once, where `trained` actors are trained in a generation."""
        return trained + 1 if trained else 0

    @property
    @abstractmethod
    def warm(self) -> bool:
        """Whether there is enough experience to learn from."""

    @abstractmethod
    def ask(self) -> list[Task]: ...

    @abstractmethod
    def tell(self, task: Task, result: Result) -> None: ...

    @abstractmethod
    def metrics(self) -> dict[str, float]: ...
