"""Processes that end with the one that started them, whatever both are doing; a promise of Linux alone.

The kernel sends the signal when the *thread* that started a process ends. So processes that are to live longer are
started from a thread that lasts.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>


def end_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends. It may have ended before this call."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class LastingThread:
    """A thread that lasts as long as this process; it calls functions for others, one after another."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._process = 0  # the one whose thread it is; a fork has none
        self._guard = threading.Lock()

    def call(self, function: Callable[[], Any]) -> Any:
        """What the function returns or raises, called in that thread; the function must not use `call`."""
        with self._guard:
            if self._process != os.getpid():
                self._process, self._calls = os.getpid(), SimpleQueue()
                threading.Thread(target=self._serve, args=(self._calls,), name="erlbench-starts", daemon=True).start()
        outcome: Future[Any] = Future()
        self._calls.put((outcome, function))
        return outcome.result()

    @staticmethod
    def _serve(calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]]]) -> None:
        while True:
            outcome, function = calls.get()
            try:
                outcome.set_result(function())
            except BaseException as error:
                outcome.set_exception(error)
            del outcome, function  # or what they hold would live until the next call
