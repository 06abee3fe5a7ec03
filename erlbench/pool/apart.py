"""A function in a process of its own that can be ended, whatever C code it is in: a film, a second run, saved policies.

A process of the fork server (`worker.py`) would not do: it has loaded MuJoCo before the renderer is chosen.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from multiprocess import forkserver

from erlbench.errors import ErlbenchError, UsageError
from erlbench.machine.process import end_with_parent


class NoEnd(UsageError):
    """The function took longer than its seconds."""


def apart(function: Callable[..., Any], *arguments: Any, seconds: float, **more: Any) -> Any:
    """What the function returns, or its error; `NoEnd` where it takes more than `seconds`.

    The process is a fork, so that it sees what this one sees; this one must have no thread that holds a lock. It may
    start processes that end with it.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_main, args=(theirs, function, arguments, more))
    process.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            raise NoEnd(f"no end within the budget of {seconds:,.0f} s; --seconds gives more")
        value, error = ours.recv()
    except EOFError:
        process.join()
        raise UsageError(f"the process that played ended by itself (exit code {process.exitcode})") from None
    finally:
        process.kill()
        process.join()
        ours.close()
    if error is not None:
        raise error
    return value


def _main(connection: Any, function: Callable[..., Any], arguments: tuple[Any, ...], more: dict[str, Any]) -> None:
    end_with_parent()
    forkserver._forkserver._forkserver_pid = None  # that of the parent is no child of this process
    try:
        answer: tuple[Any, Exception | None] = function(*arguments, **more), None
    except Exception as error:
        answer = None, error if isinstance(error, ErlbenchError) else type(error)(str(error))
    with suppress(OSError):
        connection.send(answer)
    os._exit(0)
