"""Which cells of a command run at once: as many as cores and memory carry, so that the last one ends soonest.

A cell can be given more or fewer processes. For each length that a cell can have, all cells get the fewest processes
with which they take no longer, and are scheduled by their estimates, the longest first. Of these schedules the one that
ends soonest is taken (Ludwig and Tiwari, "Scheduling malleable and nonmalleable parallel tasks", SODA 1994).
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

SLACK = 1.01  # of schedules that end at most so much later than the soonest, the one with the fewest processes is taken
TRIED = 64  # lengths, about


@dataclass(frozen=True, kw_only=True)
class Share:
    """What a cell takes of the machine while it runs."""

    processes: int | None  # None: all that are free on a cluster
    cores: int = 0  # that no other cell of the command uses
    memory: float = 0.0  # bytes of its processes
    disk: float = 0.0  # bytes of its replay, which should stay in memory
    seconds: float = 0.0  # estimated, on the clock
    core_seconds: float = 0.0  # estimated, of all its processes together
    exclusive: bool = False  # it has all cores that it can use, so that its minutes count
    done: bool = False  # it only has to be looked at


class ScheduleEstimate(NamedTuple):
    """How a schedule goes where all estimates are right."""

    seconds: float
    at_once: int  # the most cells
    memory: float  # the most bytes of processes
    disk: float  # the most bytes of replays


@dataclass(frozen=True)
class CellSchedule:
    """What each cell takes, and in which order those that wait are started as soon as there is room."""

    shares: tuple[Share, ...]
    order: Sequence[int]  # indices of the cells
    _: KW_ONLY
    jobs: float = math.inf  # cells at once
    cores: float = math.inf
    memory: float = math.inf  # bytes of processes and replays

    def forecast(self) -> ScheduleEstimate:
        """Run through the estimates."""
        queue, ends, moments = CellQueue(self), [(0.0, -1)], []
        while ends:
            now, ended = heapq.heappop(ends)
            queue.running.pop(ended, None)
            while (cell := queue.start()) is not None:
                heapq.heappush(ends, (now + self.shares[cell].seconds, cell))
            running = [share for share in queue.running.values() if not share.done]
            moments.append((len(running), sum(share.memory for share in running), sum(share.disk for share in running)))
        return ScheduleEstimate(now, *map(max, zip(*moments)))


class CellQueue:
    """The cells of a schedule that wait, and those that run."""

    def __init__(self, schedule: CellSchedule) -> None:
        self.running: dict[int, Share] = {}
        self._schedule = schedule
        self._waiting: dict[Share, deque[int]] = defaultdict(deque)  # places in the order; seeds have equal shares
        for place, cell in enumerate(schedule.order):
            self._waiting[schedule.shares[cell]].append(place)

    def start(self) -> int | None:
        """The first cell that waits and has room; it runs from now on. None: there is no room, or none waits."""
        limits, places = self._schedule, []
        for share, waiting in self._waiting.items():
            shares = [share, *self.running.values()]
            has_room = len(shares) == 1 or (  # one that needs more than there is runs alone
                len(shares) <= limits.jobs
                and sum(other.cores for other in shares) <= limits.cores
                and sum(other.memory + other.disk for other in shares) <= limits.memory
            )
            places += [waiting] * (has_room and bool(waiting))
        if not places:
            return None
        cell = self._schedule.order[min(places).popleft()]
        self.running[cell] = self._schedule.shares[cell]
        return cell

    def end(self, cell: int) -> None:
        """The cell has ended, however."""
        del self.running[cell]


def plan(demands: Sequence[Sequence[Share]], *, cores: int, memory: float = math.inf) -> CellSchedule:
    """The schedule whose last cell ends soonest, within `SLACK`.

    `demands[i]`: what cell i takes with its least number of processes, with one more, and so on to the most that it
    can use.
    """
    lengths = sorted({share.seconds for demand in demands for share in demand} or {0.0})
    schedules = []
    for length in lengths[:: max(1, len(lengths) // TRIED)]:
        # The fewest processes with which a cell takes no longer, or else its shortest time.
        shares = tuple(
            next((share for share in demand if share.seconds <= length), min(demand, key=lambda share: share.seconds))
            for demand in demands
        )
        order = sorted(range(len(shares)), key=lambda cell: -shares[cell].seconds)
        schedule = CellSchedule(shares, order, cores=cores, memory=memory)
        schedules.append((schedule.forecast().seconds, schedule))
    soonest = min(seconds for seconds, _ in schedules)
    return next(schedule for seconds, schedule in reversed(schedules) if seconds <= SLACK * soonest)
