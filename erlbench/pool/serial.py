"""The pool that runs its tasks in this process, for debugging: breakpoints and tracebacks work as usual."""

from __future__ import annotations

import heapq
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from erlbench.errors import Interrupted
from erlbench.machine.process import INTERRUPTION
from erlbench.machine.threads import ONE_THREAD
from erlbench.pool.base import UNPREPARED, Pool, task_error
from erlbench.pool.worker import prepare_torch
from erlbench.work.store import Store
from erlbench.work.tasks import Result, Task
from erlbench.work.workspace import Workspace


class SerialPool(Pool):
    """Runs one task within each call of `next_result`, whatever its timeout.

    Where a signal has ended the task, it runs again later and the result is None.
    """

    processes = 0

    def __init__(self, device: str) -> None:
        super().__init__()
        self.store = Store.create()
        self.device = device
        self._workspace = Workspace(self.store, cpu=time.thread_time)
        self._has_torch = False
        self._folder = _current_folder()  # of tasks, whose environments may change it

    def prepare(self, task: Task, workers: int, stop: threading.Event | None = None) -> None:
        self.submit([task])
        if self.next_result() is None:
            raise Interrupted(UNPREPARED)

    def next_result(self, timeout: float | None = None) -> Result | None:
        return super().next_result(0.0)

    def _advance(self, end: float) -> None:
        task = self._tasks[self._ready[0][1]]
        if task.gradient and not self._has_torch:
            self._workspace.device = self.device = prepare_torch(self.device, 0)
            self._has_torch = True
        ONE_THREAD.renew()
        outcome: Result | BaseException
        try:
            with self._in_folder(), INTERRUPTION.allow():
                outcome = self._workspace.run(task)
        except BaseException as error:
            outcome = error
        if INTERRUPTION.came:  # whatever a library has made of it, such as an ImportError
            self._workspace.close()  # what it keeps may be half done
            return
        heapq.heappop(self._ready)
        del self._tasks[task.id]
        if isinstance(outcome, Result):
            self._finished.append(outcome)
        elif isinstance(outcome, Exception | SystemExit):
            raise task_error(task.label, outcome, task.id) from outcome
        else:
            raise outcome

    @contextmanager
    def _in_folder(self) -> Iterator[None]:
        """Inside, the tasks' current folder is the process's, as in a worker; then the driver's again."""
        driver_folder = _current_folder()
        with suppress(OSError):  # a folder that was removed, or that this user may not enter
            os.chdir(self._folder)
        try:
            yield
        finally:
            self._folder = _current_folder()
            with suppress(OSError):
                os.chdir(driver_folder)

    def running(self) -> Mapping[int, Task]:
        """The task that the next call of `next_result` will run."""
        return {0: self._tasks[self._ready[0][1]]} if self._ready else {}

    def close(self) -> None:
        self._workspace.close()
        self.store.close()


def _current_folder() -> str:
    """The current folder; empty where it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""
