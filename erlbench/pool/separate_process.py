"""A function in a separate process that can be ended, whatever C code it is in: a film, a second run, saved policies.

A process of the fork server (`worker.py`) would not do: it has loaded MuJoCo before the renderer is chosen.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from multiprocess import forkserver

from erlbench.errors import UsageError, describe_error
from erlbench.machine.process import end_with_parent


class NoEnd(UsageError):
    """The function took longer than its seconds."""


def run_separately(function: Callable[..., Any], *arguments: Any, seconds: float, **keywords: Any) -> Any:
    """What the function returns, or its error; `NoEnd` where it takes more than `seconds`.

    The process is a fork, so that it sees what this one sees; this one must have no thread that holds a lock. It may
    start processes that end with it.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork"), _begin, (os.getpid(),)) as executor:
        future = executor.submit(function, *arguments, **keywords)
        (process,) = executor._processes.values()
        try:
            return future.result(seconds)
        except TimeoutError:
            raise NoEnd(f"no end within the budget of {seconds:,.0f} s") from None
        except SystemExit as error:  # of a user's module, such as a script
            raise UsageError(f"the process that played ended by itself ({describe_error(error)})") from None
        except BrokenProcessPool:
            executor.shutdown()  # its thread waits for the process; who else waits may get no exit code
            raise UsageError(f"the process that played ended by itself (exit code {process.exitcode})") from None
        finally:
            process.kill()


def _begin(parent: int) -> None:
    end_with_parent(parent)
    forkserver._forkserver._forkserver_pid = None  # the parent's is no child of this process
