"""Simulated time: times, and the outcome of asynchronous algorithms, that do not depend on the machine.

An inner pool runs the tasks as fast as it can; their results are delivered in the order in which `workers` virtual
processors would have finished them. Critic tasks have a processor of their own, as in AES-RL (Lee et al., 2020),
where one worker trains the critic, or share those of all others, as in this suite's pool of processes. Evaluations need
none. A task's duration is modelled by what it did, and by how many others of the training run at the same time.

Nothing is rounded: work is in nanoseconds, factors are in billionths, and so times are in attoseconds, all of them
integers. Between two ends each running task of the training loses the same work. Of tasks that end at the same time
the one with the lower number comes first.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any, Protocol, Self

from erlbench.pool.base import Pool, PoolEvent, Queue
from erlbench.work.store import Store
from erlbench.work.tasks import Priority, Result, Task, timesteps_of

ACTORS, CRITIC, EVALUATION = "actors", "critic", "evaluation"
BILLION = 10**9  # the factor 1; attoseconds in a nanosecond
SECOND = 10**18  # attoseconds


@dataclass(frozen=True)
class Start:
    """When a task began, in attoseconds, and on which virtual processor."""

    task: Task
    time: int
    processor: int
    past: bool = False  # it ended before an interruption, and only its outcome is made again


class TaskCosts(Protocol):
    """How long tasks take, and the driver between two generations."""

    @property
    def pause(self) -> int:
        """Nanoseconds of the driver from the last result of all tasks to the next ones."""

    def nanoseconds(self, timesteps: int, critic_updates: int, actor_updates: int) -> int:
        """The duration of a task with these counts that runs alone."""

    def slowed(self, tasks: int) -> int:
        """By which factor tasks take longer while `tasks` tasks run at once, in billionths."""


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
        self._now = 0  # the last end of any task
        self._clock = 0  # the moment of `_left`: the last end of a task of the training
        self._free = {ACTORS: list(range(workers)), CRITIC: [workers]}  # heaps of idle processors
        self._running: dict[int, Start] = {}
        self._left: dict[int, int] = {}  # nanoseconds alone of the training's tasks that run and have been measured
        self._ends: dict[int, int] = {}  # of evaluations and of what is past
        self._done: dict[int, Result] = {}  # physically finished, not yet delivered
        self._resumed: dict[int, tuple[int, int, int | None]] = {}  # task -> start, processor, left: as they were
        self._past: dict[int, tuple[int, int, int]] = {}  # task -> start, processor, end of what had ended already
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
            self._now += self.costs.pause * BILLION
        self._again = False
        self._queue.add(tasks)
        self.inner.submit(tasks)
        self._start(EVALUATION)

    def next_result(self, timeout: float | None = None) -> Result | None:
        end = inf if timeout is None else time.monotonic() + timeout
        if not self._occupied():
            self._clock = self._now
        for waiting in (EVALUATION, CRITIC, ACTORS):
            self._start(waiting)
        while not self._running.keys() <= self._done.keys():
            result = self.inner.next_result(None if end == inf else max(0.0, end - time.monotonic()))
            if result is None:
                return None
            self._done[result.task] = result
        if not self._running:
            return None
        moment, task_id = min((end, task_id) for task_id, end in self._all_ends().items())
        start, result = self._running.pop(task_id), self._done.pop(task_id)
        if self._takes_a_processor(start):
            heapq.heappush(self._free[self.lane(start.task)], start.processor)
            work = self._left.pop(task_id)
            self._left = {other: left - work for other, left in self._left.items()}
            self._clock = moment
        else:
            del self._ends[task_id]
        if not start.past:
            self._now = max(self._now, moment)
        self._queue.finish(result)
        return replace(result, start=start.time / SECOND, end=moment / SECOND, process=start.processor)

    def running(self) -> Mapping[int, Task]:
        """Slot of the inner pool -> task: what this machine does, as `processes` are its own."""
        return self.inner.running()

    def events(self) -> list[PoolEvent]:
        return [replace(event, time=self.now()) for event in self.inner.events()]

    def now(self) -> float:
        """Virtual seconds."""
        return self._now / SECOND

    def state(self, held: Iterable[Result] = ()) -> dict[str, Any]:
        """The virtual moment, and the tasks under way, by number, as integers; the same for every inner pool.

        `running`: `[task, start, processor, left]` each; what is left is None where it has not been measured. `past`:
        `[task, start, processor, end]` of tasks that have ended and will be submitted again, as those of `held` will.
        """
        running = [[task_id, *resumed] for task_id, resumed in self._resumed.items()]
        past = [[task_id, *ended] for task_id, ended in self._past.items()]
        for task_id, start in self._running.items():
            if start.past:
                past.append([task_id, start.time, start.processor, self._ends[task_id]])
            else:
                running.append([task_id, start.time, start.processor, self._left.get(task_id)])
        past += [[result.task, _attoseconds(result.start), result.process, _attoseconds(result.end)] for result in held]
        return {
            "now": self._now, "clock": self._clock, "running": sorted(running), "past": sorted(past),
            "idle": self._idle() and not self._again,
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`; the tasks that were under way are to be submitted next and then finish as they had."""
        self.reset()
        self._now, self._clock = state["now"], state["clock"]
        self._again = not state["idle"]
        self._resumed = {task_id: (start, processor, left) for task_id, start, processor, left in state["running"]}
        self._past = {task_id: (start, processor, end) for task_id, start, processor, end in state["past"]}
        taken = {processor for _, processor, _ in self._resumed.values()}
        for processors in self._free.values():
            processors[:] = [processor for processor in processors if processor not in taken]

    def reset(self) -> None:
        """Forget all tasks and go back to virtual time 0."""
        self.inner.reset()
        self._queue.clear()
        self._running.clear()
        self._left.clear()
        self._ends.clear()
        self._done.clear()
        self._resumed.clear()
        self._past.clear()
        self._again = False
        self._now = self._clock = 0
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

    def _occupied(self) -> bool:
        """Whether a virtual processor has a task."""
        return sum(map(len, self._free.values())) <= self.workers

    def _takes_a_processor(self, start: Start) -> bool:
        """Whether a running task slows other tasks down. Evaluations and ended tasks do not."""
        return start.processor <= self.workers and not start.past

    def _start(self, waiting: str) -> None:
        """Start the ready tasks of a lane, lowest (priority, id) first, on its idle processors.

        Those of the training start with an end of one of them, unless none runs: no work is cut in between.
        """
        ready = self._queue.ready(waiting)
        for task_id in [task_id for _, task_id in ready if task_id in self._past]:
            moment, processor, self._ends[task_id] = self._past.pop(task_id)
            self._running[task_id] = Start(self._queue.take(task_id), moment, processor, past=True)
        for task_id in [task_id for _, task_id in ready if task_id in self._resumed]:
            moment, processor, left = self._resumed.pop(task_id)
            self._running[task_id] = Start(self._queue.take(task_id), moment, processor)
            if left is not None:
                self._left[task_id] = left
        while ready and (waiting == EVALUATION or self._free[waiting]):
            processor = self.workers + 1 if waiting == EVALUATION else heapq.heappop(self._free[waiting])
            task = self._queue.pop(waiting)
            self._running[task.id] = Start(task, self._now if waiting == EVALUATION else self._clock, processor)

    def _all_ends(self) -> dict[int, int]:
        """When each running task ends if no other one starts or ends before; all have physically finished.

        Evaluations neither slow other tasks down nor are slowed down.
        """
        for task_id, start in self._running.items():
            if self._takes_a_processor(start):
                if task_id not in self._left:
                    self._left[task_id] = self._nanoseconds(task_id)
            elif task_id not in self._ends:
                self._ends[task_id] = start.time + self._nanoseconds(task_id) * BILLION
        factor = self.costs.slowed(len(self._left))
        return self._ends | {task_id: self._clock + left * factor for task_id, left in self._left.items()}

    def _nanoseconds(self, task_id: int) -> int:
        values = self._done[task_id].values
        counts = timesteps_of(values), values.get("critic_updates", 0), values.get("actor_updates", 0)
        return self.costs.nanoseconds(*counts)


def _attoseconds(seconds: float) -> int:
    """The integer next to a time that was reported; it is reported as the same float again."""
    return round(Fraction(seconds) * SECOND)


def lane(task: Task) -> str:
    """Which processors a task may run on."""
    if task.priority == Priority.EVALUATION:
        return EVALUATION
    return CRITIC if task.priority == Priority.CRITIC else ACTORS


def shared_lane(task: Task) -> str:
    """The same where the critic has no processor of its own."""
    return EVALUATION if task.priority == Priority.EVALUATION else ACTORS
