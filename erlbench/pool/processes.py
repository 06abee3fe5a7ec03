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
from dataclasses import dataclass
from math import inf

from erlbench.errors import ErlbenchError, TaskError
from erlbench.pool.base import PoolEvent, Queue, name
from erlbench.pool.failures import Failure, as_error
from erlbench.pool.handle import WorkerProcess, start_context
from erlbench.pool.worker import Ready
from erlbench.store import Store
from erlbench.tasks import Result, Task

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
        self, processes: int, device: str = "cpu", task_timeout: float = 1800.0, store: Store | None = None,
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

    # -- the pool's face ------------------------------------------------------------------------------------------

    def submit(self, tasks: Iterable[Task]) -> None:
        self._queue.add(tasks)
        self._start()

    def next_result(self, timeout: float | None = None) -> Result | None:
        end = inf if timeout is None else time.monotonic() + timeout
        while not self._finished:
            if not len(self._queue):
                return None
            self._start()
            if self._finished:  # a task that could not be sent
                break
            now = time.monotonic()
            pause = min(1.0, self.task_timeout / 4)
            ready = self._selector.select(max(0.0, min(end - now, pause)))
            for worker in {id(key.data): key.data for key, _ in ready}.values():
                self._receive(worker)
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

    def reset(self) -> None:
        for slot in self._slots:
            if slot.worker is not None:
                slot.worker.kill()
                self._end(slot.worker)
                self._release(slot)
        self._queue.clear()
        self._finished.clear()
        self._kills.clear()
        self._failed_starts = 0

    def close(self) -> None:
        self.reset()
        workers = [worker for slot in self._slots for worker in (slot.rollout, slot.gradient) if worker is not None]
        for worker in workers:
            worker.hang_up()
        for worker in workers:
            self._end(worker)
        self._selector.close()
        if self._owns_store:
            self.store.close()

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # -- starting tasks -------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Start ready tasks on idle slots, lowest (priority, id) first."""
        rollouts, gradients = self._queue.ready(False), self._queue.ready(True)
        if self._queue.unfinished(True) and not any(slot.gradient for slot in self._slots):
            self._start_gradient_worker()  # it needs seconds to import torch, and the task may have to wait anyway
        while self._idle and (rollouts or gradients):
            if gradients and not (rollouts and rollouts[0] < gradients[0]):
                slot = next((slot for slot in self._idle if slot.gradient and slot.gradient.ready), None)
                if slot is not None:
                    assert slot.gradient is not None
                    self._assign(slot, slot.gradient)
                    continue
                self._start_gradient_workers(len(gradients))
                if not rollouts:
                    return
            slot = min(self._idle, key=lambda slot: slot.reluctance)
            if slot.rollout is None:
                slot.rollout = self._new_worker(slot, None)
            self._assign(slot, slot.rollout)
