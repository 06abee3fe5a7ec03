"""Nodes that only keep the time of sleeping tasks: what bounds the driver, without the machine's processes."""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from erlbench.pool.base import Pool, PoolEvent
from erlbench.pool.cluster.agent import Agent
from erlbench.pool.options import PoolOptions
from erlbench.work.store import Store
from erlbench.work.tasks import Result, Task


class Timekeepers:
    """A pool whose workers are entries in a list: a task that sleeps ends when its time is over."""

    device = "cpu"

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self.store = Store.create()
        self._waiting: deque[Task] = deque()
        self._free = list(range(processes))
        self._running: list[tuple[float, int, float, Task]] = []  # a heap: end, slot, start, task

    def submit(self, tasks: Iterable[Task]) -> None:
        """Start tasks on free workers."""
        self._waiting.extend(tasks)
        self._start(time.monotonic())

    def next_result(self, timeout: float | None = None) -> Result | None:
        """Wait for the task that ends first."""
        if not self._running:
            return None
        left = self._running[0][0] - time.monotonic()
        if timeout is not None and left > timeout:
            time.sleep(timeout)
            return None
        time.sleep(max(0.0, left))
        end, slot, start, task = heapq.heappop(self._running)
        self._free.append(slot)
        self._start(end)
        return Result(task.id, {}, {}, start, end, slot)

    def _start(self, now: float) -> None:
        """Have free workers begin at `now`: when a task came, or when the one before has ended."""
        while self._free and self._waiting:
            slot, task = self._free.pop(), self._waiting.popleft()
            heapq.heappush(self._running, (now + task.settings["seconds"], slot, now, task))

    def running(self) -> Mapping[int, Task]:
        """Slot -> task."""
        return {slot: task for _, slot, _, task in self._running}

    def events(self) -> list[PoolEvent]:
        """Nothing happens here."""
        return []

    def reset(self) -> None:
        """Forget all tasks."""
        self._waiting.clear()
        self._free += [slot for _, slot, _, _ in self._running]
        self._running.clear()

    def close(self) -> None:
        """Remove the store."""
        self.store.close()


class Timekeeper(Agent):
    """An agent without processes."""

    @staticmethod
    def make_pool(processes: int, options: PoolOptions) -> Pool:
        pool: Any = Timekeepers(processes)
        return pool
