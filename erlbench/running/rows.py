"""What stands in the rows of a run: made of the results of tasks and of what has been counted.

Among it is how asynchronous a run is: what lies between asking for a task and using its result, and how busy processes
are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np

from erlbench.algorithms.base import Counters
from erlbench.records.schema import NO_INDIVIDUALS, EpisodeRow, GenerationRow, TaskRow
from erlbench.running.clock import Clock
from erlbench.running.graph import Request
from erlbench.work.tasks import Counts, Result, Task, timesteps_of

INFO_VALUES = {"success": None, "success_ever": None, "info": ()}  # what infos may have said of an episode, or nothing


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


def task_row(
    task: Task, result: Result, clock: Clock, request: Request | None = None, counters: Counters | None = None
) -> TaskRow:
    """A finished task; of training also its `request`, and the `counters` before its result is used."""
    values = result.values
    ready = staleness = critic_lag = None
    if request and counters:
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
        timesteps_of(values),
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
    for episode_return, length, *more in zip(values["returns"], values["lengths"], *infos, strict=False):
        yield EpisodeRow(episode_return, length, seconds, task.kind, task.individual, task.id, timesteps, *more)


def generation_row(
    counters: Counters, metrics: Mapping[str, float], asynchrony: Asynchrony, clock: Clock
) -> GenerationRow:
    """An update of the search distribution; `metrics` are the algorithm's columns."""
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
