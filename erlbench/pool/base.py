"""What all pools share: their interface, and the bookkeeping of tasks that wait for other tasks."""

from __future__ import annotations

import heapq
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from erlbench.errors import TaskError
from erlbench.machine.threads import ONE_THREAD
from erlbench.work.store import Store
from erlbench.work.tasks import ArrayRef, Input, Output, Result, Task, dependencies, needed


@dataclass(frozen=True)
class PoolEvent:
    """Something that a user may want to know although the run went on."""

    time: float  # of the pool's clock, in seconds
    event: str  # such as `worker died` or `node joined`
    message: str


class Pool(Protocol):
    """Runs tasks. Whatever the pool and its size, a task's outcome is the same."""

    @property
    def store(self) -> Store:
        """Where arrays are."""

    @property
    def processes(self) -> int:
        """How many tasks may run at once."""

    @property
    def device(self) -> str:
        """The device of gradient tasks, as asked for; `auto` gives way to what was found."""

    def prepare(self, task: Task, workers: int) -> None:
        """Run `task` on `workers` workers of the kind that it needs, as far as there are slots; wait for them.

        To be called while the pool has no other task. Raises as `next_result` does.
        """

    def submit(self, tasks: Iterable[Task]) -> None:
        """Take tasks in; those that they wait for are submitted with them, or earlier, or finished."""

    def next_result(self, timeout: float | None = None) -> Result | None:
        """The next finished task, or None after `timeout` seconds or when there is no task left.

        Raises what the task raised, with the task's id and kind in the message, and `TaskError` for a task that
        has killed three workers. A pool that has raised can be reset or closed.
        """

    def running(self) -> Mapping[int, Task]:
        """Slot -> the task that it runs now; of tasks sent together, the first that has not come back."""

    def events(self) -> list[PoolEvent]:
        """What happened since the last call."""

    def now(self) -> float:
        """The clock of results and events in seconds: time.monotonic(), or simulated time."""

    def state(self, held: Iterable[Result] = ()) -> dict[str, Any]:
        """What a checkpoint has to keep of the pool, as plain values; nothing in real time.

        The tasks of `held` will be submitted again: their results are here, but the algorithm has not had them.
        """

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on at the moment of `state`; to be called before the unfinished tasks are submitted again."""

    def reset(self) -> None:
        """Forget all tasks and outputs, and stop the tasks that run; ids may be used again."""

    def interrupt(self) -> None:
        """Have a task that runs in this process end without a result, and `prepare` by `Interrupted`.

        May be called from another thread, and again. Tasks in other processes are ended by `reset`.
        """

    def close(self) -> None:
        """End the workers, and remove the store if the pool made it."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


class PoolBase(ABC):
    """What pools share that run in real time: nothing of them is in a checkpoint. They append to `_events`."""

    def __init__(self) -> None:
        self._events: list[PoolEvent] = []
        self._entered = ExitStack()

    def events(self) -> list[PoolEvent]:
        events, self._events = self._events, []
        return events

    def now(self) -> float:
        return time.monotonic()

    def state(self, held: Iterable[Result] = ()) -> dict[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.reset()

    @abstractmethod
    def reset(self) -> None: ...

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        self._entered.enter_context(ONE_THREAD.hold())
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self.close()
        finally:
            self._entered.close()


class Queue:
    """Tasks that wait for other tasks, and the ready ones by (priority, id), in a queue for each value of `lane`."""

    def __init__(self, lane: Callable[[Task], Hashable]) -> None:
        self._lane = lane
        self._unfinished: dict[int, Task] = {}
        self._waiting: dict[int, int] = {}  # task -> how many tasks it still waits for
        self._dependents: dict[int, list[int]] = {}
        self._outputs: dict[int, Mapping[str, ArrayRef]] = {}  # of finished tasks that have any
        self._ready: dict[Hashable, list[tuple[int, int]]] = {}
        self._lanes: Counter[Hashable] = Counter()

    def __len__(self) -> int:
        """Number of tasks that are not finished."""
        return len(self._unfinished)

    def add(self, tasks: Iterable[Task]) -> None:
        """Take tasks in, in any order among themselves."""
        tasks = list(tasks)
        for task in tasks:
            if task.id in self._unfinished:
                raise ValueError(f"{name(task)} was submitted twice")
            self._unfinished[task.id] = task
            self._lanes[self._lane(task)] += 1
        for task in tasks:
            if not (others := dependencies(task)):
                self._push(task)
                continue
            for other in needed(task):
                if other not in self._outputs and other not in self._unfinished:
                    raise TaskError(f"{name(task)} needs an output of task {other}, which gives none", task=task.id)
            missing = [other for other in others if other in self._unfinished]  # the rest are finished
            for other in missing:
                self._dependents.setdefault(other, []).append(task.id)
            if missing:
                self._waiting[task.id] = len(missing)
            else:
                self._push(task)

    def unfinished(self, lane: Hashable) -> int:
        """Number of tasks of `lane` that are not finished."""
        return self._lanes[lane]

    def ready(self, lane: Hashable) -> list[tuple[int, int]]:
        """The heap of (priority, id) of the ready tasks of `lane`."""
        return self._ready.setdefault(lane, [])

    def first(self, lane: Hashable) -> Task | None:
        """The task that `pop` would give."""
        ready = self.ready(lane)
        return self._unfinished[ready[0][1]] if ready else None

    def pop(self, lane: Hashable) -> Task:
        """The first ready task of `lane`, its `Output`s replaced by the arrays."""
        return self._resolved(self._unfinished[heapq.heappop(self._ready[lane])[1]])

    def take(self, task_id: int) -> Task:
        """A ready task out of its turn, with its `Output`s replaced."""
        task = self._unfinished[task_id]
        heap = self._ready[self._lane(task)]
        heap.remove((task.priority, task_id))
        heapq.heapify(heap)
        return self._resolved(task)

    def again(self, task: Task) -> None:
        """Make a task ready that had been popped."""
        self._push(task)

    def finish(self, result: Result) -> None:
        """Note a finished task; those that waited only for it become ready."""
        self.drop(result.task)
        if result.arrays:
            self._outputs[result.task] = result.arrays
        for dependent in self._dependents.pop(result.task, ()):
            self._waiting[dependent] -= 1
            if not self._waiting[dependent]:
                del self._waiting[dependent]
                self._push(self._unfinished[dependent])

    def drop(self, task_id: int) -> None:
        """Forget a task that was popped; those that wait for it wait on."""
        self._lanes[self._lane(self._unfinished.pop(task_id))] -= 1

    def clear(self) -> None:
        """Forget all tasks and outputs."""
        for container in (self._unfinished, self._waiting, self._dependents, self._outputs, self._ready, self._lanes):
            container.clear()

    def _push(self, task: Task) -> None:
        heapq.heappush(self.ready(self._lane(task)), (task.priority, task.id))

    def _resolved(self, task: Task) -> Task:
        if not needed(task):
            return task
        return replace(task, inputs={key: self._resolve(task, value) for key, value in task.inputs.items()})

    def _resolve(self, task: Task, value: Input) -> Input:
        if not isinstance(value, Output):
            return value
        arrays = self._outputs.get(value.task, {})
        if value.name not in arrays:
            message = f"{name(task)} needs the output '{value.name}' of task {value.task}, which gives none"
            raise TaskError(message, task=task.id)
        return arrays[value.name]


def name(task: Task) -> str:
    """How messages name a task."""
    return f"task {task.id} ({task.kind})"
