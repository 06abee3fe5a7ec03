"""Processes that tests watch: what is below them, which of them still run, and waiting for what they do."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from erlbench.work.store import shared_memory_folder


def children(pid: int) -> list[int]:
    """The processes that a process has started, those that end meanwhile left out."""
    found: list[int] = []
    with suppress(OSError, ValueError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def processes_below(pid: int) -> list[int]:
    """All descendants of a process."""
    return [other for child in children(pid) for other in (child, *processes_below(child))]


def command(pid: int) -> str:
    """The command line of a process; empty when it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def alive(pids: list[int]) -> list[int]:
    """Those that still run; a zombie does not."""
    living = []
    for pid in pids:
        with suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                living.append(pid)
    return living


def stores_of(pid: int) -> list[Path]:
    """The folders in shared memory of a driver."""
    return list(shared_memory_folder().glob(f"erlbench-{os.geteuid()}-*-{pid}-*"))


def kill(pid: int, number: int = signal.SIGKILL) -> bool:
    """Send a signal to a process that may be gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def lines(path: Path) -> int:
    """How many lines a file has by now; 0 before it is there."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raise `TimeoutError` in what takes longer."""

    def raise_error(number: int, frame: object) -> None:
        raise TimeoutError(f"no end after {seconds} s")

    before = signal.signal(signal.SIGALRM, raise_error)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def wait_for(condition: Callable[[], object], seconds: float = 60.0, message: str = "nothing happened") -> None:
    """Wait until the condition holds, or fail."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, message
        time.sleep(0.02)
