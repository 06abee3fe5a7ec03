"""How long the cells of one command will still take, by the rates of the last minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

WINDOW = 60.0  # seconds that a rate is measured over


@dataclass(frozen=True)
class Workload:
    """A cell, as far as its time is concerned."""

    label: str
    kind: tuple[str, str]  # cells of one kind, such as the seeds of one algorithm on one environment, go equally fast
    timesteps: int  # 1 where minutes alone end the cell
    estimate: float = 1.0  # seconds that the cell may take, right up to a factor that all cells share


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Where a cell is."""

    timesteps: int
    total_timesteps: int  # 0 where minutes alone end the cell
    last_return: float | None  # of an evaluation
    busy: int  # processes
    processes: int
    generation: int = 0  # generations that are complete
    total_generations: int | None = None  # where the run ends if its steps are not used up before
    evaluations: int = 0  # of the whole run, once the training is over
    evaluated: int = 0  # those that were played by then
    minutes: float = 0.0  # of training
    total_minutes: float | None = None  # which have to pass besides the steps
    training_return: float | None = None  # the mean of its last training episodes

    @property
    def whole(self) -> int:
        """The work of the whole run: the steps of its budget, or 1 where it has none."""
        return self.total_timesteps or 1

    @property
    def work(self) -> float:
        """How far the run is: by its steps and minutes or by its generations, whichever ends it first."""
        by_generation = self.generation / self.total_generations if self.total_generations else 0.0
        done = float(self.timesteps) if self.total_timesteps else self.whole
        if self.total_minutes is not None:
            done = min(done, self.minutes / self.total_minutes * self.whole)
        return max(done, by_generation * self.whole)


class Pace:
    """What is done in a second of one running cell, over the last `WINDOW` seconds before its last gain.

    Where gains come in less often than that, it is the pace from one to the next. Several that come in together, as
    those of individuals that were started together, count as one.
    """

    def __init__(self) -> None:
        self._gains: deque[tuple[float, float]] = deque()  # when more was done than before, and how much then
        self._now = 0.0

    def add(self, now: float, done: float) -> None:
        """The cell had done `done` at the time `now`, in seconds."""
        self._now = now
        if not self._gains or done != self._gains[-1][1]:
            self._gains.append((now, done))
        while len(self._gains) > 2 and self._gains[1][0] <= self._gains[-1][0] - WINDOW:
            self._gains.popleft()

    @property
    def rate(self) -> float:
        """What is done in a second; 0 while that is not known."""
        (start, first), (end, last) = self._gains[0], self._gains[-1]
        seconds = max(end - start, self._waited)
        return (last - first) / seconds if seconds > 0 else 0.0

    def left(self, work: float) -> float | None:
        """Seconds until `work` more is done; None while that is not known."""
        return max(0.0, work / self.rate - self._waited) if self.rate else None

    @property
    def _waited(self) -> float:
        """Seconds since the last gain."""
        return self._now - self._gains[-1][0]


class Remaining:
    """The cells that wait, run and have ended, and the time they need at the rates seen last."""

    def __init__(self, workloads: Iterable[Workload], at_once: int = 1) -> None:
        self.workloads = {workload.label: workload for workload in workloads}
        self._at_once = max(1, at_once)
        self._ended: set[str] = set()
        self._running: dict[str, tuple[Pace, Pace, Pace, Reading]] = {}  # of steps, of work, of evaluations at the end
        self._rates: dict[tuple[str, str], float] = {}  # of work, the last one of each kind

    @property
    def number(self) -> int:
        """The number of the cell that was begun last."""
        return min(len(self.workloads), max(1, len(self._ended) + len(self._running)))

    def update(self, cell: str, reading: Reading, now: float) -> None:
        """The cell `cell` is where `reading` says, at the time `now`."""
        begun = cell in self._running
        steps, work, played, _ = self._running.get(cell, (Pace(), Pace(), Pace(), reading))
        if reading.evaluations:
            played.add(now, reading.evaluated)
        if not (begun and reading.evaluations):  # in which no step is gained any more
            steps.add(now, reading.timesteps)
            work.add(now, reading.work)
        self._running[cell] = steps, work, played, reading
        if cell in self.workloads and work.rate:
            self._rates[self.workloads[cell].kind] = work.rate

    def end(self, cell: str) -> None:
        """The cell has ended, however."""
        self._running.pop(cell, None)
        if cell in self.workloads:
            self._ended.add(cell)

    def of(self, cell: str) -> tuple[float, float | None]:
        """A running cell's steps a second, and the seconds left of its training or, after it, of its evaluations.

        None: not known.
        """
        steps, work, played, reading = self._running[cell]
        if reading.evaluations:
            return steps.rate, played.left(reading.evaluations - reading.evaluated)
        return steps.rate, work.left(reading.whole - reading.work)

    def all(self) -> float | None:
        """Seconds until all cells have ended; None while that is not known."""
        running = [self.of(cell)[1] for cell in self._running]
        waiting = [
            workload
            for label, workload in self.workloads.items()
            if label not in self._ended and label not in self._running
        ]
        if not self._rates and (waiting or not running or None in running):
            return None
        everything = [*(left or 0.0 for left in running), *self._expected(waiting)]
        return max(sum(everything) / self._at_once, max(everything, default=0.0))

    def _expected(self, waiting: list[Workload]) -> list[float]:
        """Seconds of cells that wait, by the rate of their kind.

        A kind that has not run yet takes its estimate, times the mean factor by which the others missed theirs.
        """
        if not waiting:
            return []
        kinds = {workload.kind: workload for workload in self.workloads.values()}
        known = {kind: kinds[kind].timesteps / rate for kind, rate in self._rates.items()}
        factor = sum(seconds / kinds[kind].estimate for kind, seconds in known.items()) / len(known)
        return [known.get(workload.kind, factor * workload.estimate) for workload in waiting]
