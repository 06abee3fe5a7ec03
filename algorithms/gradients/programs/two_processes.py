"""The executor that shares the lanes of a stage with a second process: the outcome is the same in every bit.

Python's lock would have two threads wait for each other between any two operations. So the second is a process, forked
from this one, that knows the programs from before the fork; the tensors that they use lie in memory which both share.
"""

from __future__ import annotations

import mmap
import os
import signal
import time
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any

import multiprocess
import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from erlbench.algorithms.gradients.programs.program import Lane, Program
from erlbench.machine.parent import end_with_parent

Surroundings = AbstractContextManager[object]
SPINS = 20_000  # looks, about a millisecond, before a process that waits goes to sleep
LATE = 1e-3  # seconds by which a lane may outlast the other and as long again, before it has no core of its own
PAUSE = 0.1  # seconds between two looks of one that sleeps at whether the other still lives
MESSAGE = 1 << 16  # bytes of an error's traceback
MAKERS = torch.zeros, torch.zeros_like, torch.ones_like, torch.Tensor.new_zeros


class SharedMemory(TorchFunctionMode):
    """Inside, the tensors of `MAKERS` on a CPU lie in memory that forked processes share with this one."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        if func not in MAKERS or made.device.type != "cpu" or not made.numel():
            return made
        memory = mmap.mmap(-1, made.numel() * made.element_size())
        return torch.frombuffer(memory, dtype=made.dtype).view(made.shape).copy_(made)


class TwoProcesses:
    """Runs the first lane of a stage here and meanwhile the second in another process, which lives until `close`.

    Two semaphores hand over; who waits for one looks again and again for a while, as waking up is slow. `late` says
    whether the other process kept this one waiting in the last `run`, as it does where another program has its core.
    """

    late = False

    def __init__(self, programs: Iterable[Program], surroundings: Surroundings) -> None:
        """`programs`: all that will run; their lanes read and write tensors of `SharedMemory` only.

        What else they change stays in the other process, and what else changes here is unknown there. The other
        process lives within `surroundings`. What an operation raises there is raised here as a `RuntimeError`. If the
        process dies, this one does, too: a pool then runs the task again.
        """
        context = multiprocess.get_context("fork")
        self._go, self._done = context.Semaphore(0), context.Semaphore(0)
        self._lanes = [stage[1] for program in programs for stage in program.two if len(stage) > 1]
        self._places = {id(lane): place for place, lane in enumerate(self._lanes)}
        self._next = np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), np.int64)  # the lane's place; -1: the end
        self._error = mmap.mmap(-1, MESSAGE)
        parent = os.getpid()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads; none here holds a lock
            self.pid = os.fork()
        if not self.pid:
            try:
                self._serve(surroundings, parent)
            finally:
                os._exit(1)
        self.close = weakref.finalize(self, _stop, self.pid, self._next, self._go)

    def run(self, program: Program) -> None:
        """Run the stages for two cores."""
        self.late = False
        for first, *others in program.two:
            if others:
                self._share(first, others[0])
            else:
                for operation in first:
                    operation()

    def _share(self, first: Lane, second: Lane) -> None:
        self._next[0] = self._places[id(second)]
        self._go.release()
        begun = time.perf_counter()
        try:
            for operation in first:
                operation()
        finally:
            ended = time.perf_counter()
            _await(self._done, self._check)
        self.late |= time.perf_counter() - ended > ended - begun + LATE
        if self._error[0]:
            text = self._error[:].rstrip(b"\0").decode(errors="replace")
            self._error[0] = 0
            raise RuntimeError(f"in the second process of a task:\n{text}")

    def _check(self) -> None:
        """End this process if the other is dead."""
        if os.waitpid(self.pid, os.WNOHANG)[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    def _serve(self, surroundings: Surroundings, parent: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # or whoever waits for the parent's end would wait for this one's

        def check() -> None:
            if os.getppid() != parent:
                os._exit(0)

        end_with_parent()
        check()
        with surroundings:
            while True:
                _await(self._go, check)
                if self._next[0] < 0:
                    os._exit(0)
                try:
                    for operation in self._lanes[self._next[0]]:
                        operation()
                except BaseException:
                    text = traceback.format_exc().encode()[-MESSAGE:]
                    self._error[:] = text.ljust(MESSAGE, b"\0")
                self._done.release()


def _stop(pid: int, place: np.ndarray, go: Any) -> None:
    """End the other process."""
    place[0] = -1
    go.release()
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _await(semaphore: Any, check: Callable[[], None]) -> None:
    """Take the semaphore as soon as it can be had; `check` is called now and then if that lasts."""
    take = semaphore.acquire
    for _ in range(SPINS):
        if take(False):
            return
    while not take(True, PAUSE):
        check()
