"""A function's value from a process of its own, which has loaded what workers begin with and nothing else."""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from erlbench.machine.libraries import prepare_libraries
from erlbench.pool import worker
from erlbench.pool.handle import LOCK, PRELOAD, start_context, started


def in_clean_process(function: Callable[..., Any], *arguments: Any, limit: float = 60.0) -> Any:
    """What the function returns there; None when it raises, ends its process, or takes more than `limit` seconds."""
    try:
        connection, process = started(start_context(), _main, (function, arguments))
    except (OSError, EOFError):
        return None
    try:
        with suppress(OSError, EOFError):
            return connection.recv() if connection.poll(limit) else None
    finally:
        connection.close()
        with LOCK:
            process.kill()
            process.join()  # not closed: this thread may be alive when the driver ends, which joins all that it knows
    return None


def _main(connection: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """The process: silent, without a GPU, and gone with its driver."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    prepare_libraries()
    if os.environ.get("PYTHONSAFEPATH") == worker.SAFE_PATH:
        del os.environ["PYTHONSAFEPATH"]
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    for descriptor in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    worker.follow_driver(connection.fileno())
    try:
        for name in PRELOAD:
            importlib.import_module(name)
        connection.send(function(*arguments))
    finally:
        os._exit(0)
