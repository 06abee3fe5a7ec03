"""Which cells of a command run at once: as many as cores and memory carry, so that the last one ends soonest.

Cells are jobs of known length that can be given more or fewer processes (moldable). As in Ludwig and Tiwari,
"Scheduling malleable and nonmalleable parallel tasks", SODA 1994: for each length that a cell can have, all cells get
the fewest processes with which they are no longer; the best of these allotments is found by scheduling lists.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

SLACK = 1.05  # of plans that end at most so much later than the soonest, the one with the fewest processes is taken
STEP = 1.03  # between two lengths that are tried


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

    @property
    def held(self) -> float:
        """Bytes of memory."""
        return self.memory + self.disk


@dataclass(frozen=True, kw_only=True)
class Room:
    """What all cells that run at once may take."""

    cells: float = math.inf
    cores: float = math.inf
    memory: float = math.inf  # bytes


@dataclass(frozen=True)
class ScheduleEstimate:
    """How a schedule goes where all estimates are right."""

    seconds: float
    at_once: int  # the most cells
    memory: float  # the most bytes of processes
    disk: float  # the most bytes of replays


@dataclass(frozen=True)
class Schedule:
    """What each cell takes, and in which order those that wait are started as soon as there is room."""

    shares: tuple[Share, ...]
    room: Room
    order: tuple[int, ...]  # indices of the cells

    def forecast(self) -> ScheduleEstimate:
        """Run through the estimates."""
        queue, ends, now = CellQueue(self), list[tuple[float, int]](), 0.0
        most = ScheduleEstimate(0.0, 0, 0.0, 0.0)
        while True:
            while (cell := queue.start()) is not None:
                heapq.heappush(ends, (now + self.shares[cell].seconds, cell))
            running = [share for share in queue.running.values() if not share.done]
            most = ScheduleEstimate(
                now,
                max(most.at_once, len(running)),
                max(most.memory, sum(share.memory for share in running)),
                max(most.disk, sum(share.disk for share in running)),
            )
            if not ends:
                return most
            now, cell = heapq.heappop(ends)
            queue.end(cell)

    @property
    def first(self) -> dict[Share, int]:
        """The first cell with each share."""
        return {share: cell for cell, share in reversed([*enumerate(self.shares)])}

    def at_once(self, cell: int) -> int:
        """The most cells that may run at the same time as `cell`, with itself, however long each of them takes."""
        own, room = self.shares[cell], self.room
        others = [share for other, share in enumerate(self.shares) if other != cell and not share.done]
        beside = min(
            room.cells - 1,
            _number_beside(own.cores, [share.cores for share in others], room.cores),
            _number_beside(own.held, [share.held for share in others], room.memory),
        )
        return 1 + int(beside)


class CellQueue:
    """The cells of a schedule that wait, and those that run."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._waiting: dict[Share, deque[int]] = {}  # places in the order
        for place, cell in enumerate(schedule.order):
            self._waiting.setdefault(schedule.shares[cell], deque()).append(place)
        self.running: dict[int, Share] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def start(self) -> int | None:
        """The first cell that waits and has room; it runs from now on. None: there is no room, or none waits."""
        taken = _Taken(self._schedule.room, self.running.values())
        fitting = [places for share, places in self._waiting.items() if taken.has_room(share)]
        if not fitting:
            return None
        cell = self._schedule.order[min(fitting, key=lambda places: places[0]).popleft()]
        share = self.running[cell] = self._schedule.shares[cell]
        if not self._waiting[share]:
            del self._waiting[share]
        return cell

    def end(self, cell: int) -> None:
        """The cell has ended, however."""
        del self.running[cell]


class _Taken:
    """What the cells that run take of the room."""

    def __init__(self, room: Room, running: Iterable[Share]) -> None:
        self._room, self._cells, self._cores, self._held = room, 0, 0, 0.0
        for share in running:
            self.add(share)

    def add(self, share: Share) -> None:
        """One more cell runs."""
        self._cells += 1
        self._cores += share.cores
        self._held += share.held

    def has_room(self, share: Share) -> bool:
        """Whether a further cell has room."""
        return (
            self._cells < self._room.cells
            and _is_enough(self._room.cores, self._cores, share.cores)
            and _is_enough(self._room.memory, self._held, share.held)
        )


