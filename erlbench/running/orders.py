"""The order in which results are delivered: of their tasks, of their arrival, or of simulated time.

In simulated time a pool runs the tasks as fast as it can; their results are delivered in the order in which virtual
processors would have finished them. Critic tasks have a processor of their own, as in AES-RL (Lee et al., 2020), where
one worker trains the critic, or share those of all others, as in this suite's pool of processes. Evaluations need
none. A task's duration is modelled by what it did, and by how many others of the training run at the same time.

Nothing is rounded: work is in nanoseconds, factors are in billionths, and so times are in attoseconds, all of them
integers. Between two ends each running task of the training loses the same work. Of tasks that end at the same time
the one with the lower number comes first.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from erlbench.experiment.cells import SHARED, Cell
from erlbench.experiment.costs import Costs
from erlbench.running.graph import TaskGraph
from erlbench.work.tasks import Priority, Result, Task, dependencies, timesteps_of

ACTORS, CRITIC, EVALUATION = "actors", "critic", "evaluation"  # lanes: which processors a task may run on
BILLION = 10**9  # the factor 1; attoseconds in a nanosecond
SECOND = 10**18  # attoseconds


class ArrivalOrder:
    """Results in the order in which they arrive, in real time. Those of tasks outside the graph never wait."""

    simulated = False

    def __init__(self, graph: TaskGraph) -> None:
        self.graph = graph
        self.undelivered: dict[int, Result] = {}
        self.outside: list[Result] = []  # of tasks that are not in the graph

    def now(self) -> float:
        """The run's clock in seconds: time.monotonic(), or simulated time."""
        return time.monotonic()

    def requested(self, tasks: Iterable[Task]) -> None:
        """Tasks have been requested."""

    def needs_result(self) -> bool:
        """Whether nothing is due before the pool gives another result."""
        return True

    def arrived(self, result: Result) -> None:
        """Take in a result of the pool."""
        if result.task in self.graph:
            self.graph.note_end(result)
            self.undelivered[result.task] = result
        else:
            self.outside.append(result)

    def due(self) -> Iterator[Result]:
        """The results to deliver now; each has left the graph before the next is asked for."""
        while self.outside:
            yield self.outside.pop(0)
        while (following := self.following()) is not None:
            yield self.undelivered.pop(following)

    def following(self) -> int | None:
        """The task whose result is delivered next, if it is there."""
        return next(iter(self.undelivered), None)

    def state(self) -> dict[str, Any]:
        """What a checkpoint has to keep, as plain values; nothing of real time."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`; the tasks that were out are to be requested next."""


class TaskOrder(ArrivalOrder):
    """Results in the order of their tasks, whatever the order in which they arrive."""

    def following(self) -> int | None:
        first = self.graph.first
        return first if first in self.undelivered else None


@dataclass(frozen=True)
class Start:
    """When a task began, in attoseconds, and on which virtual processor."""

    time: int
    processor: int
    replayed: bool = False  # it ended before an interruption, and only its outcome is made again


