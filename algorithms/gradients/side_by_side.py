"""Works that do not depend on each other, in this process or shared with a second one: the outcome is the same.

Python's lock would have two threads wait for each other between any two operations. So the second is a process, forked
from this one, that knows the works from before the fork; the tensors that they use lie in memory which both share.
"""

from __future__ import annotations

import mmap
import os
import signal
import traceback
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, Protocol

import multiprocess
import numpy as np
import torch
from torch.overrides import TorchFunctionMode

Work = Callable[[], object]
SPINS = 20_000  # looks, about a millisecond, before a process that waits goes to sleep
PAUSE = 0.1  # seconds between two looks of one that sleeps at whether the other still lives
MESSAGE = 1 << 16  # bytes of an error's traceback
MAKERS = torch.zeros, torch.zeros_like, torch.ones_like, torch.Tensor.new_zeros


class Together(Protocol):
    """Runs one work or two that do not depend on each other, and returns when they have ended."""

    @property
    def processes(self) -> int:
        """1 or 2."""

    def __call__(self, works: Sequence[Work]) -> None: ...


class InTurn:
    """One after the other, in this process."""

    processes = 1

    def __call__(self, works: Sequence[Work]) -> None:
        for work in works:
            work()


in_turn = InTurn()


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
    """The first of two works runs here and meanwhile the second in another process, which lives until `close`.

    Two semaphores hand over; who waits for one looks again and again for a while, as waking up is slow.
    """

    processes = 2

    def __init__(self, works: Sequence[Work], surroundings: AbstractContextManager[object]) -> None:
        """`works`: all second ones, which read and write tensors of `SharedMemory` only.

        What else they change stays in the other process, and what else changes here is unknown there. The other
        process lives within `surroundings`. What a work raises there is raised here as a `RuntimeError`. If the
        process dies, this one does, too: a pool then runs the task again.
        """
        context = multiprocess.get_context("fork")
        self._go, self._done = context.Semaphore(0), context.Semaphore(0)
        self._works = works
        self._places = {id(work): place for place, work in enumerate(works)}
        self._next = np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), np.int64)  # the work's place; -1: the end
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

    def __call__(self, works: Sequence[Work]) -> None:
        first, second = works
        self._next[0] = self._places[id(second)]
        self._go.release()
        try:
            first()
        finally:
            _await(self._done, self._check)
        if self._error[0]:
            text = self._error[:].rstrip(b"\0").decode(errors="replace")
            self._error[0] = 0
            raise RuntimeError(f"in the second process of a task:\n{text}")

    def _check(self) -> None:
        """End this process if the other is dead."""
        if os.waitpid(self.pid, os.WNOHANG)[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    def _serve(self, surroundings: AbstractContextManager[object], parent: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # or whoever waits for the parent's end would wait for this one's

        def check() -> None:
            if os.getppid() != parent:
                os._exit(0)

        with surroundings:
            while True:
                _await(self._go, check)
                if self._next[0] < 0:
                    os._exit(0)
                try:
                    self._works[self._next[0]]()
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