def _is_enough(room: float, taken: float, more: float) -> bool:
    """Whether there is room for more; what is more than there is has it alone."""
    return not taken or not more or taken + more <= room


def _number_beside(taken: float, others: Iterable[float], room: float) -> int:
    """The most of the others that have room together beside what is taken."""
    number = 0
    for more in sorted(others):
        if not _is_enough(room, taken, more):
            break
        taken, number = taken + more, number + 1
    return number


def in_order(shares: Sequence[Share], room: Room) -> Schedule:
    """The schedule that starts the cells as they were given."""
    return Schedule(tuple(shares), room, tuple(range(len(shares))))


def plan(demands: Sequence[tuple[Share, ...]], room: Room, longest_first: bool = True) -> Schedule:
    """The schedule whose last cell ends soonest, within `SLACK`; where all run at once, it uses all cores.

    `demands[i]`: what cell i takes with its least number of processes, with one more, and so on to the most that it
    can use. Cells start with the longest one, or in the order given.
    """
    order = _longest_first if longest_first else in_order
    kinds = {id(demand): demand for demand in demands}
    numbers = Counter(map(id, demands))
    lengths = {share.seconds for demand in kinds.values() for share in demand if share.seconds > 0}
    tried = sorted({STEP ** math.ceil(math.log(length, STEP)) for length in lengths} or {1.0}, reverse=True)
    allotted = {length: {kind: _allotted(demand, length) for kind, demand in kinds.items()} for length in tried}
    bounds = {length: _least(shares, numbers, room) for length, shares in allotted.items()}
    schedules: dict[float, tuple[float, Schedule]] = {}

    def scheduled(length: float) -> float:
        if length not in schedules:
            schedule = order([allotted[length][id(demand)] for demand in demands], room)
            schedules[length] = schedule.forecast().seconds, schedule
        return schedules[length][0]

    soonest = math.inf
    for length in sorted(tried, key=lambda length: bounds[length]):
        if bounds[length] >= soonest:
            break
        soonest = min(soonest, scheduled(length))
    late = SLACK * soonest
    length = next(length for length in tried if bounds[length] <= late and scheduled(length) <= late)
    return _filled(schedules[length][1], demands)


def _allotted(demand: Sequence[Share], length: float) -> Share:
    """The fewest processes with which a cell takes at most `length` seconds, or else its shortest time."""
    return next((share for share in demand if share.seconds <= length), min(demand, key=lambda share: share.seconds))


def _least(shares: dict[int, Share], numbers: Counter[int], room: Room) -> float:
    """Seconds that no schedule of these shares goes below."""
    work = sum(numbers[kind] * share.seconds * min(share.cores, room.cores) for kind, share in shares.items())
    held = sum(numbers[kind] * share.seconds * min(share.held, room.memory) for kind, share in shares.items())
    longest = max((share.seconds for share in shares.values()), default=0.0)
    return max(longest, work / room.cores, held / room.memory)


def _longest_first(shares: Sequence[Share], room: Room) -> Schedule:
    order = sorted(range(len(shares)), key=lambda cell: -shares[cell].seconds)
    return Schedule(tuple(shares), room, tuple(order))


def _filled(schedule: Schedule, demands: Sequence[tuple[Share, ...]]) -> Schedule:
    """The schedule with as many processes more for each cell as there is room for, if all cells run at once."""
    best = list(schedule.shares)
    at = [demand.index(share) for demand, share in zip(demands, best, strict=True)]
    for more in range(1, max(map(len, demands), default=0)):
        shares = [demand[min(place + more, len(demand) - 1)] for demand, place in zip(demands, at, strict=True)]
        taken = _Taken(schedule.room, ())
        for share in shares:
            if not taken.has_room(share):
                return replace(schedule, shares=tuple(best))
            taken.add(share)
        best = shares
    return replace(schedule, shares=tuple(best))
