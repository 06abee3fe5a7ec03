"""The side of a node: an agent that runs the driver's tasks on a pool of processes of its own.

The driver posts batches and always has one call of `collect` under way. Only that call touches the pool, so the pool
needs no lock. Arrays that tasks need come with the batches, once for each node; results bring the arrays they made.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.errors import ErlbenchError
from erlbench.pool.base import PoolEvent
from erlbench.pool.failures import Failure, failure
from erlbench.pool.messages import TaskReader
from erlbench.pool.options import PoolOptions
from erlbench.pool.processes import ProcessPool
from erlbench.work import kernel
from erlbench.work.noise import NoiseTable
from erlbench.work.replica import Block, write_block
from erlbench.work.store import Store, shared_memory_folder
from erlbench.work.tasks import Perturbed, Result, Task

GATHER = 0.005  # seconds in which results are gathered for one answer


@dataclass(frozen=True)
class Facts:
    """What must agree between a node and the driver, and what a node has."""

    host: str
    erlbench: str
    python: str
    arithmetic: str  # BLAS, kernel and instruction sets: equal ones give equal bits
    shared_memory: int  # bytes


@dataclass(frozen=True)
class Batch:
    """What the driver sends: in the order of `number`, whatever the order in which they arrive."""

    number: int
    tasks: Sequence[bytes] = ()  # messages of `TaskWriter`
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    objects: Mapping[str, Any] = field(default_factory=dict)  # name -> reference of Ray's to a larger array
    free: Sequence[str] = ()
    blocks: Sequence[Block] = ()
    prepare: tuple[Task, int] | None = None  # have so many workers run it before anything else
    epoch: int | None = None  # forget all tasks, arrays and replays first, and answer for this epoch from now on


@dataclass(frozen=True)
class Answer:
    """One finished task: its values, its arrays themselves, and its duration; or why it failed."""

    task: int
    values: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)  # by their name in the store
    references: Mapping[str, Any] = field(default_factory=dict)  # output -> ArrayRef
    seconds: float = 0.0
    slot: int = 0
    failure: Failure | None = None


@dataclass(frozen=True)
class Report:
    """What `collect` returns."""

    epoch: int
    answers: Sequence[Answer]
    events: Sequence[PoolEvent]
    device: str
    prepared: int = 0  # preparations that this agent has done
    failed: Failure | None = None  # the pool as a whole


class Agent:
    """Runs on every node, as an actor of Ray's."""

    def __init__(self, processes: int, options: PoolOptions) -> None:
        self._pool = ProcessPool(
            processes,
            options.device,
            options.task_timeout,
            one_core=options.one_core,
            worker_memory=options.worker_memory,
        )
        self._folder = Path(tempfile.mkdtemp(prefix="erlbench-replay-"))
        self._reader = TaskReader()
        self._early: dict[int, Batch] = {}
        self._next = 0
        self._prepared = 0
        self._epoch = -1
        self._inbox: deque[Batch] = deque()
        self._arrived = threading.Condition()
        self._unfinished: dict[int, Task] = {}

    def facts(self) -> Facts:
        """What this node has."""
        return facts()

    def post(self, batch: Batch) -> None:
        """Take a batch in; the next `collect`, or the one under way, starts its tasks."""
        with self._arrived:
            self._early[batch.number] = batch
            while self._next in self._early:
                self._inbox.append(self._early.pop(self._next))
                self._next += 1
            self._arrived.notify_all()

    def collect(self, timeout: float) -> Report:
        """Wait for finished tasks, at most `timeout` seconds, and return them."""
        end, gathered = time.monotonic() + timeout, 0.0
        answers: list[Answer] = []
        prepared = self._prepared
        while not answers or time.monotonic() < gathered:
            try:
                epoch = self._epoch
                self._take_in()
                if self._epoch != epoch:
                    answers = []
                answer = self._answer(GATHER) if self._unfinished else None
            except ErlbenchError as error:
                return self._report(answers, failure(error))
            if answer is not None:
                gathered = gathered or time.monotonic() + GATHER
                answers.append(answer)
            elif answers or time.monotonic() > end:
                break
            elif not self._unfinished:
                with self._arrived:
                    if not self._inbox:
                        self._arrived.wait(max(0.0, end - time.monotonic()))
            if self._prepared > prepared:
                break
        return self._report(answers)

    def close(self) -> None:
        """End the processes and remove the files."""
        self._pool.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _report(self, answers: list[Answer], failed: Failure | None = None) -> Report:
        return Report(self._epoch, answers, self._pool.events(), self._pool.device, self._prepared, failed)

    def _take_in(self) -> None:
        while True:
            with self._arrived:
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
                self._prepared += 1
            tasks = [self._reader.read(message) for message in batch.tasks]
            for task in tasks:
                self._hold_noise(task)
            self._unfinished.update({task.id: task for task in tasks})
            self._pool.submit(tasks)

    def _reset(self, epoch: int) -> None:
        self._pool.reset()
        self._pool.store.clear()
        self._unfinished.clear()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._epoch = epoch

    def _hold_noise(self, task: Task) -> None:
        """Have the table of noise that `task` names on this node."""
        inputs = [value.table for value in task.inputs.values() if isinstance(value, Perturbed)]
        settings = task.settings if isinstance(task.settings, Mapping) else vars(task.settings)
        for table in (*inputs, *settings.values()):
            if isinstance(table, NoiseTable):
                self._pool.store.hold(table)

    def _append(self, block: Block) -> None:
        """Have the copy of a replay on this node grow."""
        folder = self._folder / block.view.replay
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
        """Which task an error is of: its message begins with the task's name (`Pool.next_result`)."""
        words = str(error).split()
        task = int(words[1]) if len(words) > 1 and words[0] == "task" and words[1].isdigit() else -1
        if self._unfinished.pop(task, None) is None:
            raise error
        found = failure(error)
        return Answer(task, failure=replace(found, message=str(error), details=getattr(error, "details", "")))

    def _with_arrays(self, result: Result) -> Answer:
        store: Store = self._pool.store
        arrays = {ref.name: np.asarray(store.get(ref)) for ref in result.arrays.values()}
        seconds = result.end - result.start
        return Answer(result.task, result.values, arrays, result.arrays, seconds, result.process)


def facts() -> Facts:
    """What this machine has."""
    import erlbench

    status = os.statvfs(shared_memory_folder())
    memory = status.f_frsize * status.f_blocks
    arithmetic = kernel.name(kernel.describe())
    return Facts(platform.node(), erlbench.__version__, platform.python_version(), arithmetic, memory)


def installed() -> bool:
    """Whether this environment has Ray."""
    return importlib.util.find_spec("ray") is not None
