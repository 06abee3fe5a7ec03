"""The tasks of a run that are out: what waits for what, and whose turn it is."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from erlbench.algorithms.base import Counters
from erlbench.work.tasks import Output, Result, Task, dependencies


@dataclass(frozen=True)
class Asked:
    """The moment when a task was asked for, and what the algorithm had counted then."""

    ready: float  # seconds of the pool's clock; later where it had to wait for other tasks
    generation: int
    critic_updates: int


class Outstanding:
    """Tasks by id, in the order in which they were asked for; `in_order`: so are results delivered."""

    def __init__(self, in_order: bool) -> None:
        self.tasks: OrderedDict[int, Task] = OrderedDict()
        self.arrived: dict[int, Result] = {}  # in order: results that wait for their turn
        self.asked: dict[int, Asked] = {}
        self._in_order = in_order
        self._dependents: dict[int, list[int]] = {}

    def add(self, tasks: Iterable[Task], now: float, counters: Counters) -> None:
        """Take in tasks that the algorithm asked for at `now`, seconds of the pool's clock."""
        asked = Asked(now, counters.generation, counters.critic_updates)
        for task in tasks:
            self.tasks[task.id] = task
            self.asked[task.id] = asked
            for other in dependencies(task):
                self._dependents.setdefault(other, []).append(task.id)

    def in_turn(self, result: Result) -> Iterator[Result]:
        """Take in a result, and give those whose turn it is now; each is to be removed before the next is asked for."""
        for dependent in self._dependents.get(result.task, ()):
            if asked := self.asked.get(dependent):
                self.asked[dependent] = replace(asked, ready=max(asked.ready, result.end))
        if not self._in_order:
            yield result
            return
        self.arrived[result.task] = result
        while self.tasks and (first := next(iter(self.tasks))) in self.arrived:
            yield self.arrived.pop(first)

    def remove(self, result: Result) -> tuple[Task, Asked, list[int]]:
        """The task of a result, when it was asked for, and the tasks that a barrier held back until now.

        The tasks that waited for the result get its arrays.
        """
        task = self.tasks.pop(result.task)
        waiting = [other for other in self._dependents.pop(result.task, ()) if other in self.tasks]
        held_back = [other for other in waiting if result.task in self.tasks[other].after]
        for other in waiting:
            self.tasks[other] = _filled(self.tasks[other], result)
        return task, self.asked.pop(task.id), held_back

    def ask_again(self, tasks: Iterable[int], counters: Counters) -> None:
        """Count tasks that a barrier held back as asked for when it opened: they are not stale for that."""
        for task_id in tasks:
            self.asked[task_id] = replace(
                self.asked[task_id], generation=counters.generation, critic_updates=counters.critic_updates
            )

    def state(self) -> dict[int, list[Any]]:
        """When each task was asked for, for a checkpoint."""
        return {task_id: [asked.generation, asked.critic_updates, asked.ready] for task_id, asked in self.asked.items()}

    def restore(self, state: Mapping[int, Sequence[Any]], same_clock: bool) -> None:
        """Take in a `state` after its tasks were added; with another clock only the moment is that of now."""
        for task_id, (generation, critic_updates, *ready) in state.items():
            known = ready[0] if ready and same_clock else self.asked[task_id].ready
            self.asked[task_id] = Asked(known, generation, critic_updates)


def _filled(task: Task, result: Result) -> Task:
    """`task` after `result`: its outputs as plain references, and no longer to be waited for."""
    inputs = {
        name: result.arrays[value.name] if isinstance(value, Output) and value.task == result.task else value
        for name, value in task.inputs.items()
    }
    return replace(task, inputs=inputs, after=tuple(other for other in task.after if other != result.task))
