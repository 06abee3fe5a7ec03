"""The pool of worker processes on this machine.

A pool of N processes has N slots, each with up to two workers: one for rollouts, which never sees torch, and one
for gradient tasks, started when there is such a task. A slot runs one task at a time, but gets several short ones at
once (`chunks.py`).
"""

from __future__ import annotations

import os
import selectors
import time
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from math import inf
from types import MappingProxyType

from erlbench.errors import ErlbenchError, Interrupted, TaskError
from erlbench.machine.descriptors import allow_workers
from erlbench.pool.base import PoolBase, PoolEvent, Queue, name
from erlbench.pool.chunks import HELD, Chunks, alike
from erlbench.pool.failures import Failure, as_error
from erlbench.pool.handle import OVER_MEMORY, SERVER_DIED, WorkerProcess, start_context
from erlbench.pool.occupancy import Occupancy
from erlbench.pool.options import PoolOptions
from erlbench.pool.worker import Ready
from erlbench.work.store import Store
from erlbench.work.tasks import Result, Task

LOOK_EVERY = 0.2  # seconds between two looks whether the run is to stop, while workers are prepared
LOST_SERVERS = 20  # fork servers that may die before tasks are blamed for it
KILLS = 3  # workers that a task may kill, and gradient workers that may die while they start


@dataclass(eq=False)
class Slot:
    """One place for a task, with its workers."""

    index: int
    _: KW_ONLY
    rollout: WorkerProcess | None = None
    gradient: WorkerProcess | None = None
    tasks: deque[Task] = field(default_factory=deque)  # sent and not come back; the first one runs
    worker: WorkerProcess | None = None  # that runs them
    deadline: float = inf

    @property
    def willingness(self) -> tuple[bool, bool]:
        """Which of the idle slots takes a rollout: keep gradient workers free, and start few new workers."""
        return self.gradient is None, self.rollout is not None


