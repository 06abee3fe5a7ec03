"""Simulated time: times, and the outcome of asynchronous algorithms, that do not depend on the machine.

An inner pool runs the tasks as fast as it can; their results are delivered in the order in which `workers` virtual
processors would have finished them. Critic tasks have a processor of their own, as in AES-RL (Lee et al., 2020),
where one worker trains the critic, or share those of all others, as in this suite's pool of processes. Evaluations need
none. A task's duration is modelled by what it did, and by how many others of the training run at the same time.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Protocol, Self

from erlbench.pool.base import Pool, PoolEvent, Queue
from erlbench.work.store import Store
from erlbench.work.tasks import Priority, Result, Task, timesteps_of

ACTORS, CRITIC, EVALUATION = "actors", "critic", "evaluation"


@dataclass(frozen=True)
class Start:
    """When a task began, in virtual seconds, and on which virtual processor."""

    task: Task
    time: float
    processor: int
    past: bool = False  # it ended before an interruption, and only its outcome is made again


class TaskCosts(Protocol):
    """How long tasks take, and the driver between two generations."""

    @property
    def update(self) -> float:
        """Seconds of the driver from the last result of all tasks to the next ones."""

    def seconds(self, timesteps: float, critic_updates: float, actor_updates: float) -> float:
        """A task that did so much, alone."""

    def slowed(self, tasks: int) -> float:
        """By which factor tasks take longer while so many run at once."""


class SimulatedPool:
    """Wraps a pool. It neither owns nor closes the store.

    Virtual processors 0 to `workers` - 1 take rollouts and actors, processor `workers` the critic's tasks unless
    `shared_critic`; number `workers` + 1 stands for all evaluations, which start when submitted and hinder nobody.
    """

    def __init__(self, inner: Pool, workers: int, costs: TaskCosts, shared_critic: bool = False) -> None:
        self.inner = inner
        self.store: Store = inner.store
        self.processes = inner.processes
        self.workers = workers
        self.costs = costs
        self.lane = shared_lane if shared_critic else lane
        self._queue = Queue(self.lane)
        self._now = 0.0
        self._free = {ACTORS: list(range(workers)), CRITIC: [workers]}  # heaps of idle processors
        self._running: dict[int, Start] = {}
        self._ends: dict[int, float] = {}  # of running tasks whose duration is known, if all goes on as it is
        self._factor = 1.0  # by which these were slowed
        self._done: dict[int, Result] = {}  # physically finished, not yet delivered
        self._resumed: dict[int, tuple[float, int, float | None]] = {}  # task -> start, processor, end: as they were
        self._past: dict[int, tuple[float, int, float]] = {}  # the same of tasks that had ended already
        self._again = False  # whether the tasks that come next were submitted before an interruption

    @property
    def device(self) -> str:
        """The device of the inner pool's gradient tasks."""
        return self.inner.device

    def prepare(self, task: Task, workers: int) -> None:
        self.inner.prepare(task, workers)

    def submit(self, tasks: Iterable[Task]) -> None:
        tasks = list(tasks)
        if self._idle() and not self._again and any(lane(task) != EVALUATION for task in tasks):
            self._now += self.costs.update
        self._again = False
        self._queue.add(tasks)
        self.inner.submit(tasks)
        self._start(EVALUATION)

    def next_result(self, timeout: float | None = None) -> Result | None:
        end = inf if timeout is None else time.monotonic() + timeout
        for waiting in (EVALUATION, CRITIC, ACTORS):
            self._start(waiting)
        while not self._running.keys() <= self._done.keys():
            result = self.inner.next_result(None if end == inf else max(0.0, end - time.monotonic()))
            if result is None:
                return None
            self._done[result.task] = result
        if not self._running:
            return None
        self._project()
        moment, task_id = min((end, task_id) for task_id, end in self._ends.items())
        self._now = max(self._now, moment)
        del self._ends[task_id]
        start, result = self._running.pop(task_id), self._done.pop(task_id)
        if self._takes_a_processor(start):
            heapq.heappush(self._free[self.lane(start.task)], start.processor)
        self._queue.finish(result)
        return replace(result, start=start.time, end=moment, process=start.processor)

    def running(self) -> Mapping[int, Task]:
        """Slot of the inner pool -> task: what this machine does, as `processes` are its own."""
        return self.inner.running()

    def events(self) -> list[PoolEvent]:
        return [replace(event, time=self._now) for event in self.inner.events()]

    def now(self) -> float:
        """Virtual seconds."""
        return self._now

    def state(self) -> dict[str, Any]:
        """The virtual moment, and the tasks under way: `[task, start, processor, end if nothing changes]` each.

        `past` has tasks that have ended; the driver adds those whose results it has, but has not told.
        """
        found: dict[bool, list[list[Any]]] = {False: [], True: []}
        for task_id, start in self._running.items():
            found[start.past].append([task_id, start.time, start.processor, self._ends.get(task_id)])
        found[False] += [[task_id, *start] for task_id, start in self._resumed.items()]
        found[True] += [[task_id, *start] for task_id, start in self._past.items()]
        return {
            "now": self._now, "running": found[False], "past": found[True], "idle": self._idle(),
            "factor": self._factor,
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`; the tasks that were under way are to be submitted next and then finish as they had."""
        self.reset()
        self._now = state["now"]
        self._again = not state["idle"]
        self._factor = state.get("factor", 1.0)
        for task_id, start, processor, *end in state["running"]:  # no end in checkpoints of before
            self._resumed[int(task_id)] = (start, processor, end[0] if end else None)
        self._past = {
            int(task_id): (start, int(processor), end) for task_id, start, processor, end in state.get("past", ())
        }
        taken = {processor for _, processor, _ in self._resumed.values()}
        for processors in self._free.values():
            processors[:] = [processor for processor in processors if processor not in taken]

    def reset(self) -> None:
        """Forget all tasks and go back to virtual time 0."""
        self.inner.reset()
        self._queue.clear()
        self._running.clear()
        self._ends.clear()
        self._factor = 1.0
        self._done.clear()
        self._resumed.clear()
        self._past.clear()
        self._again = False
        self._now = 0.0
        self._free = {ACTORS: list(range(self.workers)), CRITIC: [self.workers]}

    def interrupt(self) -> None:
        self.inner.interrupt()

    def close(self) -> None:
        self.inner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _idle(self) -> bool:
        """Whether no task of the training is under way or waits."""
        return len(self._queue) == self._queue.unfinished(EVALUATION)

    def _takes_a_processor(self, start: Start) -> bool:
        """Whether a running task hinders others: evaluations and what has ended do not."""
        return start.processor <= self.workers and not start.past

    def _start(self, waiting: str) -> None:
        """Start the ready tasks of a lane, lowest (priority, id) first, on its idle processors."""
        ready = self._queue.ready(waiting)
        for task_id in [task_id for _, task_id in ready if task_id in self._past]:
            moment, processor, self._ends[task_id] = self._past.pop(task_id)
            self._running[task_id] = Start(self._queue.take(task_id), moment, processor, past=True)
        for task_id in [task_id for _, task_id in ready if task_id in self._resumed]:
            moment, processor, end = self._resumed.pop(task_id)
            self._running[task_id] = Start(self._queue.take(task_id), moment, processor)
            if end is not None:
                self._ends[task_id] = end
        while ready and (waiting == EVALUATION or self._free[waiting]):
            processor = self.workers + 1 if waiting == EVALUATION else heapq.heappop(self._free[waiting])
            task = self._queue.pop(waiting)
            self._running[task.id] = Start(task, self._now, processor)

    def _project(self) -> None:
        """When each running task ends if no other one starts or ends before; all have physically finished.

        Evaluations neither slow others down nor are slowed down.
        """
        training = [task_id for task_id, start in self._running.items() if self._takes_a_processor(start)]
        factor = self.costs.slowed(len(training))
        for task_id, start in self._running.items():
            if task_id not in self._ends:
                slowed = factor if self._takes_a_processor(start) else 1.0
                self._ends[task_id] = start.time + slowed * self._duration(task_id)
            elif factor != self._factor and self._takes_a_processor(start):
                self._ends[task_id] = self._now + (self._ends[task_id] - self._now) * factor / self._factor
        self._factor = factor

    def _duration(self, task_id: int) -> float:
        values = self._done[task_id].values
        return self.costs.seconds(timesteps_of(values), values.get("critic_updates", 0), values.get("actor_updates", 0))


def lane(task: Task) -> str:
    """Which processors a task may run on."""
    if task.priority == Priority.EVALUATION:
        return EVALUATION
    return CRITIC if task.priority == Priority.CRITIC else ACTORS


def shared_lane(task: Task) -> str:
    """The same where the critic has no processor of its own."""
    return EVALUATION if task.priority == Priority.EVALUATION else ACTORS
