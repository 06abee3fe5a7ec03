"""Minutes per million steps and staleness of a cell on any number of processors, from costs: its schedule, simulated.

The algorithm itself runs, in simulated time, on results that are made up. So what it asks for, what it waits for and
what it does late is its own; only the durations of tasks, and the lengths of episodes, are modelled.
"""

from __future__ import annotations

import math
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.algorithms import registry
from erlbench.envs.registry import problem
from erlbench.errors import Interrupted, UsageError
from erlbench.experiment.cells import CRITIC, SHARED, Cell
from erlbench.experiment.costs import Costs
from erlbench.pool import SimulatedPool
from erlbench.pool.imagined import ImaginedPool
from erlbench.pool.simulated import ACTORS, shared_lane
from erlbench.records.schema import GenerationRow, TaskRow
from erlbench.running.loop import Loop, Record
from erlbench.running.signals import measuring
from erlbench.work.replay import Replay
from erlbench.work.rollout import RolloutSettings
from erlbench.work.seeding import generator

NARROW = (4,)  # hidden units, where networks change no schedule: what they take is in the costs


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a cell is expected to do on so many processors; `minutes` per million training steps."""

    processors: int
    workers: int
    minutes: float  # over the whole schedule
    minutes_after: float  # after the warm-up; NaN without gradient steps
    staleness: float  # median over individuals; NaN where nothing is late
    staleness_90: float
    critic_per_step: float
    busy: float  # share of the processors' time
    minutes_per_updates: float  # per million critic updates, after the warm-up; NaN without them


class CountingReplay(Replay):
    """A replay that knows its length and holds nothing."""

    def count(self, steps: int) -> None:
        """So many transitions more."""
        self.length += steps
        self.rows += steps


def forecast(
    cell: Cell,
    costs: Costs,
    processors: int,
    lengths: Sequence[int] | Mapping[str, Sequence[int]],
    critic: str = CRITIC,
) -> Forecast:
    """The schedule of `cell`, to the end of its budget, on `processors` virtual ones; raises `UsageError`.

    `lengths` of episodes, in steps, are taken in turn, again and again; those of a mapping by the kind of task.
    """
    kind = registry.find(cell.algo)
    if kind.critic_updates and not kind.imagined:  # its gradient tasks may begin late
        classes = {name: registry.find(name) for name in registry.ALGORITHMS}
        known = ", ".join(name for name, other in classes.items() if other.imagined and other.critic_updates)
        raise UsageError(f"there is no forecast for {cell.algo}; there is one for evolution strategies and for {known}")
    stop, temporary = threading.Event(), tempfile.TemporaryDirectory(prefix="erlbench-forecast-")
    with measuring(stop), temporary as name, ImaginedPool(lengths) as inner:
        task = problem(cell.env, cell.env_settings)
        replay = CountingReplay(Path(name) / "replay", task.observation_size, task.action_size)
        settings = replace(cell.settings, hidden=NARROW) if kind.imagined else cell.settings
        algorithm = replace(cell, settings=settings).algorithm(task, inner.store, replay)
        with closing(replay):
            loop = Loop(algorithm, _Counting(inner, processors, costs, replay, critic == SHARED))
            loop.begin()
            tasks, generations = _rows(loop.train(), stop)
        learns = kind.critic_updates > 0 and kind.gradient_workers(cell.settings, cell.workers) > 0
        return _measured(tasks, generations, processors + (learns and critic != SHARED), cell, processors)


def _rows(records: Iterable[Record], stop: threading.Event) -> tuple[list[TaskRow], list[GenerationRow]]:
    """All tasks and generations of a schedule; `Interrupted` when `stop` is set."""
    tasks: list[TaskRow] = []
    generations: list[GenerationRow] = []
    for record in records:
        if isinstance(record, TaskRow):
            tasks.append(record)
        elif isinstance(record, GenerationRow):
            generations.append(record)
        if stop.is_set():
            raise Interrupted("interrupted")
    return tasks, generations


class _Counting(SimulatedPool):
    """Counts what individuals would have recorded when their result is delivered.

    Equal tasks take unequal times, so that who waits for the last of them waits longer: log-normal factors of mean 1.
    Those of two tasks of a kind in turn are antithetic (Hammersley and Morton, 1956), so that few tasks suffice for
    the mean.

    Where the critic has no processor of its own, a processor takes the next task as soon as it is free, as those of the
    process pool do: before the driver has read the result and asks for a task that would go first.
    """

    def __init__(self, inner: Any, processors: int, costs: Costs, replay: CountingReplay, shared: bool) -> None:
        super().__init__(inner, processors, costs, shared)
        self._replay, self._spread = replay, math.log1p(costs.spread**2)  # a variance, of the logarithm
        self._recording: set[int] = set()
        self._opposite: dict[str, float] = {}  # by kind of task

    def submit(self, tasks: Any) -> None:
        tasks = list(tasks)
        self._recording |= {
            task.id for task in tasks if isinstance(task.settings, RolloutSettings) and task.settings.record
        }
        super().submit(tasks)

    def next_result(self, timeout: float | None = None) -> Any:
        result = super().next_result(timeout)
        if result is not None and result.task in self._recording:
            self._recording.discard(result.task)
            self._replay.count(sum(result.values["lengths"]))
        if self.lane is shared_lane:
            self._start(ACTORS)
        return result

    def _nanoseconds(self, task_id: int) -> int:
        function = self._running[task_id].task.function
        normal = self._opposite.pop(function, None)
        if normal is None:
            normal = generator(task_id).standard_normal()
            self._opposite[function] = -normal
        factor = math.exp(math.sqrt(self._spread) * normal - self._spread / 2)
        return round(super()._nanoseconds(task_id) * factor)


def _measured(
    tasks: Sequence[TaskRow], generations: Sequence[GenerationRow], lanes: int, cell: Cell, processors: int
) -> Forecast:
    if not generations:
        raise UsageError(f"{cell.total_timesteps} training steps are no generation of {cell.name}; take more")
    train = np.array([(row.timesteps, row.train_time_s, row.critic_updates) for row in generations], float)
    staleness = [row.own["staleness"] for row in generations if np.isfinite(row.own.get("staleness", math.nan))]
    start, end = (np.array([getattr(row, name) for row in tasks]) for name in ("start_s", "end_s"))
    played = [row for row in tasks if row.kind in ("es", "rl")] or [row for row in tasks if row.timesteps]
    late = staleness or [float(row.staleness or 0) for row in played]
    learnt = train[train[:, 2] > 0]
    steps = learnt[-1] - learnt[0] if len(learnt) > 1 and learnt[-1, 0] > learnt[0, 0] else np.full(3, np.nan)
    minutes = train[-1, 1] / 60 / train[-1, 0] * 1e6
    return Forecast(
        processors=processors,
        workers=cell.workers,
        minutes=float(minutes),
        minutes_after=float(steps[1] / 60 / steps[0] * 1e6),
        staleness=float(np.median(late)),
        staleness_90=float(np.quantile(late, 0.9)),
        critic_per_step=float(train[-1, 2] / train[-1, 0]),
        busy=float((end - start).sum() / (lanes * (end.max() - start.min()))),
        minutes_per_updates=float(steps[1] / 60 / steps[2] * 1e6) if steps[2] else math.nan,
    )
