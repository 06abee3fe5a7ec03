"""The tasks of a run that are out: which wait for which, and when each was requested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from erlbench.algorithms.base import Counters
from erlbench.errors import TaskError
from erlbench.work.tasks import ArrayRef, Output, Result, Task, dependencies


@dataclass(slots=True)
class Request:
    """The moment when a task was requested, and what the algorithm had counted then."""

    ready: float  # seconds of the run's clock; later where it had to wait for other tasks
    generation: int
    critic_updates: int


class TaskGraph:
    """Tasks by id, in the order in which they were requested, until their results are delivered.

    A task starts when those that it waits for have finished (`add` and `finish` give the tasks that can start, filled
    with the arrays). In `tasks` its inputs are filled later, when their results are delivered, so that `tasks` does
    not depend on which worker was faster.
    """

    def __init__(self) -> None:
        self.tasks: dict[int, Task] = {}
        self.requests: dict[int, Request] = {}
        self._dependents: dict[int, list[int]] = {}
        self._missing: dict[int, int] = {}  # task -> how many unfinished tasks it waits for
        self._finished: dict[int, Mapping[str, ArrayRef]] = {}  # arrays of what is finished and not delivered

    def __contains__(self, task_id: int) -> bool:
        return task_id in self.tasks

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def first(self) -> int | None:
        """The task that was requested first."""
        return next(iter(self.tasks), None)

    def add(self, tasks: Sequence[Task], now: float, counters: Counters) -> list[Task]:
        """Take in tasks that were requested at `now`, in any order among themselves; those that can start."""
        for task in tasks:
            if task.id in self.tasks:
                raise ValueError(f"{task.label} was submitted twice")
            self.tasks[task.id] = task
            self.requests[task.id] = Request(now, counters.generation, counters.critic_updates)
        ready = []
        for task in tasks:
            if not (others := dependencies(task)):
                ready.append(task)
                continue
            unfinished = {other for other in others if other in self.tasks}  # the rest are delivered
            for other in unfinished:
                self._dependents.setdefault(other, []).append(task.id)
            if missing := len(unfinished - self._finished.keys()):
                self._missing[task.id] = missing
            else:
                ready.append(self._filled(task))
        return ready

    def dependents(self, task_id: int) -> Sequence[int]:
        """The tasks that wait for one that is out."""
        return self._dependents.get(task_id, ())

    def finish(self, result: Result) -> list[Task]:
        """A task has finished, though nobody has its result yet; the tasks that can start now."""
        if result.task not in self.tasks:
            return []
        self._finished[result.task] = result.arrays
        ready = []
        for dependent in self.dependents(result.task):
            if dependent not in self._missing:
                continue
            self._missing[dependent] -= 1
            if not self._missing[dependent]:
                del self._missing[dependent]
                ready.append(self._filled(self.tasks[dependent]))
        return ready

    def note_end(self, result: Result) -> None:
        """Tasks that waited for this one were not ready before its end."""
        for dependent in self.dependents(result.task):
            if request := self.requests.get(dependent):
                request.ready = max(request.ready, result.end)

    def pop(self, result: Result) -> tuple[Task, Request, list[int]]:
        """The task of a result that is delivered, its request, and the tasks that a barrier held back until now."""
        task = self.tasks.pop(result.task)
        self._finished.pop(result.task, None)
        waiting = [dependent for dependent in self._dependents.pop(result.task, ()) if dependent in self.tasks]
        held_back = [dependent for dependent in waiting if result.task in self.tasks[dependent].after]
        for dependent in waiting:
            self.tasks[dependent] = _with_arrays(self.tasks[dependent], result)
        return task, self.requests.pop(task.id), held_back

    def request_again(self, tasks: Iterable[int], counters: Counters) -> None:
        """Count tasks that a barrier held back as requested when it opened: they are not stale for that."""
        for request in map(self.requests.__getitem__, tasks):
            request.generation, request.critic_updates = counters.generation, counters.critic_updates

    def state(self) -> dict[int, list[Any]]:
        """When each task was requested, for a checkpoint."""
        return {
            task_id: [request.generation, request.critic_updates, request.ready]
            for task_id, request in self.requests.items()
        }

    def restore(self, state: Mapping[int, Sequence[Any]], same_clock: bool) -> None:
        """Take in a `state` after its tasks were added; with another clock only the moment is that of now."""
        for task_id, (generation, critic_updates, ready) in state.items():
            moment = ready if same_clock else self.requests[task_id].ready
            self.requests[task_id] = Request(moment, generation, critic_updates)

    def _filled(self, task: Task) -> Task:
        """A task that can start, with arrays for its `Output`s."""
        inputs = dict(task.inputs)
        for key, value in inputs.items():
            if isinstance(value, Output):
                arrays = self._finished.get(value.task, {})
                if value.name not in arrays:
                    message = f"{task.label} needs the output '{value.name}' of task {value.task}, which gives none"
                    raise TaskError(message, task=task.id)
                inputs[key] = arrays[value.name]
        return replace(task, inputs=inputs, after=())


def _with_arrays(task: Task, result: Result) -> Task:
    """`task` after `result`: its outputs as plain references, and no longer to be waited for."""
    inputs = {
        name: result.arrays[value.name] if isinstance(value, Output) and value.task == result.task else value
        for name, value in task.inputs.items()
    }
    return replace(task, inputs=inputs, after=tuple(other for other in task.after if other != result.task))
