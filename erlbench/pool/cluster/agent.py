"""The side of a node: an agent that runs the driver's tasks on a pool of processes of its own.

The driver posts batches and always has one call of `collect` under way. The pool belongs to a thread of its own, so its
processes get their next tasks whatever the driver does. Arrays that tasks need come with the batches, once for each
node; results bring the arrays they made.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import platform
import shutil
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.errors import ErlbenchError
from erlbench.machine import kernel
from erlbench.pool.base import PoolEvent
from erlbench.pool.failures import Failure, failure
from erlbench.pool.options import PoolOptions
from erlbench.pool.processes import ProcessPool
from erlbench.work.noise import NoiseTable
from erlbench.work.replica import ReplayBlock, write_block
from erlbench.work.store import Store, make_store_folder, shared_memory_folder
from erlbench.work.tasks import Perturbed, Result, Task

GATHER = 0.005  # seconds in which results are gathered for one answer
PATIENCE = 0.05  # the same while tasks wait on the node, so that the answer is in no hurry
IDLE = 0.25  # seconds after which the thread looks at what has come, when no result wakes it


@dataclass(frozen=True)
class Facts:
    """What must agree between a node and the driver, and what a node has."""

    host: str
    erlbench: str
    python: str
    arithmetic: str  # BLAS, kernel and instruction sets: equal ones give equal bits
    shared_memory: int  # bytes


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What the driver sends: in the order of `number`, whatever the order in which they arrive."""

    number: int
    tasks: bytes = b""  # a pickled list
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    objects: Mapping[str, Any] = field(default_factory=dict)  # name -> reference of Ray's to a larger array
    free: Sequence[str] = ()
    blocks: Sequence[ReplayBlock] = ()
    prepare: tuple[Task, int] | None = None  # a task, and the number of workers that run it before anything else
    epoch: int | None = None  # forget all tasks, arrays and replays first, and answer for this epoch from now on


@dataclass(frozen=True)
class Answer:
    """One finished task: its result by this node's clock, with its arrays themselves; or why it failed."""

    task: int
    end: float
    result: Result | None = None
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)  # by their name in the store
    failure: Failure | None = None


@dataclass
class Outbox:
    """What has not been sent to the driver."""

    answers: list[Answer] = field(default_factory=list)
    events: list[PoolEvent] = field(default_factory=list)
    prepared: int = 0  # preparations that were done
    failed: Failure | None = None  # the pool as a whole

    @property
    def urgent(self) -> bool:
        """Whether the driver waits for this one thing."""
        return bool(self.prepared or self.failed)


@dataclass(frozen=True)
class Report:
    """What `collect` returns."""

    epoch: int
    now: float  # this node's clock
    device: str
    news: Outbox


