"""A function's value from a process of its own, which has loaded what workers begin with and nothing else."""

from __future__ import annotations

import importlib
import os
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from erlbench.machine.descriptors import lead_nowhere
from erlbench.machine.libraries import prepare_libraries
from erlbench.pool import worker
from erlbench.pool.handle import LOCK, PRELOAD, start_context, started

ANSWER, PHASE = "answer", "phase"  # kinds of messages


def in_clean_process(function: Callable[..., Any], *arguments: Any, limit: float = 60.0) -> Any:
    """What the function returns there; None when it raises, ends its process, or takes more than `limit` seconds."""
    return ask_clean_process(partial(_silently, function), *arguments, limit=limit)[0]


def _silently(function: Callable[..., Any], say: Callable[[str], None], *arguments: Any) -> Any:
    return function(*arguments)


def ask_clean_process(function: Callable[..., Any], *arguments: Any, limit: float) -> tuple[Any, str]:
    """What `function(say, *arguments)` returns there, and an empty text; or None, and why there is no answer.

    The reason names what the function last said that it does: "it ended its process in step 1 (signal 11, SIGSEGV)".
    """
    try:
        connection, process = started(start_context(), _main, (function, arguments))
    except (OSError, EOFError) as error:
        return None, f"no process can be started for it ({error})"
    phase, end = "its import", time.monotonic() + limit
    try:
        while connection.poll(max(0.0, end - time.monotonic())):
            kind, value = connection.recv()
            if kind == ANSWER:
                return value, ""
            phase = str(value)
        return None, f"it takes more than {limit:g} s in {phase}"
    except (OSError, EOFError):
        return None, f"it ended its process in {phase} ({_end(process)})"
    finally:
        connection.close()
        with LOCK:
            process.kill()
            process.join()  # not closed: this thread may be alive when the driver ends, which joins all that it knows


def _end(process: Any) -> str:
    with LOCK:
        process.join(2)
        code = process.exitcode
    if code is None or code >= 0:
        return f"exit code {code}"
    return f"signal {-code}, {signal.Signals(-code).name}"


def _main(connection: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """The process: silent, without a GPU, and gone with its driver."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    prepare_libraries()
    if os.environ.get("PYTHONSAFEPATH") == worker.SAFE_PATH:
        del os.environ["PYTHONSAFEPATH"]
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    for descriptor in (1, 2):
        lead_nowhere(descriptor)
    worker.follow_driver(connection.fileno())
    try:
        for name in PRELOAD:
            importlib.import_module(name)
        connection.send((ANSWER, function(lambda phase: connection.send((PHASE, phase)), *arguments)))
    finally:
        os._exit(0)
