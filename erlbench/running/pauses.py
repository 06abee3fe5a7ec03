"""Pauses: spans in which the whole run stood still, as by Ctrl-Z, `docker pause` or Slurm's suspend.

A thread of the driver looks at the clock five times a second. A look that is late is a pause if meanwhile the driver
used no processor, did not wait for one, as Linux says, and this thread did not wait for Python's lock, which wakes it
200 times a second. So a busy machine, and an environment that sleeps or holds the lock, stop nobody.
"""

from __future__ import annotations

import resource
import threading
import time
from contextlib import suppress

BEAT = 0.2  # seconds
SHORTEST = 1.0  # seconds of a pause
SLACK = 0.05  # seconds of processor time that do not count as work
WAKES = 20  # of a thread in a gap, at most, if it was stopped


class Pauses:
    """The pauses of this process, as (begin, end) in seconds of time.monotonic(). To be closed."""

    def __init__(self) -> None:
        self._spans: list[tuple[float, float]] = []
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="erlbench-pauses", daemon=True)
        self._thread.start()

    def known(self) -> list[tuple[float, float]]:
        """All pauses so far, in order; one under way is not among them."""
        return self._spans

    def close(self) -> None:
        """End the thread that watches."""
        self._closed.set()
        self._thread.join()

    def _watch(self) -> None:
        last = _look()
        while not self._closed.wait(BEAT):
            now = _look()
            gap, used, starved, wakes = (new - old for new, old in zip(now, last, strict=True))
            if gap > BEAT + SHORTEST and used <= BEAT + SLACK and starved < gap / 2 and wakes <= WAKES:
                self._spans = [*self._spans, (last[0] + BEAT / 2, now[0])]
            last = now


def _look() -> tuple[float, float, float, float]:
    """The clock; processor time of this process; of this thread, the seconds without a core, and how often it woke."""
    starved = 0.0
    with suppress(OSError, ValueError, IndexError), open("/proc/thread-self/schedstat", encoding="ascii") as file:
        starved = int(file.read().split()[1]) / 1e9
    return time.monotonic(), time.process_time(), starved, resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
