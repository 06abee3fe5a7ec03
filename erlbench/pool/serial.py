"""The pool that runs its tasks in this process, for debugging: breakpoints and tracebacks work as usual."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterable, Mapping

from erlbench.machine.threads import Renewal
from erlbench.pool.base import PoolBase, Queue, name
from erlbench.pool.failures import as_error, failure
from erlbench.pool.worker import prepare_torch
from erlbench.work.store import Store
from erlbench.work.tasks import Result, Task
from erlbench.work.workspace import Workspace

GRACE = 0.4  # seconds in which a task gives way to `interrupt`, unless it is C code


class GivenUp(BaseException):
    """The run is to stop; the task runs again when it goes on."""


class Abandoned(BaseException):
    """The run has been saved without its thread, which was in a task; it must not write any more."""


class SerialPool(PoolBase):
    """Runs one task within each call of `next_result`, whatever its timeout."""

    processes = 0

    def __init__(self, device: str = "cpu", store: Store | None = None) -> None:
        super().__init__()
        self.store = store or Store.create()
        self.device = device
        self._owns_store = store is None
        self._queue = Queue(lambda task: None)
        self._workspace: Workspace | None = None
        self._has_torch = False
        self._guard = threading.Lock()
        self._thread: int | None = None  # that runs a task now
        self._importing = False  # torch, for the first gradient task
        self._given_up = self._abandoned = False
        self._asked: float | None = None  # when it was first asked to give way
        self._renew_limit = Renewal()

    def prepare(self, task: Task, workers: int) -> None:
        self.submit([task])
        self.next_result()

    def submit(self, tasks: Iterable[Task]) -> None:
        self._queue.add(tasks)

    def interrupt(self) -> None:
        """Raise `GivenUp` in the thread that runs a task; C code is not interrupted before it returns."""
        with self._guard:
            self._asked = self._asked or time.monotonic()
            if self._thread is not None and not self._given_up:
                self._given_up = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), ctypes.py_object(GivenUp))

    def abandon(self, save: Callable[[], None]) -> bool:
        """Save a run whose task ignores `interrupt`. Its thread then ends with `Abandoned`.

        For another thread than that of the run. False when there is nothing to abandon.
        """
        with self._guard:
            in_time = self._asked is None or time.monotonic() - self._asked < GRACE
            if self._abandoned or in_time or (self._thread is None and not self._importing):
                return self._abandoned
            save()
            self._abandoned = True
            return True

    def next_result(self, timeout: float | None = None) -> Result | None:
        try:
            return self._next_result()
        finally:
            with self._guard:  # which `abandon` holds while it saves
                if self._abandoned:
                    raise Abandoned

    def _next_result(self) -> Result | None:
        if not self._queue.ready(None):
            return None
        task = self._queue.pop(None)
        if task.gradient and not self._has_torch:
            self._importing = True
            self.device = prepare_torch(self.device, 0)
            self._has_torch, self._importing = True, False
        if self._workspace is None or self._workspace.device != self.device:
            self._workspace = Workspace(self.store, 0, self.device, time.thread_time)
        self._renew_limit()
        try:
            result = self._run(self._workspace, task)
        except GivenUp:
            self._queue.again(task)
            self._workspace.close()  # what it keeps may be half done
            self._workspace = None
            return None
        except (Exception, SystemExit) as error:
            self._queue.drop(task.id)
            raise as_error(name(task), failure(error), task.id) from error
        self._queue.finish(result)
        return result

    def _run(self, workspace: Workspace, task: Task) -> Result:
        """Run a task, during which, and at no other time, `interrupt` may raise `GivenUp`."""
        with self._guard:
            self._thread, self._given_up = threading.get_ident(), False
        try:
            result = workspace.run(task)
        except GivenUp:
            with self._guard:
                self._thread = None
            raise
        except BaseException:
            self._end_task()
            raise
        self._end_task()
        return result

    def _end_task(self) -> None:
        with self._guard:
            self._thread = None
        while self._given_up:  # on its way to this thread
            time.sleep(0.001)

    def running(self) -> Mapping[int, Task]:
        """The task that the next call of `next_result` will run."""
        task = self._queue.first(None)
        return {} if task is None else {0: task}

    def reset(self) -> None:
        self._queue.clear()
        self._asked = None

    def close(self) -> None:
        if self._workspace is not None:
            self._workspace.close()
            self._workspace = None
        if self._owns_store:
            self.store.close()
