"""The pool of worker processes on this machine.

A pool of N processes has N slots, each with up to two workers: one for rollouts, which never sees torch, and one
for gradient tasks, started when there is such a task. A slot runs one task at a time.
"""

from __future__ import annotations

import pickle
import selectors
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Self

from erlbench.errors import ErlbenchError, TaskError
from erlbench.pool.base import PoolEvent, Queue, name
from erlbench.pool.failures import Failure, as_error
from erlbench.pool.handle import WorkerProcess, start_context
from erlbench.pool.worker import Ready
from erlbench.store import Store
from erlbench.tasks import Result, Task
from erlbench.threads import cores

KILLS = 3  # workers that a task may kill, and gradient workers that may die while they start


@dataclass(eq=False)
class Slot:
    """One place for a task, with its workers."""

    index: int
    rollout: WorkerProcess | None = None
    gradient: WorkerProcess | None = None
    task: Task | None = None
    worker: WorkerProcess | None = None  # that runs the task
    deadline: float = inf

    @property
    def reluctance(self) -> tuple[bool, bool]:
        """Order in which idle slots take rollouts: keep gradient workers free, and start few new workers."""
        return self.gradient is not None, self.rollout is None


class ProcessPool:
    """Runs tasks in `processes` slots; a task may take `task_timeout` seconds before its worker is killed."""

    def __init__(
        self,
        processes: int,
        device: str = "cpu",
        task_timeout: float = 1800.0,
        store: Store | None = None,
        start_method: str | None = None,
    ) -> None:
        self.processes = processes
        self.device = device
        self.task_timeout = task_timeout
        self._context = start_context(start_method)
        self._owns_store = store is None
        self.store = store or Store.create()
        self._slots = [Slot(index) for index in range(processes)]
        self._idle = list(self._slots)
        self._queue = Queue(lambda task: task.gradient)
        self._selector = selectors.DefaultSelector()
        self._finished: deque[Result | ErlbenchError] = deque()
        self._events: list[PoolEvent] = []
        self._kills: dict[int, list[str]] = {}  # task -> how the workers ended that it killed
        self._failed_starts = 0  # of gradient workers
        self._next_check = 0.0
        self._broken: ErlbenchError | None = None  # why no gradient worker can be started

    # -- the pool's face ------------------------------------------------------------------------------------------

    def submit(self, tasks: Iterable[Task]) -> None:
        self._queue.add(tasks)
        self._start()

    def next_result(self, timeout: float | None = None) -> Result | None:
        end = inf if timeout is None else time.monotonic() + timeout
        while not self._finished:
            if not len(self._queue):
                return None
            if self._broken is not None:
                raise self._broken
            self._start()
            if self._finished:  # a task that could not be sent
                break
            now = time.monotonic()
            pause = min(1.0, self.task_timeout / 4)
            ready = self._selector.select(max(0.0, min(end - now, pause)))
            for key, _ in ready:
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
            if now >= end and not self._finished:
                return None
        self._start()
        item = self._finished.popleft()
        if isinstance(item, ErlbenchError):
            raise item
        return item

    def running(self) -> Mapping[int, Task]:
        return {slot.index: slot.task for slot in self._slots if slot.task is not None}

    def events(self) -> list[PoolEvent]:
        events, self._events = self._events, []
        return events

    def now(self) -> float:
        return time.monotonic()

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.reset()

    def reset(self) -> None:
        for slot in self._slots:
            if slot.worker is not None:
                slot.worker.kill()
                self._end(slot.worker)
                self._release(slot)
        self._queue.clear()
        self._finished.clear()
        self._kills.clear()
        self._failed_starts, self._broken = 0, None

    def close(self) -> None:
        self.reset()
        workers = [worker for slot in self._slots for worker in (slot.rollout, slot.gradient) if worker is not None]
        for worker in workers:
            worker.kill()  # they are idle or starting; killing all before waiting for any makes the end quick
        for worker in workers:
            self._end(worker)
        self._selector.close()
        if self._owns_store:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # -- starting tasks -------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Start ready tasks on idle slots, lowest (priority, id) first."""
        if self._broken is not None:
            return
        rollouts, gradients = self._queue.ready(False), self._queue.ready(True)
        if self._queue.unfinished(True) and not any(slot.gradient for slot in self._slots):
            self._start_gradient_workers(1, self._idle or self._slots)  # importing torch takes seconds: begin now
        while self._idle and (rollouts or gradients):
            if gradients and not (rollouts and rollouts[0] < gradients[0]):
                slot = next((slot for slot in self._idle if slot.gradient and slot.gradient.ready), None)
                if slot is not None:
                    self._assign(slot, slot.gradient)
                    continue
                self._start_gradient_workers(len(gradients), self._idle)
                if not rollouts:
                    return
            slot = min(self._idle, key=lambda slot: slot.reluctance)
            if slot.rollout is None:
                slot.rollout = self._new_worker(slot, None)
            self._assign(slot, slot.rollout)

    def _assign(self, slot: Slot, worker: WorkerProcess | None) -> None:
        """Give the first ready task of the worker's lane to an idle slot."""
        assert worker is not None
        task = self._queue.pop(worker.gradient)
        try:
            message = pickle.dumps(self._with_threads(task), pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            self._queue.drop(task.id)
            self._finished.append(TaskError(f"{name(task)} cannot be sent to a worker: {error}"))
            return
        self._idle.remove(slot)
        slot.task, slot.worker, slot.deadline = task, worker, time.monotonic() + self.task_timeout
        worker.send(message)

    def _with_threads(self, task: Task) -> Task:
        """The task with as many threads as there are idle slots, its own included; none without a core."""
        if task.threads == 1:
            return task
        return replace(task, threads=min(task.threads, len(self._idle), cores()))

    def _start_gradient_workers(self, wanted: int, slots: list[Slot]) -> None:
        """Have up to `wanted` gradient workers of `slots` start in the background."""
        starting = sum(1 for slot in slots if slot.gradient and not slot.gradient.ready)
        for slot in slots:
            if starting < wanted and slot.gradient is None:
                slot.gradient = self._new_worker(slot, self.device)
                starting += 1

    def _new_worker(self, slot: Slot, device: str | None) -> WorkerProcess:
        worker = WorkerProcess(self._context, str(self.store.folder), slot.index, device)
        self._selector.register(worker.connection, selectors.EVENT_READ, worker)
        self._selector.register(worker.sentinel, selectors.EVENT_READ, worker)
        return worker

    # -- what comes back ------------------------------------------------------------------------------------------

    def _receive(self, worker: WorkerProcess) -> None:
        """Take one message of a worker in, or its death."""
        slot = self._slots[worker.slot]
        try:
            message = pickle.loads(worker.connection.recv_bytes())
        except (EOFError, OSError):
            self._died(slot, worker)
            return
        if isinstance(message, Ready):
            worker.ready, self.device = True, message.device if self.device == "auto" else self.device
            self._failed_starts = 0
        elif not worker.ready:
            self._broken = as_error("gradient worker", message)
            self._end(worker)
        else:
            task = self._release(slot)
            self._kills.pop(task.id, None)
            if isinstance(message, Failure):
                self._queue.drop(task.id)
                self._finished.append(as_error(name(task), message))
            else:
                self._queue.finish(message)
                self._finished.append(message)

    def _release(self, slot: Slot) -> Task:
        """Make a slot idle again; the task that it ran."""
        task = slot.task
        assert task is not None
        slot.task, slot.worker, slot.deadline = None, None, inf
        self._idle.append(slot)
        return task

    def _died(self, slot: Slot, worker: WorkerProcess, event: str = "worker died", reason: str = "") -> None:
        """Replace a worker that is gone, and run its task again."""
        busy, pid = slot.worker is worker, worker.pid
        how = self._end(worker)
        how = reason or how
        where = f"worker process {pid} of slot {slot.index}: {how}"
        if busy:
            task = self._release(slot)
            kills = self._kills.setdefault(task.id, [])
            kills.append(where)
            if len(kills) < KILLS:
                self._queue.again(task)
            else:
                self._queue.drop(task.id)
                message = f"{name(task)} has ended {KILLS} workers, the last by {how}"
                self._finished.append(TaskError(message, "\n".join(kills)))
            where = f"{name(task)}, {where}"
        elif not worker.ready:
            self._failed_starts += 1
            if self._failed_starts == KILLS:
                self._broken = TaskError(f"{KILLS} gradient workers ended while they started, the last by {how}")
        self._events.append(PoolEvent(time.monotonic(), event, where))

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
