"""The two clocks of a run: total time, and training time, which ends with the training; and its pauses.

Pauses are spans in which the whole run stood still, as by Ctrl-Z, `docker pause` or Slurm's suspend.

A thread of the driver looks at the clock five times a second. A look that is late is a pause if meanwhile the driver
used no processor, did not wait for one, as Linux says, and this thread did not wait for Python's lock, which wakes it
200 times a second. So a busy machine, and an environment that sleeps or holds the lock, stop nobody.
"""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any


class Clock:
    """Seconds since the training began, over all starts of a run; the time between two starts does not count.

    Nothing is ever taken out of the training time.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._origin = self._last = now()
        self._trained: float | None = None
        self.paused = 0.0  # seconds of the training time during which the whole run stood still

    @property
    def total(self) -> float:
        """Seconds of activity."""
        return self._last - self._origin

    @property
    def train(self) -> float:
        """Seconds of activity until the training ended."""
        return self.total if self._trained is None else self._trained

    @property
    def ended(self) -> bool:
        """Whether the training is over."""
        return self._trained is not None

    def since_start(self, moment: float) -> float:
        """A moment of the pool's clock in seconds since the training began."""
        return moment - self._origin

    def start(self) -> None:
        """The workers are there: the time begins now."""
        self._origin = self._last = self._now()

    def pause(self, begin: float, end: float) -> None:
        """The run stood still between these moments of the pool's clock; what lies before the start does not count."""
        if not self.ended:
            self.paused += max(0.0, end - max(begin, self._origin))

    def tick(self) -> None:
        """Look at the clock."""
        self._last = self._now()

    def end_training(self) -> None:
        """The last result of the training has been taken in; the total time goes on."""
        self.tick()
        self._trained = self.train

    def state(self) -> dict[str, Any]:
        """What `restore` needs."""
        return {"total": self.total, "trained": self._trained, "paused": self.paused}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on as if no time had passed since `state`."""
        self._last = self._now()
        self._origin = self._last - state["total"]
        self._trained = state["trained"]
        self.paused = state["paused"]


# -- pauses ------------------------------------------------------------------------------------------------------------


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

    def spans(self) -> list[tuple[float, float]]:
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
            gap, processor, starved, wakes = (new - old for new, old in zip(now, last, strict=True))
            if gap > BEAT + SHORTEST and processor <= BEAT + SLACK and starved < gap / 2 and wakes <= WAKES:
                self._spans = [*self._spans, (last[0] + BEAT / 2, now[0])]
            last = now


def _look() -> tuple[float, float, float, float]:
    """The clock; processor time of this process; of this thread, the seconds without a core, and how often it woke."""
    starved = 0.0
    with suppress(OSError, ValueError, IndexError), open("/proc/thread-self/schedstat", encoding="ascii") as file:
        starved = int(file.read().split()[1]) / 1e9
    return time.monotonic(), time.process_time(), starved, resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
