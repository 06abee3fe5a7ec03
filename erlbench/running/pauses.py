"""Pauses: spans in which the whole run stood still, as by Ctrl-Z, `docker pause` or Slurm's suspend.

A small process beside the driver beats twice a second. It sees a pause in two ways: it was stopped itself, together
with the driver, or it finds the driver stopped. Either counts only while driver and workers used no processor, and
from `SHORTEST` seconds on. A beat that is late because the machine is busy is none: Linux says how long a process has
waited for a core. An environment that holds Python's lock, or sleeps, stops nobody.
"""

from __future__ import annotations

import ctypes
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

BEAT = 0.5  # seconds
SHORTEST = 1.0  # seconds of a pause
SLACK = 0.05  # seconds of processor time that do not count as work
TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Pauses:
    """The pauses of this process, as (begin, end) in seconds of time.monotonic(). To be closed."""

    def __init__(self) -> None:
        self._spans: list[tuple[float, float]] = []
        self._rest = b""
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):  # without it no pause is seen, and nothing else is missing
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__, str(os.getpid())],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip

    def known(self) -> list[tuple[float, float]]:
        """All pauses so far, in order; one under way is not among them."""
        with self._guard:
            if self._process is not None and self._process.stdout is not None:
                descriptor = self._process.stdout.fileno()
                while select.select([descriptor], [], [], 0)[0] and (data := os.read(descriptor, 1 << 12)):
                    *lines, self._rest = (self._rest + data).split(b"\n")
                    for begin, end in (map(float, line.split()) for line in lines):
                        self._spans.append((begin, end))
            return list(self._spans)

    def close(self) -> None:
        """End the process that watches."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


def watch(driver: int) -> Iterator[tuple[float, float]]:
    """The pauses of the process `driver` as they end, until this process's input is closed."""
    last, used, waited, begun = time.monotonic(), _used(driver), _waited(), 0.0
    while not select.select([0], [], [], BEAT)[0]:
        now, now_used, now_waited = time.monotonic(), _used(driver), _waited()
        gap, worked = now - last, sum(max(0.0, now_used[pid] - used.get(pid, 0.0)) for pid in now_used)
        stopped_too = (
            gap > BEAT + SHORTEST
            and now_waited - waited < gap / 2
            and worked <= (BEAT + SLACK) * len(now_used)  # until the stop they may have worked
        )
        if stopped_too:
            yield (begun or last + BEAT, now)
            begun = 0.0
        elif _state(driver) in "Tt" and worked <= SLACK:
            begun = begun or now - BEAT / 2
        elif begun:
            if last - begun > SHORTEST - BEAT:
                yield (begun, now - BEAT / 2)
            begun = 0.0
        last, used, waited = now, now_used, now_waited


def _used(driver: int) -> dict[int, float]:
    """Seconds of processor time of the driver and of all processes that descend from it, but this one."""
    found, waiting = {}, [driver]
    while waiting:
        process = waiting.pop()
        fields = _stat(process)
        if fields and process != os.getpid():
            found[process] = (int(fields[11]) + int(fields[12])) / TICK
            waiting += _children(process)
    return found


def _children(process: int) -> list[int]:
    children = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            with suppress(OSError), open(f"/proc/{process}/task/{thread}/children", encoding="utf-8") as file:
                children += [int(word) for word in file.read().split()]
    return children


def _state(process: int) -> str:
    fields = _stat(process)
    return fields[0] if fields else "-"


def _stat(process: int) -> list[str]:
    """The fields of /proc/PID/stat after the name; none where there is no such process, or no /proc."""
    with suppress(OSError), open(f"/proc/{process}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()
    return []


def _waited() -> float:
    """Seconds for which this process was ready to run and had no core."""
    with suppress(OSError, ValueError, IndexError), open("/proc/self/schedstat", encoding="utf-8") as file:
        return int(file.read().split()[1]) / 1e9
    return 0.0


if __name__ == "__main__":
    with suppress(OSError, AttributeError):  # as machine/parent.py, which this process cannot import
        ctypes.CDLL(None).prctl(1, 9)
    with suppress(BrokenPipeError):
        for begin, end in watch(int(sys.argv[1])):
            print(begin, end, flush=True)
