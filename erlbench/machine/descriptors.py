"""Open files of this process: the three standard streams, and how many there may be."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from erlbench.errors import UsageError

A_WORKER = 3  # open files of the driver for one worker process: its connection, its end, what it is sent at the start
SPARE = 64  # for CSV files, locks, arrays and libraries


def open_standard_streams() -> None:
    """Have what was closed at the start lead nowhere: else the next file that is opened would get what is printed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))


def give_up_on_full_streams() -> None:
    """Print what is left, or nothing where that fails: Python would print a traceback for it at its end."""
    for stream, number in ((sys.stdout, 1), (sys.stderr, 2)):
        try:
            stream.flush()
        except (OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, number)
            os.close(nowhere)


def allow_workers(processes: int) -> None:
    """Raise this process's limit of open files to what so many processes of a pool need, with two workers each.

    Raises `UsageError` when the machine does not allow even one worker for each.
    """
    import resource  # not at the top: Windows has none

    opened = _open_files() + SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    least, most = (opened + A_WORKER * workers for workers in (processes, 2 * processes))
    if soft == resource.RLIM_INFINITY or most <= soft:
        return
    if hard != resource.RLIM_INFINITY and least > hard:
        raise UsageError(
            f"too many open files: {processes} processes need about {least}, and this shell allows {hard}; "
            f"raise the limit (ulimit -Hn {least}, or LimitNOFILE of the service), or lower --processes or --jobs"
        )
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _open_files() -> int:
    with suppress(OSError):
        return len(list(Path("/proc/self/fd").iterdir()))
    return 0
