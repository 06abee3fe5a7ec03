"""The pool that runs its tasks in this process, for debugging: breakpoints and tracebacks work as usual."""

from __future__ import annotations

import heapq
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from erlbench.errors import Interrupted
from erlbench.machine.threads import Renewal
from erlbench.pool.base import PoolBase, as_error, failure, name
from erlbench.pool.worker import prepare_torch
from erlbench.work.store import Store
from erlbench.work.tasks import Result, Task
from erlbench.work.workspace import Workspace

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class GivenUp(BaseException):
    """A signal came while a task ran; it runs again when the run goes on."""


class SerialPool(PoolBase):
    """Runs one task within each call of `next_result`, whatever its timeout.

    A task gives way to a signal that somebody handles, unless it is C code; `next_result` then returns None.
    """

    processes = 0

    def __init__(self, device: str = "cpu", store: Store | None = None) -> None:
        super().__init__()
        self.store = store or Store.create()
        self.device = device
        self._owns_store = store is None
        self._workspace: Workspace | None = None
        self._has_torch = False
        self._runs = self._given_up = False
        self._renew_limit = Renewal()

    def prepare(self, task: Task, workers: int, stop: threading.Event | None = None) -> None:
        self.submit([task])
        if self.next_result() is None:
            raise Interrupted("interrupted while workers were prepared; the same command continues")

    def next_result(self, timeout: float | None = None) -> Result | None:
        return super().next_result(0.0)

    def _advance(self, end: float) -> None:
        task = self._tasks[self._ready[False][0][1]]
        if task.gradient and not self._has_torch:
            self.device, self._has_torch = prepare_torch(self.device, 0), True
        if self._workspace is None or self._workspace.device != self.device:
            self._workspace = Workspace(self.store, 0, self.device, time.thread_time)
        self._renew_limit()
        outcome = self._run(self._workspace, task)
        if self._given_up:  # whatever a library has made of it, such as an ImportError
            self._workspace.close()  # what it keeps may be half done
            self._workspace = None
            return
        heapq.heappop(self._ready[False])
        del self._tasks[task.id]
        if isinstance(outcome, Result):
            self._finished.append(outcome)
        elif isinstance(outcome, Exception | SystemExit):
            raise as_error(name(task), failure(outcome), task.id) from outcome
        else:
            raise outcome

    def _run(self, workspace: Workspace, task: Task) -> Result | BaseException:
        self._given_up = False
        with self._handled():
            try:
                self._runs = True
                outcome: Result | BaseException = workspace.run(task)
                self._runs = False
            except BaseException as error:
                self._runs = False
                outcome = error
        return outcome

    @contextmanager
    def _handled(self) -> Iterator[None]:
        """Inside, a signal with a handler ends the task that runs, after what the handler does."""
        before: dict[signal.Signals, Callable[[int, FrameType | None], Any]] = {}

        def give_way(number: int, frame: FrameType | None) -> None:
            runs = self._runs
            self._given_up, self._runs = self._given_up or runs, False  # it raises once
            before[signal.Signals(number)](number, frame)
            if runs:
                raise GivenUp

        if threading.current_thread() is threading.main_thread():
            for number in STOPPING:
                handler = signal.getsignal(number)
                if callable(handler) and handler is not signal.default_int_handler:
                    before[number] = handler
                    signal.signal(number, give_way)
        try:
            yield
        finally:
            for number in before:
                if signal.getsignal(number) is give_way:  # else the handler has chosen another one for the next signal
                    signal.signal(number, before[number])

    def running(self) -> Mapping[int, Task]:
        """The task that the next call of `next_result` will run."""
        ready = self._ready[False]
        return {0: self._tasks[ready[0][1]]} if ready else {}

    def close(self) -> None:
        if self._workspace is not None:
            self._workspace.close()
            self._workspace = None
        if self._owns_store:
            self.store.close()
