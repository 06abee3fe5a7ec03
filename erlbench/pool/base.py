"""What all pools share: interface, kinds, and what an error of a task becomes in the driver."""

from __future__ import annotations

import heapq
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf

from erlbench.errors import ErlbenchError, Interrupted, TaskError
from erlbench.experiment.cells import LOCAL, RunOptions
from erlbench.work.store import Store
from erlbench.work.tasks import Result, Task

UNPREPARED = "interrupted while workers were prepared; the same command continues"
STRIKES = 3  # workers or nodes that a task may end


@dataclass(frozen=True)
class PoolEvent:
    """Something that a user may want to know although the run went on."""

    time: float  # seconds, time.monotonic()
    event: str  # such as `worker died` or `node joined`
    message: str


class Pool(ABC):
    """Runs tasks, by priority and id. Whatever the pool and its size, a task's outcome is the same."""

    store: Store  # where arrays are
    processes: int  # how many tasks may run at once; 0: in this process
    device: str  # of gradient tasks; `auto` until a worker has chosen one

    def __init__(self) -> None:
        self._tasks: dict[int, Task] = {}  # that have not finished
        self._ready: list[tuple[int, int]] = []  # a heap of (priority, id)
        self._finished: deque[Result | ErlbenchError] = deque()
        self._ends: dict[int, list[str]] = {}  # task -> how the workers or nodes ended that had it
        self._events: list[PoolEvent] = []

    @abstractmethod
    def prepare(self, task: Task, workers: int, stop: threading.Event | None = None) -> None:
        """Run `task` on `workers` workers of the kind that it needs, as far as there are slots; wait for them.

        To be called while the pool has no other task. Raises as `next_result` does, and `Interrupted` after `stop`.
        """

    def submit(self, tasks: Iterable[Task]) -> None:
        """Take tasks in that can start: the tasks that they wait for have finished."""
        for task in tasks:
            self._tasks[task.id] = task
            self._push(task)
        self._start()

    def next_result(self, timeout: float | None = None) -> Result | None:
        """The next finished task, or None after `timeout` seconds.

        Raises what the task raised, with the task's id and kind in the message, `TaskError` for a task that has killed
        three workers, and `RuntimeError` where no task is left. A pool that has raised can be reset or closed.
        """
        if not self._finished and not self._tasks:
            raise RuntimeError("no task is left in the pool, so no result can come")
        end = inf if timeout is None else time.monotonic() + timeout
        while not self._finished and self._tasks:
            self._advance(end)
            if time.monotonic() >= end:
                break
        item = self._finished.popleft() if self._finished else None
        if isinstance(item, ErlbenchError):
            raise item
        return item

    @abstractmethod
    def running(self) -> Mapping[int, Task]:
        """Slot -> the task that it runs now; of tasks sent together, the first that has not come back."""

    def events(self) -> list[PoolEvent]:
        """What happened since the last call."""
        events, self._events = self._events, []
        return events

    def reset(self) -> None:
        """Forget all tasks and outputs, and stop the tasks that run; ids may be used again."""
        self._tasks.clear()
        self._ready.clear()
        self._finished.clear()
        self._ends.clear()

    @abstractmethod
    def close(self) -> None:
        """End the workers and remove the store."""

    # -- for kinds of pools: how tasks end ----------------------------------------------------------------------------

    def _finish(self, task: Task, outcome: Result | ErlbenchError) -> None:
        """A task has ended, by its result or by what it raised."""
        del self._tasks[task.id]
        self._ends.pop(task.id, None)
        if isinstance(outcome, ErlbenchError) and outcome.task is None:  # the worker did not know whose error it was
            outcome = task_error(task.label, outcome, task.id)
        self._finished.append(outcome)

    def _fail(self, task: Task, what: str, details: str = "") -> None:
        """Give a task up; `what` follows its name in the message."""
        del self._tasks[task.id]
        self._finished.append(TaskError(f"{task.label} {what}", details, task.id))

    def _run_again(self, task: Task, how: str, ended: str) -> None:
        """Run a task whose worker or node has ended, which `how` describes, unless it is the last that it may end."""
        ends = self._ends.setdefault(task.id, [])
        ends.append(how)
        if len(ends) < STRIKES:
            self._push(task)
        else:
            self._fail(task, f"has ended {STRIKES} {ended}", "\n".join(ends))

    def _note(self, event: str, message: str) -> None:
        self._events.append(PoolEvent(time.monotonic(), event, message))

    # -- what a kind of pool defines ------------------------------------------------------------------------------

    def _push(self, task: Task) -> None:
        heapq.heappush(self._ready, (task.priority, task.id))

    def _start(self) -> None:  # noqa: B027  # a pool may start them later
        """Start ready tasks while there is room."""

    @abstractmethod
    def _advance(self, end: float) -> None:
        """Wait for something to happen until `end` at most, and take it in; results go to `_finished`."""


def check_stop(stop: threading.Event | None) -> None:
    """Raise `Interrupted` while workers are prepared, once `stop` is set."""
    if stop is not None and stop.is_set():
        raise Interrupted(UNPREPARED)


# -- kinds of pools: `process` on this machine (0: in this process), `ray` on a cluster --------------------------------


@contextmanager
def connected(kind: str) -> Iterator[None]:
    """What pools of `kind` need of this process; raises `UsageError` when there is no cluster."""
    if kind == LOCAL:
        yield
        return
    from erlbench.pool.ray_nodes import connect

    with connect(kind.partition("://")[2] or "auto"):
        yield


def make_pool(options: RunOptions) -> Pool:
    """A pool of the kind `options.pool`, which the caller closes; within `connected`."""
    if options.pool != LOCAL:
        from erlbench.pool.ray_pool import RayPool

        return RayPool(options)
    if options.processes:
        from erlbench.pool.processes import ProcessPool

        return ProcessPool(options)
    from erlbench.pool.serial import SerialPool

    return SerialPool(options.device)


# -- errors of tasks ---------------------------------------------------------------------------------------------------


def task_error(subject: str, error: BaseException, task: int | None = None) -> ErlbenchError:
    """What an error becomes in the driver: of the same class if it is one of ours; `subject` begins the message."""
    if isinstance(error, ErlbenchError) and not isinstance(error, TaskError):
        named = type(error)(f"{subject}: {error}")
        named.task = task
        return named
    if isinstance(error, TaskError):
        text = f": {error}"
    elif isinstance(error, MemoryError):  # of the process; that the store is full is another error
        text = f": out of memory ({error}); run fewer processes"
    else:
        text = f" raised {type(error).__name__}: {error}"
    details = getattr(error, "details", "") or "".join(traceback.format_exception(error))
    return TaskError(subject + text, details, task)