class ProcessPool(PoolBase):
    """Runs tasks in `options.processes` slots (None: one).

    With `idle` the workers get only the time of cores that no other process wants.
    """

    def __init__(
        self, options: PoolOptions, store: Store | None = None, start_method: str | None = None, idle: bool = False
    ) -> None:
        super().__init__()
        self.processes = 1 if options.processes is None else options.processes
        allow_workers(self.processes)
        self.device = options.device
        self.task_timeout = options.task_timeout
        self._options = options
        self._context = start_context(start_method)
        self._owns_store = store is None
        self.store = store or Store.create()
        self._slots = [Slot(index) for index in range(self.processes)]
        self._occupancy = Occupancy(self.store.folder, self.processes)
        self._idle_time = idle
        self._lost_servers = 0
        self._idle = list(self._slots)
        self._running: dict[int, Task] = {}  # by slot
        self._chunks = Chunks(self.processes)
        self._queue = Queue(lambda task: task.gradient)
        self._selector = selectors.DefaultSelector()
        self._finished: deque[Result | ErlbenchError] = deque()
        self._kills: dict[int, list[str]] = {}  # task -> how the workers ended that it killed
        self._failed_starts = 0  # of gradient workers
        self._next_check = 0.0
        self._stopping = False
        self._broken: ErlbenchError | None = None  # why no gradient worker can be started

    # -- the interface of pools -----------------------------------------------------------------------------------

    def prepare(self, task: Task, workers: int) -> None:
        """Rollout workers are started from the last slot on, as `_start` prefers slots without a gradient worker."""
        slots = self._slots[:workers] if task.gradient else self._slots[-workers:]
        while task.gradient and not all(slot.gradient and slot.gradient.ready for slot in slots):
            if self._broken is not None:
                raise self._broken
            self._start_gradient_workers(len(slots), slots)
            self._wait(time.monotonic() + LOOK_EVERY)
            self._heed()
        for slot in slots:
            if not task.gradient and slot.rollout is None:
                slot.rollout = self._new_worker(slot, None)
            self._queue.add([replace(task, id=-1 - slot.index)])
            self._assign(slot, slot.gradient if task.gradient else slot.rollout)
        for _ in slots:
            while self.next_result(LOOK_EVERY) is None and len(self._queue):
                self._heed()

    def _heed(self) -> None:
        if self._stopping:
            raise Interrupted("interrupted while workers were prepared; the same command continues")

    def submit(self, tasks: Iterable[Task]) -> None:
        self._queue.add(tasks)
        self._start()

    def next_result(self, timeout: float | None = None) -> Result | None:
        if not self._finished:
            self._wait_for_result(inf if timeout is None else time.monotonic() + timeout)
        if not self._finished:
            return None
        item = self._finished.popleft()
        if isinstance(item, ErlbenchError):
            raise item
        return item

    def running(self) -> Mapping[int, Task]:
        return MappingProxyType(self._running)

    def reset(self) -> None:
        for slot in self._slots:
            if slot.worker is not None:
                slot.worker.kill()
                self._end(slot.worker)
                self._release(slot)
        self._queue.clear()
        self._finished.clear()
        self._kills.clear()
        self._failed_starts, self._broken, self._stopping = 0, None, False

    def interrupt(self) -> None:
        self._stopping = True

    def close(self) -> None:
        self.reset()
        workers = [worker for slot in self._slots for worker in (slot.rollout, slot.gradient) if worker is not None]
        for worker in workers:
            worker.kill()  # they are idle or starting; killing all before waiting for any makes the end quick
        for worker in workers:
            self._end(worker)
        self._selector.close()
        self._occupancy.close()
        if self._owns_store:
            self.store.close()

    # -- starting tasks -------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Start ready tasks on idle slots, lowest (priority, id) first."""
        if self._broken is not None:
            return
        rollouts, gradients = self._queue.ready(False), self._queue.ready(True)
        if self._queue.unfinished(True) and not any(slot.gradient for slot in self._slots):
            self._start_gradient_workers(1, self._idle or self._slots)  # importing torch takes seconds: begin now
        if rollouts and len(self._idle) > 1:
            self._idle.sort(key=lambda slot: slot.willingness)
        while self._idle and (rollouts or gradients):
            if gradients and not (rollouts and rollouts[0] < gradients[0]):
                slot = next((slot for slot in self._idle if slot.gradient and slot.gradient.ready), None)
                if slot is not None:
                    self._assign(slot, slot.gradient)
                    continue
                self._start_gradient_workers(len(gradients), self._idle)
                if not rollouts:
                    return
            slot = self._idle[-1]
            if slot.rollout is None:
                slot.rollout = self._new_worker(slot, None)
            self._assign(slot, slot.rollout)

    def _assign(self, slot: Slot, worker: WorkerProcess | None) -> None:
        """Give the first ready tasks of the worker's lane to an idle slot."""
        assert worker is not None
        messages = self._written(slot, worker, self._chunk(worker.gradient))
        if slot.tasks:
            self._idle.remove(slot)
            self._running[slot.index] = slot.tasks[0]
            self._occupancy.begin(slot.index)
            slot.worker, slot.deadline = worker, time.monotonic() + HELD + self.task_timeout
            worker.send(messages)

    def _written(self, slot: Slot, worker: WorkerProcess, tasks: list[Task]) -> list[bytes]:
        """One message of all tasks, which become the slot's; one each if there is one that cannot be sent."""
        try:
            message = worker.write(tasks)
        except Exception as error:
            if len(tasks) > 1:
                return [message for task in tasks for message in self._written(slot, worker, [task])]
            self._queue.drop(tasks[0].id)
            reason = f"{name(tasks[0])} cannot be sent to a worker: {error}"
            self._finished.append(TaskError(reason, task=tasks[0].id))
            return []
        slot.tasks.extend(tasks)
        return [message]

    def _chunk(self, gradient: bool) -> list[Task]:
        """The tasks to send now. A task whose worker died goes alone: if the next worker dies, too, it is the cause."""
        queue = self._queue
        first = queue.pop(gradient)
        chunk = [first]
        if first.id in self._kills:
            return chunk
        for _ in range(1, self._chunks.size(first, 1 + len(queue.ready(gradient)))):
            following = queue.first(gradient)
            if following is None or following.id in self._kills or not alike(first, following):
                break
            chunk.append(queue.pop(gradient))
        return chunk

    def _start_gradient_workers(self, wanted: int, slots: list[Slot]) -> None:
        """Have up to `wanted` gradient workers of `slots` start in the background."""
        starting = sum(1 for slot in slots if slot.gradient and not slot.gradient.ready)
        for slot in slots:
            if starting < wanted and slot.gradient is None:
                slot.gradient = self._new_worker(slot, self.device)
                starting += 1

    def _new_worker(self, slot: Slot, device: str | None) -> WorkerProcess:
        occupancy = None if self._options.one_core else self._occupancy.path
        worker = WorkerProcess(
            self._context, self.store.folder, occupancy, slot.index, device, memory=self._options.worker_memory
        )
        if self._idle_time:
            with suppress(OSError):  # it has died already, which is noticed elsewhere
                os.sched_setscheduler(worker.pid, os.SCHED_IDLE, os.sched_param(0))
        self._selector.register(worker.connection, selectors.EVENT_READ, worker)
        self._selector.register(worker.sentinel, selectors.EVENT_READ, worker)
        return worker

    # -- what comes back ------------------------------------------------------------------------------------------

    def _wait_for_result(self, end: float) -> None:
        """Have something in `_finished`, unless `end` comes first or there is nothing to do."""
        while not self._finished:
            if not len(self._queue):
                return
            if self._broken is not None:
                raise self._broken
            self._start()
            if self._finished:  # a task that could not be sent
                break
            self._wait(end)
            self._start()
            if not self._finished and time.monotonic() >= end:
                return

    def _wait(self, end: float) -> None:
        """Wait until workers have something to say, at most until `end`, and take it in."""
        pause = min(1.0, self.task_timeout / 4)
        for key, _ in self._selector.select(max(0.0, min(end - time.monotonic(), pause))):
            worker: WorkerProcess = key.data
            if worker.closed:
                continue  # found dead by its other descriptor
            if key.fileobj is worker.connection:
                self._receive(worker)
            elif not worker.connection.poll():  # its last message comes first
                self._died(self._slots[worker.slot], worker)
        now = time.monotonic()
        if now >= self._next_check:
            self._next_check = now + pause
            self._stop_hung(now)

    def _receive(self, worker: WorkerProcess) -> None:
        """Take in what a worker has to say, or its death."""
        slot = self._slots[worker.slot]
        try:
            answers = worker.receive()
        except (EOFError, OSError):
            self._died(slot, worker)
            return
        for answer in answers:
            if isinstance(answer, Ready):
                worker.ready, self.device = True, answer.device if self.device == "auto" else self.device
                self._failed_starts = 0
            elif not worker.ready:
                self._broken = as_error("gradient worker", answer)
                self._end(worker)
                return
            else:
                self._returned(slot.tasks.popleft(), answer)
                worker.finished += 1
        if slot.tasks:
            self._running[slot.index] = slot.tasks[0]
            slot.deadline = time.monotonic() + HELD + self.task_timeout
        elif slot.worker is not None:
            self._release(slot)

    def _returned(self, task: Task, answer: Result | Failure) -> None:
        """Take in what became of a task."""
        self._kills.pop(task.id, None)
        if isinstance(answer, Failure):
            self._queue.drop(task.id)
            self._finished.append(as_error(name(task), answer, task.id))
        else:
            self._queue.finish(answer)
            self._chunks.durations.note(task, answer)
            self._finished.append(answer)

    def _release(self, slot: Slot) -> list[Task]:
        """Free a slot and return the tasks that it held."""
        tasks = list(slot.tasks)
        slot.tasks.clear()
        slot.worker, slot.deadline = None, inf
        del self._running[slot.index]
        self._occupancy.end(slot.index)
        self._idle.append(slot)
        return tasks

    def _died(self, slot: Slot, worker: WorkerProcess, event: str = "worker died", reason: str = "") -> None:
        """Replace a worker that is gone, and run its tasks again."""
        busy, pid = slot.worker is worker, worker.pid
        how = self._end(worker)
        if lost := how == SERVER_DIED:
            event = "fork server died"
            self._lost_servers += 1
            lost = self._lost_servers <= LOST_SERVERS
        blameless = lost or (how == OVER_MEMORY and worker.finished > 0)  # the tasks before have used it up
        how = reason or how
        where = f"worker process {pid} of slot {slot.index}: {how}"
        if busy:
            tasks = self._release(slot)
            for task in tasks:
                if blameless:
                    self._queue.again(task)
                else:
                    self._suspect(task, where, how)
            others = f" or one of the {len(tasks) - 1} sent with it" if len(tasks) > 1 else ""
            where = f"{name(tasks[0])}{others}, {where}"
        elif not worker.ready and not lost:
            self._failed_starts += 1
            if self._failed_starts == KILLS:
                self._broken = TaskError(f"{KILLS} gradient workers ended while they started, the last by {how}")
        self._events.append(PoolEvent(time.monotonic(), event, where))

    def _suspect(self, task: Task, where: str, how: str) -> None:
        """Run a task again whose worker has died, unless that has happened too often."""
        kills = self._kills.setdefault(task.id, [])
        kills.append(where)
        if len(kills) < KILLS:
            self._queue.again(task)
        else:
            self._queue.drop(task.id)
            message = f"{name(task)} has ended {KILLS} workers, the last by {how}"
            self._finished.append(TaskError(message, "\n".join(kills), task.id))

    def _end(self, worker: WorkerProcess) -> str:
        """Free all that belongs to a worker, and return how it ended."""
        self._selector.unregister(worker.connection)
        self._selector.unregister(worker.sentinel)
        slot = self._slots[worker.slot]
        if worker.gradient:
            slot.gradient = None
        else:
            slot.rollout = None
        pid, how = worker.pid, worker.close()
        for part in self.store.folder.glob(f"*.part{pid}"):
            part.unlink(missing_ok=True)  # an array that it was writing
        return how

    def _stop_hung(self, now: float) -> None:
        """Kill the workers whose task is over its time."""
        for slot in self._slots:
            if now > slot.deadline:
                assert slot.worker is not None
                slot.worker.kill()
                self._died(slot, slot.worker, "task hung", f"the task ran longer than {self.task_timeout:g} s")
