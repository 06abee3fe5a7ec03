"""The tasks of a run that are out: which wait for which, and the order in which their results are delivered.

That is the order of the tasks, of their arrival, or of simulated time.

In simulated time a pool runs the tasks as fast as it can; their results are delivered in the order in which virtual
processors would have finished them. Critic tasks have a separate processor, as in AES-RL (Lee et al., 2020), where one
worker trains the critic, or share the processors of all others, as in this suite's pool of processes. Evaluations need
none. A task's duration is modelled by what it did, and by how many others of the training run at the same time.

Nothing is rounded: work is in nanoseconds, factors are in billionths, and so times are in attoseconds, all of them
integers. Between two ends each running task of the training loses the same work. Of tasks that end at the same time
the one with the lower number comes first.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from erlbench.algorithms.base import Counters
from erlbench.errors import TaskError
from erlbench.experiment.cells import SHARED, Cell
from erlbench.experiment.costs import Costs
from erlbench.work.tasks import ArrayRef, Output, Priority, Result, Task, count_timesteps, dependencies

ACTORS, CRITIC, EVALUATION = "actors", "critic", "evaluation"  # lanes: which processors a task may run on
BILLION = 10**9  # the factor 1; attoseconds in a nanosecond
SECOND = 10**18  # attoseconds


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
            self._missing[task.id] = len(unfinished - self._finished.keys())
            ready += self._pop_if_ready(task.id)
        return ready

    def dependents(self, task_id: int) -> Sequence[int]:
        """The tasks that wait for one that is out."""
        return self._dependents.get(task_id, ())

    def finish(self, result: Result) -> list[Task]:
        """Note that a task has finished, though its result has not arrived; the tasks that can start now."""
        if result.task not in self.tasks:
            return []
        self._finished[result.task] = result.arrays
        ready = []
        for dependent in self._missing.keys() & set(self.dependents(result.task)):
            self._missing[dependent] -= 1
            ready += self._pop_if_ready(dependent)
        return ready

    def _pop_if_ready(self, task_id: int) -> list[Task]:
        """A task that waits for none any more, filled with the arrays; no task where it waits."""
        if self._missing[task_id]:
            return []
        del self._missing[task_id]
        return [_filled(self.tasks[task_id], self._finished, starts=True)]

    def note_end(self, result: Result) -> None:
        """Move the ready time of tasks that waited for this one to its end."""
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
            self.tasks[dependent] = _filled(self.tasks[dependent], {result.task: result.arrays})
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
        """Take in a `state` after its tasks were added; with another clock the moment is now."""
        for task_id, (generation, critic_updates, ready) in state.items():
            moment = ready if same_clock else self.requests[task_id].ready
            self.requests[task_id] = Request(moment, generation, critic_updates)


def _filled(task: Task, finished: Mapping[int, Mapping[str, ArrayRef]], starts: bool = False) -> Task:
    """`task` with arrays for its `Output`s of finished tasks, which it waits for no longer; for all where it `starts`.

    Raises `TaskError` for an output that its task does not give.
    """
    inputs = dict(task.inputs)
    for key, value in inputs.items():
        if isinstance(value, Output) and (starts or value.task in finished):
            arrays = finished.get(value.task, {})
            if value.name not in arrays:
                message = f"{task.label} needs the output '{value.name}' of task {value.task}, which gives none"
                raise TaskError(message, task=task.id)
            inputs[key] = arrays[value.name]
    after = () if starts else tuple(other for other in task.after if other not in finished)
    return replace(task, inputs=inputs, after=after)


# -- orders ------------------------------------------------------------------------------------------------------------


class ArrivalOrder:
    """Results in the order in which they arrive, in real time. Results of tasks outside the graph never wait."""

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
    """Results in the order of their tasks, not of their arrival."""

    def following(self) -> int | None:
        first = self.graph.first
        return first if first in self.undelivered else None


@dataclass
class Span:
    """How a task runs in virtual time: when it began, in attoseconds, and on which virtual processor."""

    start: int
    processor: int
    rest: Any = None  # nanoseconds alone that are left, None before they are measured; its end where nothing slows it
    replayed: bool = False  # it ended before an interruption, and only its outcome is made again


class SimulatedOrder(ArrivalOrder):
    """Results become available at their simulated end; the order `delivery` chooses among those that are available.

    Virtual processors 0 to `workers` - 1 take rollouts and actors, processor `workers` the critic's tasks unless
    `shared_critic`; number `workers` + 1 is for all evaluations, which start when requested and delay no task.
    """

    simulated = True

    def __init__(self, delivery: ArrivalOrder, workers: int, costs: Costs, shared_critic: bool = False) -> None:
        self.graph, self.undelivered = delivery.graph, delivery.undelivered
        self.workers = workers
        self.costs = costs
        self._delivery = delivery
        self._shared_critic = shared_critic
        self._now = 0  # the last end of any task
        self._clock = 0  # the moment of what is left: the last end of a task of the training
        self._idle_processors = {ACTORS: list(range(workers)), CRITIC: [workers]}  # heaps of idle processors
        self._lane_of: dict[int, str] = {}  # of tasks that have not ended
        self._startable: dict[str, list[tuple[int, int]]] = {ACTORS: [], CRITIC: []}  # (priority, id)
        self._running: dict[int, Span] = {}
        self._arrived: dict[int, Result] = {}  # of tasks that have not ended
        self._ended: dict[int, Span] = {}  # of undelivered tasks
        self._restored: dict[int, Span] = {}  # begun before an interruption, and not requested since
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
            if task.id in self._restored:
                self._running[task.id] = self._restored.pop(task.id)
            elif self._lane_of[task.id] == EVALUATION:
                self._running[task.id] = Span(self._now, self.workers + 1)
            else:
                self._push_if_ready(task)

    def needs_result(self) -> bool:
        """Start what can start in simulated time; whether a task that runs there has no result.

        Tasks of the training start only when one of them ends, or when none runs: lowest (priority, id) first.
        """
        if not self._is_idle() and sum(map(len, self._idle_processors.values())) > self.workers:
            self._clock = self._now  # no virtual processor has a task
        for lane, ready in self._startable.items():
            while ready and self._idle_processors[lane]:
                _, task_id = heapq.heappop(ready)
                self._running[task_id] = Span(self._clock, heapq.heappop(self._idle_processors[lane]))
        return not self._running or not self._running.keys() <= self._arrived.keys()

    def arrived(self, result: Result) -> None:
        self._arrived[result.task] = result

    def due(self) -> Iterator[Result]:
        """What the next end of a task brings."""
        if self.needs_result():
            return
        self._delivery.arrived(self._end_next())
        for result in self._delivery.due():
            self._ended.pop(result.task, None)
            yield result

    def state(self) -> dict[str, Any]:
        """The virtual moment, and the tasks under way, by number, as integers; the same for every pool.

        `running`: `[task, start, processor, left]` each; what is left is None where it has not been measured. `past`:
        `[task, start, processor, end]` of tasks that have ended and will be requested again, as they are undelivered.
        """
        lists: dict[bool, list[list[int | None]]] = {False: [], True: []}
        for task_id, span in sorted((self._running | self._restored | self._ended).items()):
            lists[span.replayed].append([task_id, span.start, span.processor, span.rest])
        idle = self._is_idle() and not self._resuming
        return {"now": self._now, "clock": self._clock, "running": lists[False], "past": lists[True], "idle": idle}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._now, self._clock = state["now"], state["clock"]
        self._resuming = not state["idle"]
        for name in ("running", "past"):
            for task_id, start, processor, rest in state[name]:
                self._restored[task_id] = Span(start, processor, rest, replayed=name == "past")
        taken = {span.processor for span in self._restored.values() if not span.replayed}
        for processors in self._idle_processors.values():
            processors[:] = [processor for processor in processors if processor not in taken]

    def _lane(self, task: Task) -> str:
        if task.priority == Priority.EVALUATION:
            return EVALUATION
        return CRITIC if task.priority == Priority.CRITIC and not self._shared_critic else ACTORS

    def _is_idle(self) -> bool:
        """Whether no task of the training is under way or waits."""
        return all(lane == EVALUATION for lane in self._lane_of.values())

    def _push_if_ready(self, task: Task) -> None:
        if task.id not in self._running and self._lane_of.keys().isdisjoint(dependencies(task)):
            heapq.heappush(self._startable[self._lane_of[task.id]], (task.priority, task.id))

    def _end_next(self) -> Result:
        """End the running task that ends first, with its start, end and processor in simulated time.

        All have their results. It ends first if no other one starts before.
        """
        for task_id, span in self._running.items():
            if span.rest is None:
                work = self._nanoseconds(task_id)
                span.rest = work if self._slows_others(span) else span.start + work * BILLION
        slowed = [span for span in self._running.values() if self._slows_others(span)]
        factor = self.costs.slowed(len(slowed))
        moment, task_id = min(
            (self._clock + span.rest * factor if self._slows_others(span) else span.rest, task_id)
            for task_id, span in self._running.items()
        )
        span, result = self._running.pop(task_id), self._arrived.pop(task_id)
        if self._slows_others(span):
            heapq.heappush(self._idle_processors[self._lane_of[task_id]], span.processor)
            self._clock, work = moment, span.rest
            for other in slowed:
                other.rest -= work
        if not span.replayed:
            self._now = max(self._now, moment)
        del self._lane_of[task_id]
        for dependent in self.graph.dependents(task_id):
            self._push_if_ready(self.graph.tasks[dependent])
        self._ended[task_id] = replace(span, rest=moment, replayed=True)
        return replace(result, start=span.start / SECOND, end=moment / SECOND, process=span.processor)

    def _slows_others(self, span: Span) -> bool:
        """Whether a running task slows others down, and they it. Evaluations and ended tasks do not."""
        return span.processor <= self.workers and not span.replayed

    def _nanoseconds(self, task_id: int) -> int:
        values = self._arrived[task_id].values
        counts = count_timesteps(values), values.get("critic_updates", 0), values.get("actor_updates", 0)
        return self.costs.nanoseconds(*counts)


def delivery_order(cell: Cell, graph: TaskGraph, is_synchronous: bool) -> ArrivalOrder:
    """The order of a cell's results."""
    order = TaskOrder(graph) if is_synchronous else ArrivalOrder(graph)
    if not cell.simulated_time:
        return order
    return SimulatedOrder(order, cell.processors, cell.costs, cell.simulated_critic == SHARED)