class SimulatedOrder(ArrivalOrder):
    """Results become available at their simulated end; the order `delivery` chooses among those that are available.

    Virtual processors 0 to `workers` - 1 take rollouts and actors, processor `workers` the critic's tasks unless
    `shared_critic`; number `workers` + 1 stands for all evaluations, which start when requested and hinder nobody.
    """

    simulated = True

    def __init__(self, delivery: ArrivalOrder, workers: int, costs: Costs, shared_critic: bool = False) -> None:
        self.graph, self.undelivered = delivery.graph, delivery.undelivered
        self.workers = workers
        self.costs = costs
        self._delivery = delivery
        self._shared_critic = shared_critic
        self._now = 0  # the last end of any task
        self._clock = 0  # the moment of `_left`: the last end of a task of the training
        self._idle_processors = {ACTORS: list(range(workers)), CRITIC: [workers]}  # heaps of idle processors
        self._lane_of: dict[int, str] = {}  # of tasks that have not ended
        self._startable: dict[str, list[tuple[int, int]]] = {ACTORS: [], CRITIC: [], EVALUATION: []}  # (priority, id)
        self._running: dict[int, Start] = {}
        self._remaining: dict[
            int, int
        ] = {}  # nanoseconds alone of the training's tasks that run and have been measured
        self._fixed_ends: dict[int, int] = {}  # of evaluations and of what is past
        self._arrived: dict[int, Result] = {}  # of tasks that have not ended
        self._undelivered_spans: dict[int, tuple[int, int, int]] = {}  # undelivered task -> start, processor, end
        self._restored: dict[int, tuple[Start, int | None]] = {}  # task -> how it ran, and its end or what is left
        self._resuming = False  # whether the tasks that come next were requested before an interruption

    def now(self) -> float:
        return self._now / SECOND

    def requested(self, tasks: Iterable[Task]) -> None:
        tasks = list(tasks)
        if self._is_idle() and not self._resuming and any(task.priority != Priority.EVALUATION for task in tasks):
            self._now += self.costs.pause * BILLION
        self._resuming = False
        self._lane_of |= {task.id: self._lane(task) for task in tasks}
        for task in tasks:
            self._push_if_ready(task)
        self._start(EVALUATION)

    def needs_result(self) -> bool:
        """Whether a task that runs in simulated time has no result."""
        if sum(map(len, self._idle_processors.values())) > self.workers:
            self._clock = self._now  # no virtual processor has a task
        for lane in (EVALUATION, CRITIC, ACTORS):
            self._start(lane)
        return not self._running or not self._running.keys() <= self._arrived.keys()

    def arrived(self, result: Result) -> None:
        self._arrived[result.task] = result

    def due(self) -> Iterator[Result]:
        """What the next end of a task brings."""
        if self.needs_result():
            return
        self._delivery.arrived(self._end_next())
        for result in self._delivery.due():
            self._undelivered_spans.pop(result.task, None)
            yield result

    def state(self) -> dict[str, Any]:
        """The virtual moment, and the tasks under way, by number, as integers; the same for every pool.

        `running`: `[task, start, processor, left]` each; what is left is None where it has not been measured. `past`:
        `[task, start, processor, end]` of tasks that have ended and will be requested again, as they are undelivered.
        """
        starts = {task_id: (start, self._moments(start).get(task_id)) for task_id, start in self._running.items()}
        lists: dict[bool, list[list[int | None]]] = {False: [], True: []}
        for task_id, (start, value) in (starts | self._restored).items():
            lists[start.replayed].append([task_id, start.time, start.processor, value])
        running, past = lists.values()
        past += [[task_id, *self._undelivered_spans[task_id]] for task_id in self.undelivered]
        return {
            "now": self._now, "clock": self._clock, "running": sorted(running), "past": sorted(past),
            "idle": self._is_idle() and not self._resuming,
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any]) -> None:
        self._now, self._clock = state["now"], state["clock"]
        self._resuming = not state["idle"]
        self._restored = {
            task_id: (Start(moment, processor, replayed), value)
            for replayed, name in ((False, "running"), (True, "past"))
            for task_id, moment, processor, value in state[name]
        }
        taken = {start.processor for start, _ in self._restored.values() if not start.replayed}
        for processors in self._idle_processors.values():
            processors[:] = [processor for processor in processors if processor not in taken]

    def _moments(self, start: Start) -> dict[int, int]:
        """Where the end of such a task is kept, or what is left of it."""
        return self._fixed_ends if start.replayed else self._remaining

    def _lane(self, task: Task) -> str:
        if task.priority == Priority.EVALUATION:
            return EVALUATION
        return CRITIC if task.priority == Priority.CRITIC and not self._shared_critic else ACTORS

    def _is_idle(self) -> bool:
        """Whether no task of the training is under way or waits."""
        return all(lane == EVALUATION for lane in self._lane_of.values())

    def _push_if_ready(self, task: Task) -> None:
        if self._lane_of.keys().isdisjoint(dependencies(task)):
            heapq.heappush(self._startable[self._lane_of[task.id]], (task.priority, task.id))

    def _start(self, lane: str) -> None:
        """Start the ready tasks of a lane, lowest (priority, id) first, on its idle processors.

        Training tasks start only when a training task ends, or when none runs.
        """
        ready = self._startable[lane]
        if self._restored:
            self._restart(ready)
        while ready and (lane == EVALUATION or self._idle_processors[lane]):
            processor = self.workers + 1 if lane == EVALUATION else heapq.heappop(self._idle_processors[lane])
            _, task_id = heapq.heappop(ready)
            self._running[task_id] = Start(self._now if lane == EVALUATION else self._clock, processor)

    def _restart(self, ready: list[tuple[int, int]]) -> None:
        """Start those of the ready tasks of a lane that had started before an interruption, as they had."""
        for _, task_id in ready:
            if task_id in self._restored:
                self._running[task_id], value = self._restored.pop(task_id)
                if value is not None:
                    self._moments(self._running[task_id])[task_id] = value
        ready[:] = [entry for entry in ready if entry[1] not in self._running]
        heapq.heapify(ready)

    def _end_next(self) -> Result:
        """End the running task that ends first, with its start, end and processor in simulated time."""
        moment, task_id = min((end, task_id) for task_id, end in self._find_ends().items())
        start, result = self._running.pop(task_id), self._arrived.pop(task_id)
        if self._slows_others(start):
            heapq.heappush(self._idle_processors[self._lane_of[task_id]], start.processor)
            work = self._remaining.pop(task_id)
            self._remaining = {other: left - work for other, left in self._remaining.items()}
            self._clock = moment
        else:
            del self._fixed_ends[task_id]
        if not start.replayed:
            self._now = max(self._now, moment)
        del self._lane_of[task_id]
        for other in self.graph.dependents(task_id):
            self._push_if_ready(self.graph.tasks[other])
        self._undelivered_spans[task_id] = (start.time, start.processor, moment)
        return replace(result, start=start.time / SECOND, end=moment / SECOND, process=start.processor)

    def _slows_others(self, start: Start) -> bool:
        """Whether a running task slows other tasks down. Evaluations and ended tasks do not."""
        return start.processor <= self.workers and not start.replayed

    def _find_ends(self) -> dict[int, int]:
        """When each running task ends if no other one starts or ends before; all have their results.

        Evaluations neither slow other tasks down nor are slowed down.
        """
        for task_id, start in self._running.items():
            if self._slows_others(start):
                if task_id not in self._remaining:
                    self._remaining[task_id] = self._nanoseconds(task_id)
            elif task_id not in self._fixed_ends:
                self._fixed_ends[task_id] = start.time + self._nanoseconds(task_id) * BILLION
        factor = self.costs.slowed(len(self._remaining))
        return self._fixed_ends | {task_id: self._clock + left * factor for task_id, left in self._remaining.items()}

    def _nanoseconds(self, task_id: int) -> int:
        values = self._arrived[task_id].values
        counts = timesteps_of(values), values.get("critic_updates", 0), values.get("actor_updates", 0)
        return self.costs.nanoseconds(*counts)


def delivery_order(cell: Cell, graph: TaskGraph, is_synchronous: bool) -> ArrivalOrder:
    """The order of a cell's results."""
    order = TaskOrder(graph) if is_synchronous else ArrivalOrder(graph)
    if not cell.simulated_time:
        return order
    return SimulatedOrder(order, cell.processors, cell.costs, cell.simulated_critic == SHARED)