class Agent:
    """Runs on every node, as an actor of Ray's."""

    def __init__(self, processes: int, options: PoolOptions) -> None:
        self._pool = ProcessPool(replace(options, processes=processes))
        self._folder = make_store_folder(Path(tempfile.gettempdir()))
        self._replays = self._folder / "replays"
        self._unfinished: dict[int, Task] = {}
        self._gradients = False  # whether there were gradient tasks in this epoch
        self._epoch = -1
        # What the thread and the driver's calls share, and what wakes either:
        self._changed = threading.Condition()
        self._early: dict[int, Batch] = {}
        self._next = 0
        self._inbox: deque[Batch] = deque()
        self._outbox = Outbox()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="pool", daemon=True)
        self._thread.start()

    def facts(self) -> Facts:
        """What this node has."""
        return facts()

    def post(self, batch: Batch) -> None:
        """Take a batch in; its tasks start in the order of the batches."""
        with self._changed:
            self._early[batch.number] = batch
            while self._next in self._early:
                self._inbox.append(self._early.pop(self._next))
                self._next += 1
            self._changed.notify_all()

    def collect(self, timeout: float, batch: Batch | None = None) -> Report:
        """Post `batch`; then wait for finished tasks, at most `timeout` seconds, and return them."""
        if batch is not None:
            self.post(batch)
        end = time.monotonic() + timeout
        with self._changed:
            while not self._outbox.urgent:
                answers = self._outbox.answers
                due = answers[0].end + self._patience(len(answers)) if answers else end
                left = due - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            outbox, self._outbox = self._outbox, Outbox()
            return Report(self._epoch, time.monotonic(), self._pool.device, outbox)

    def close(self) -> None:
        """End the processes and remove the files."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(IDLE + 1)
        self._pool.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _patience(self, answered: int) -> float:
        """How long results may wait for further results: longer while most tasks that came ahead still wait here."""
        ahead = len(self._unfinished) - self._pool.processes
        return PATIENCE if ahead > answered and not self._gradients else GATHER

    # -- the thread that the pool belongs to ----------------------------------------------------------------------

    def _run(self) -> None:
        while not self._closed:
            try:
                self._take_in()
                self._work()
            except Exception as error:
                self._reply(failed=failure(error))
                self._await_batch()  # the same would happen again

    def _work(self) -> None:
        """Wait for a result, or for a batch while processes are idle."""
        if not self._unfinished:
            self._await_batch()
            return
        busy = len(self._unfinished) >= self._pool.processes
        self._reply(self._answer(IDLE if busy else GATHER))

    def _await_batch(self) -> None:
        with self._changed:
            if not self._inbox and not self._closed:
                self._changed.wait(IDLE)

    def _reply(self, answer: Answer | None = None, failed: Failure | None = None, prepared: int = 0) -> None:
        with self._changed:
            news = self._outbox
            news.answers += [answer] if answer is not None else []
            news.events += self._pool.events()
            news.prepared += prepared
            news.failed = news.failed or failed
            if news.answers or news.urgent:
                self._changed.notify_all()

    def _take_in(self) -> None:
        while True:
            with self._changed:
                if not self._inbox:
                    return
                batch = self._inbox.popleft()
            if batch.epoch is not None:
                self._reset(batch.epoch)
            store = self._pool.store
            store.free(batch.free)
            for name, array in batch.arrays.items():
                store.put(name, array)
            if batch.objects:
                import ray

                for name, array in zip(batch.objects, ray.get(list(batch.objects.values()))):
                    store.put(name, array)
            for block in batch.blocks:
                self._append(block)
            if batch.prepare is not None:
                self._pool.prepare(*batch.prepare)
                self._reply(prepared=1)
            tasks: list[Task] = pickle.loads(batch.tasks) if batch.tasks else []
            for task in tasks:
                self._hold_noise(task)
                self._gradients |= task.gradient
            self._unfinished.update({task.id: task for task in tasks})
            self._pool.submit(tasks)

    def _reset(self, epoch: int) -> None:
        self._pool.reset()
        self._pool.store.clear()
        self._unfinished.clear()
        self._gradients = False
        shutil.rmtree(self._replays, ignore_errors=True)
        with self._changed:
            self._outbox.answers, self._outbox.failed = [], None
            self._epoch = epoch

    def _hold_noise(self, task: Task) -> None:
        """Have the table of noise that `task` names on this node."""
        inputs = [value.table for value in task.inputs.values() if isinstance(value, Perturbed)]
        for table in (*inputs, *_values(task.settings)):
            if isinstance(table, NoiseTable):
                self._pool.store.hold(table)

    def _append(self, block: ReplayBlock) -> None:
        """Have the copy of a replay on this node grow."""
        folder = self._replays / block.view.replay
        write_block(folder, block)
        self._pool.store.attach(block.view.replay, folder)

    def _answer(self, timeout: float) -> Answer | None:
        try:
            result = self._pool.next_result(timeout)
        except ErlbenchError as error:
            return self._failed(error)
        if result is None:
            return None
        del self._unfinished[result.task]
        return self._with_arrays(result)

    def _failed(self, error: ErlbenchError) -> Answer:
        """The answer of the task that an error is about; an error about no task is raised."""
        task = error.task
        if task is None or self._unfinished.pop(task, None) is None:
            raise error
        found = failure(error)
        found = replace(found, message=str(error), details=getattr(error, "details", ""))
        return Answer(task, time.monotonic(), failure=found)

    def _with_arrays(self, result: Result) -> Answer:
        store: Store = self._pool.store
        arrays = {ref.name: np.asarray(store.get(ref)) for ref in result.arrays.values()}
        return Answer(result.task, result.end, result, arrays)


def facts() -> Facts:
    """What this machine has."""
    import erlbench

    status = os.statvfs(shared_memory_folder())
    memory = status.f_frsize * status.f_blocks
    arithmetic = kernel.in_words(kernel.describe())
    return Facts(platform.node(), erlbench.__version__, platform.python_version(), arithmetic, memory)


def _values(settings: Any) -> list[Any]:
    """What settings hold: a mapping, a dataclass, with slots or without, or nothing."""
    if isinstance(settings, Mapping):
        return list(settings.values())
    return [getattr(settings, item.name) for item in fields(settings)] if is_dataclass(settings) else []


def ray_installed() -> bool:
    """Whether this environment has Ray."""
    return importlib.util.find_spec("ray") is not None
