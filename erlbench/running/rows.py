"""The rows of a run, made of the results of tasks and of counts.

Among it is how asynchronous a run is: what lies between asking for a task and using its result, and how busy processes
are; and time: total time, training time, which ends with the training, and pauses.

Pauses are spans in which the whole run stood still, as by Ctrl-Z, `docker pause` or Slurm's suspend.

A thread of the driver looks at the clock five times a second. A look that is late is a pause if meanwhile the driver
used no processor, did not wait for one, by Linux's count, and this thread did not wait for Python's lock, which wakes
it 200 times a second. So a busy machine, and an environment that sleeps or holds the lock, do no harm.
"""

from __future__ import annotations

import math
import resource
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import repeat
from numbers import Real
from typing import Any

import numpy as np

from erlbench.algorithms.base import Counters
from erlbench.errors import CellError
from erlbench.records.schema import NO_INDIVIDUALS, EpisodeRow, GenerationRow, TaskRow, header
from erlbench.running.orders import Request
from erlbench.work.tasks import Counts, Result, Task, count_timesteps

COUNTED = frozenset(header(GenerationRow))  # columns of every algorithm
INFO_VALUES = {"success": None, "success_ever": None, "info": ()}  # values of an episode's infos, or none


@dataclass
class Asynchrony:
    """Tasks since the last row of train.csv, and seconds since the run began; plain values, for checkpoints."""

    staleness: list[int] = field(default_factory=list)  # of individuals that played: updates of the distribution
    critic_lag: list[int] = field(default_factory=list)  # critic updates in the same span
    queueing: list[float] = field(default_factory=list)  # seconds from when a task that plays could start to its start
    busy: float = 0.0  # seconds of all processes
    nan_returns: int = 0  # individuals since the last row whose return is NaN

    def add(self, row: TaskRow, result: Result, ready: float) -> None:
        """Add a task of the training, which could have begun at `ready`."""
        self.busy += result.end - result.start
        if not row.timesteps or row.staleness is None or row.critic_lag is None:
            return
        self.queueing.append(result.start - ready)
        if row.kind not in NO_INDIVIDUALS:
            self.nan_returns += any(map(math.isnan, result.values.get("returns", ())))
            self.staleness.append(row.staleness)
            self.critic_lag.append(row.critic_lag)

    def row(self, counters: Counters, seconds: float) -> dict[str, Any]:
        """The columns of train.csv after `seconds` of training; the next row begins."""
        spread: dict[str, float | None] = {}
        for name, unit, values in (
            ("staleness", "", self.staleness),
            ("critic_lag", "", self.critic_lag),
            ("queueing", "_s", self.queueing),
        ):
            median, most = map(float, np.quantile(values, (0.5, 0.9))) if values else (None, None)
            spread |= {f"{name}_median{unit}": median, f"{name}_90{unit}": most}
            values.clear()
        self.nan_returns = 0
        steps, elapsed = counters.timesteps or np.nan, seconds or np.nan
        return {
            **spread,
            "critic_per_step": counters.critic_updates / steps,
            "actor_per_step": counters.actor_updates / steps,
            "busy_processes": self.busy / elapsed,
        }


def task_row(task: Task, result: Result, clock: Clock, of_training: tuple[Request, Counters] | None = None) -> TaskRow:
    """A finished task; of training also its request, and the counters before its result is used."""
    values = result.values
    ready = staleness = critic_lag = None
    if of_training:
        request, counters = of_training
        ready = clock.since_start(request.ready)
        staleness = counters.generation - request.generation
        critic_lag = counters.critic_updates - request.critic_updates
    return TaskRow(
        result.task,
        task.kind,
        result.process,
        task.individual,
        clock.since_start(result.start),
        clock.since_start(result.end),
        count_timesteps(values),
        values.get("critic_updates", 0),
        values.get("actor_updates", 0),
        ready,
        staleness,
        critic_lag,
        result.cpu,
    )


def episode_rows(task: Task, result: Result, timesteps: int, clock: Clock) -> Iterator[EpisodeRow]:
    """The episodes of a task; `timesteps` so far, theirs included."""
    if task.counts == Counts.NOTHING:
        return
    seconds = clock.train
    values = result.values
    infos = [values.get(name, repeat(default)) for name, default in INFO_VALUES.items()]
    for episode_return, length, *info_values in zip(values["returns"], values["lengths"], *infos, strict=False):
        yield EpisodeRow(episode_return, length, seconds, task.kind, task.individual, task.id, timesteps, *info_values)


def generation_row(counters: Counters, metrics: Any, asynchrony: Asynchrony, clock: Clock) -> GenerationRow:
    """An update of the search distribution; `metrics` are the algorithm's columns.

    Raises `CellError` for other values than numbers, and for the name of another column.
    """
    if not isinstance(metrics, Mapping):
        raise CellError(f"the algorithm's metrics must be numbers by the names of columns, not {metrics!r:.80}")
    for name, value in metrics.items():
        if name in COUNTED:
            raise CellError(f"the algorithm's metrics have a column '{name}', as train.csv has; give it another name")
        if isinstance(value, bool) or not isinstance(value, Real):
            raise CellError(f"the algorithm's metrics must be numbers, and '{name}' is {value!r:.80}")
    return GenerationRow(
        generation=counters.generation,
        timesteps=counters.timesteps,
        train_time_s=clock.train,
        paused_s=clock.paused,
        critic_updates=counters.critic_updates,
        actor_updates=counters.actor_updates,
        metrics=metrics,
        **asynchrony.row(counters, clock.train),
    )


# -- time --------------------------------------------------------------------------------------------------------------


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
        self.spans: list[tuple[float, float]] = []  # in order; one under way is not among them
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="erlbench-pauses", daemon=True)
        self._thread.start()

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
                self.spans.append((last[0] + BEAT / 2, now[0]))
            last = now


def _look() -> tuple[float, float, float, float]:
    """The clock; processor time of this process; of this thread, the seconds without a core, and how often it woke."""
    starved = 0.0
    with suppress(OSError, ValueError, IndexError), open("/proc/thread-self/schedstat", encoding="ascii") as file:
        starved = int(file.read().split()[1]) / 1e9
    return time.monotonic(), time.process_time(), starved, resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
