"""How long the cells of one command will still take, by the rates of the last minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

WINDOW = 60.0  # seconds that a rate is measured over


@dataclass(frozen=True)
class Job:
    """A cell, as far as its time is concerned."""

    label: str
    kind: tuple[str, str]  # cells of one kind, such as the seeds of one algorithm on one environment, go equally fast
    timesteps: int


@dataclass(frozen=True)
class Reading:
    """Where a cell is."""

    timesteps: int
    total_timesteps: int
    last_return: float | None
    busy: int  # processes
    processes: int


class Pace:
    """The steps a second of one running cell, over the last `WINDOW` seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def add(self, now: float, timesteps: int) -> None:
        """The cell was at `timesteps` at the time `now`, in seconds."""
        self._seen.append((now, timesteps))
        while len(self._seen) > 2 and self._seen[1][0] <= now - WINDOW:
            self._seen.popleft()

    @property
    def rate(self) -> float:
        """Steps a second; 0 while that is not known."""
        (start, first), (end, last) = self._seen[0], self._seen[-1]
        return (last - first) / (end - start) if end > start else 0.0


class Remaining:
    """The cells that wait, run and have ended, and the time they need at the rates seen last."""

    def __init__(self, jobs: Iterable[Job], at_once: int = 1) -> None:
        self.jobs = {job.label: job for job in jobs}
        self._at_once = max(1, at_once)
        self._ended: set[str] = set()
        self._running: dict[str, tuple[Pace, Reading]] = {}
        self._rates: dict[tuple[str, str], float] = {}  # the last one of each kind

    @property
    def number(self) -> int:
        """The number of the cell that was begun last."""
        return min(len(self.jobs), max(1, len(self._ended) + len(self._running)))

    def update(self, cell: str, reading: Reading, now: float) -> None:
        """The cell `cell` is where `reading` says, at the time `now`."""
        pace, _ = self._running.get(cell, (Pace(), reading))
        pace.add(now, reading.timesteps)
        self._running[cell] = pace, reading
        if cell in self.jobs and pace.rate:
            self._rates[self.jobs[cell].kind] = pace.rate

    def end(self, cell: str) -> None:
        """The cell has ended, however."""
        self._running.pop(cell, None)
        if cell in self.jobs:
            self._ended.add(cell)

    def of(self, cell: str) -> tuple[float, float | None]:
        """A running cell's steps a second, and its seconds left (None: not known)."""
        pace, reading = self._running[cell]
        return pace.rate, _seconds(reading.total_timesteps - reading.timesteps, pace.rate)

    def all(self) -> float | None:
        """Seconds until all cells have ended; None while no cell's rate is known.

        A kind that has not run yet is taken to be as fast as the average of those that have.
        """
        if not self._rates:
            return None
        average = sum(self._rates.values()) / len(self._rates)
        waiting = (job for label, job in self.jobs.items() if label not in self._ended and label not in self._running)
        seconds = [_seconds(job.timesteps, self._rates.get(job.kind, average)) or 0.0 for job in waiting]
        running = [self.of(cell)[1] or 0.0 for cell in self._running]
        everything = list(chain(running, seconds))
        return max(sum(everything) / self._at_once, max(everything, default=0.0))


def _seconds(steps: float, rate: float) -> float | None:
    return max(steps, 0.0) / rate if rate > 0 else None
