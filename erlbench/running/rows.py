"""What stands in the rows of a run: made of the results of tasks and of what has been counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import repeat

from erlbench.algorithms.base import Counters
from erlbench.records.schema import EpisodeRow, GenerationRow, TaskRow
from erlbench.running.asynchrony import Asynchrony
from erlbench.running.clock import Clock
from erlbench.running.graph import Request
from erlbench.work.tasks import Counts, Result, Task, timesteps_of

INFO_VALUES = {"success": None, "success_ever": None, "info": ()}  # what infos may have said of an episode, or nothing


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


def generation_row(counters: Counters, own: Mapping[str, float], asynchrony: Asynchrony, clock: Clock) -> GenerationRow:
    """An update of the search distribution; `own` are the algorithm's columns."""
    return GenerationRow(
        generation=counters.generation,
        timesteps=counters.timesteps,
        train_time_s=clock.train,
        paused_s=clock.paused,
        critic_updates=counters.critic_updates,
        actor_updates=counters.actor_updates,
        own=own,
        **asynchrony.row(counters, clock.train),
    )
