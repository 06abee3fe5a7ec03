"""How long the cells of one command will still take, by the rates of the last minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

WINDOW = 60.0  # seconds that a rate is measured over


@dataclass(frozen=True)
class Workload:
    """A cell, as far as its time is concerned."""

    label: str
    kind: tuple[str, str]  # cells of one kind, such as the seeds of one algorithm on one environment, go equally fast
    timesteps: int
    estimate: float = 1.0  # seconds that the cell may take, right up to a factor that all cells share


@dataclass(frozen=True)
class Reading:
    """Where a cell is."""

    timesteps: int
    total_timesteps: int
    last_return: float | None
    busy: int  # processes
    processes: int
    generation: int = 0  # generations that are complete
    total_generations: int | None = None  # where the run ends if its steps are not used up before
    evaluations: int = 0  # of the whole run, once the training is over
    evaluated: int = 0  # those that were played by then

    @property
    def work(self) -> float:
        """How far the run is, in steps of its budget: by its steps or by its generations, whichever ends it first."""
        by_generation = self.generation / self.total_generations if self.total_generations else 0.0
        return max(self.timesteps, by_generation * self.total_timesteps)


class Pace:
    """What is done in a second of one running cell, over the last `WINDOW` seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque()

    def add(self, now: float, done: float) -> None:
        """The cell had done `done` at the time `now`, in seconds."""
        self._seen.append((now, done))
        while len(self._seen) > 2 and self._seen[1][0] <= now - WINDOW:
            self._seen.popleft()

    @property
    def rate(self) -> float:
        """What is done in a second; 0 while that is not known."""
        (start, first), (end, last) = self._seen[0], self._seen[-1]
        return (last - first) / (end - start) if end > start else 0.0


class Remaining:
    """The cells that wait, run and have ended, and the time they need at the rates seen last."""

    def __init__(self, workloads: Iterable[Workload], at_once: int = 1) -> None:
        self.workloads = {workload.label: workload for workload in workloads}
        self._at_once = max(1, at_once)
        self._ended: set[str] = set()
        self._running: dict[str, tuple[Pace, Pace, Reading]] = {}  # of steps, of work
        self._rates: dict[tuple[str, str], float] = {}  # of work, the last one of each kind

    @property
    def number(self) -> int:
        """The number of the cell that was begun last."""
        return min(len(self.workloads), max(1, len(self._ended) + len(self._running)))

    def update(self, cell: str, reading: Reading, now: float) -> None:
        """The cell `cell` is where `reading` says, at the time `now`."""
        steps, work, _ = self._running.get(cell, (Pace(), Pace(), reading))
        steps.add(now, reading.timesteps)
        work.add(now, reading.work)
        self._running[cell] = steps, work, reading
        if cell in self.workloads and work.rate:
            self._rates[self.workloads[cell].kind] = work.rate

    def end(self, cell: str) -> None:
        """The cell has ended, however."""
        self._running.pop(cell, None)
        if cell in self.workloads:
            self._ended.add(cell)

    def of(self, cell: str) -> tuple[float, float | None]:
        """A running cell's steps a second, and its seconds left (None: not known)."""
        steps, work, reading = self._running[cell]
        return steps.rate, _seconds(reading.total_timesteps - reading.work, work.rate)

    def all(self) -> float | None:
        """Seconds until all cells have ended; None while no cell's rate is known.

        A kind that has not run yet takes its estimate, times the mean factor by which the others missed theirs.
        """
        if not self._rates:
            return None
        kinds = {workload.kind: workload for workload in self.workloads.values()}
        known = {kind: kinds[kind].timesteps / rate for kind, rate in self._rates.items()}
        factor = sum(seconds / kinds[kind].estimate for kind, seconds in known.items()) / len(known)
        waiting = (
            workload
            for label, workload in self.workloads.items()
            if label not in self._ended and label not in self._running
        )
        seconds = [known.get(workload.kind, factor * workload.estimate) for workload in waiting]
        running = [self.of(cell)[1] or 0.0 for cell in self._running]
        everything = list(chain(running, seconds))
        return max(sum(everything) / self._at_once, max(everything, default=0.0))


def _seconds(work: float, rate: float) -> float | None:
    return max(work, 0.0) / rate if rate > 0 else None
