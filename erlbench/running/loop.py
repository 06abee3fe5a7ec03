"""The loop of a run: ask, submit, wait, tell. What happens in it is a stream of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from erlbench.algorithms.base import Algorithm
from erlbench.errors import CellError
from erlbench.machine.threads import Renewal
from erlbench.pool import Pool
from erlbench.records.schema import EventRow, Row
from erlbench.running.asynchrony import Asynchrony
from erlbench.running.clock import Clock
from erlbench.running.graph import TaskGraph
from erlbench.running.live_arrays import LiveArrays
from erlbench.running.orders import ArrivalOrder, TaskOrder
from erlbench.running.rows import episode_rows, generation_row, task_row
from erlbench.work.preparation import Preparation
from erlbench.work.tasks import Result, Task, arrays_of

PATIENCE = 0.2  # seconds that a step waits for a result
# What a run does. Another thread may save it while it waits, and leave it alone while it begins.
BEGINS, WAITS, WORKS = "begins", "waits", "works"


@dataclass(frozen=True)
class Whole:
    """All results that have arrived are taken in, so the run can be saved here; `failing`: a task has failed."""

    failing: bool = False


@dataclass(frozen=True)
class Taken:
    """An evaluation was taken: the policy, and what was counted, are kept for its row."""

    number: int  # from 0
    final: bool


Record = Row | Result | Whole | Taken  # a result in the stream is of a task that the algorithm did not ask for
WHOLE, FAILING = Whole(), Whole(failing=True)


class Loop:
    """The loop between one algorithm and one pool, and what it has to know of the tasks that are out.

    `order` makes the order in which results are delivered from that of the algorithm. Each step ends with `WHOLE`.
    Before the error of a task is raised there is `FAILING`.
    """

    def __init__(
        self,
        algorithm: Algorithm[Any, Any],
        pool: Pool,
        order: Callable[[ArrivalOrder], ArrivalOrder] = lambda order: order,
        pauses: Callable[[], Sequence[tuple[float, float]]] = tuple,
    ) -> None:
        self.algorithm = algorithm
        self.pool = pool
        self.graph = TaskGraph()
        self.order = order((TaskOrder if algorithm.is_synchronous(algorithm.settings) else ArrivalOrder)(self.graph))
        self.clock = Clock(self.order.now)
        self.asynchrony = Asynchrony()
        self.arrays = LiveArrays(pool.store)
        self.holders: Callable[[], Any] = tuple  # what else refers to arrays that are in use
        self.phase = BEGINS
        self._renew_limit = Renewal()
        self._pauses = pauses
        self._known_pauses = len(pauses())

    def prepare(self, tasks: Sequence[Task], gradient_workers: int = 0, modules: tuple[str, ...] = ()) -> None:
        """Have the workers there that these first tasks need, and those that will compute gradients.

        The latter import `modules` besides torch.
        """
        settings = Preparation(self.algorithm.context.problem.env, modules)
        task = Task(-1, "preparation", "erlbench.work.preparation:prepare", (), settings)
        for gradient, workers in ((True, gradient_workers), (False, sum(not task.gradient for task in tasks))):
            if workers:
                self.pool.prepare(replace(task, gradient=gradient), workers)

    def begin(self, gradient_workers: int = 0, modules: tuple[str, ...] = ()) -> None:
        """Ask for the first tasks, start the workers, then the clock, and hand out the tasks."""
        tasks = self.algorithm.ask()
        self.prepare(tasks, gradient_workers, modules)
        self.clock.start()
        self.submit(tasks)

    def train(self) -> Iterator[Record]:
        """Ask for tasks and tell their results until there are none; the loop may be left and entered again."""
        while True:
            self.submit(self.algorithm.ask())
            if not self.graph:
                return
            yield from self.step()

    def step(self, next_result: Callable[[float], Result | None] | None = None) -> Iterator[Record]:
        """Wait for one result, by default of the pool, and take it in."""
        self._renew_limit()
        try:
            if self.order.needs_result():
                self._receive(next_result or self.pool.next_result)
        except CellError:
            self.phase = WORKS
            yield from self.events(self.pool)  # they say how it came to this
            yield FAILING
            raise
        self.phase = WORKS
        self.clock.tick()
        yield from self.events(self.pool)
        yield from self._new_pauses()
        for result in self.order.due():
            self.clock.tick()
            if result.task in self.graph:
                yield from self._deliver(result)
            else:
                yield result
        yield WHOLE

    def _receive(self, next_result: Callable[[float], Result | None]) -> None:
        """Wait for a result, and start the tasks that waited for it."""
        self.phase = WAITS
        result = next_result(PATIENCE)
        if result is not None:
            self.pool.submit(self.graph.finish(result))
            self.order.arrived(result)

    def submit(self, tasks: Iterable[Task]) -> None:
        """Hand tasks to the pool."""
        tasks = list(tasks)
        if not tasks:
            return
        self.arrays.add(ref for task in tasks for value in task.inputs.values() for ref in arrays_of(value))
        ready = self.graph.add(tasks, self.order.now(), self.algorithm.counters)
        self.order.requested(tasks)
        self.pool.submit(ready)
        self.clock.tick()  # simulated time has passed if a generation begins

    def events(self, pool: Pool) -> Iterator[EventRow]:
        """What happened in a pool since the last call."""
        for event in pool.events():
            moment = self.order.now() if self.order.simulated else event.time
            yield EventRow(self.clock.since_start(moment), event.event, event.message)

    def _new_pauses(self) -> Iterator[EventRow]:
        """The pauses that have ended since the last call; simulated time does not pass in them."""
        pauses = self._pauses()
        if len(pauses) == self._known_pauses:
            return
        real = not self.order.simulated
        for begin, end in pauses[self._known_pauses :]:
            if real:
                self.clock.pause(begin, end)
            moment = self.clock.since_start(begin) if real else self.clock.total
            yield EventRow(moment, "paused", f"nothing ran for {end - begin:.1f} s")
        self._known_pauses = len(pauses)

    def _deliver(self, result: Result) -> Iterator[Record]:
        """Tell the algorithm one result."""
        task, request, held_back = self.graph.pop(result)
        self.arrays.add(result.arrays.values())
        counters, generation = self.algorithm.counters, self.algorithm.counters.generation
        row = task_row(task, result, self.clock, request, counters)
        self.asynchrony.took(row, result, request.ready)
        self.algorithm.tell(task, result)
        self.graph.request_again(held_back, counters)
        yield row
        yield from episode_rows(task, result, counters.timesteps, self.clock)
        if counters.generation > generation:
            self.algorithm.end_generation(self.clock.train)
            yield generation_row(counters, self.algorithm.metrics(), self.asynchrony, self.clock)
        self._sweep()

    def _sweep(self) -> None:
        """Free the arrays that neither the algorithm nor a task refers to any more."""
        if self.arrays.many:
            holders = self.algorithm.snapshot(), self.graph.tasks, self.holders(), self.order.undelivered
            self.arrays.free_but(holders)
