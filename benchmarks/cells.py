"""Short cells of HalfCheetah with episodes of 100 steps, so that a minute holds several generations."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from erlbench.algorithms import registry
from erlbench.algorithms.base import Algorithm, Context
from erlbench.envs.registry import Problem, problem
from erlbench.pool import local_pool
from erlbench.pool.base import Pool
from erlbench.records.schema import GenerationRow, TaskRow
from erlbench.reporting.data.timeline import busy
from erlbench.running.listeners import Listener
from erlbench.running.listeners.files import RowFiles
from erlbench.running.loop import Record
from erlbench.running.results import RunDirectory
from erlbench.running.training import Training, TrainingOptions
from erlbench.settings import resolve
from erlbench.work.replay import Replay

ENVIRONMENT, LIMIT, PROCESSES = "HalfCheetah-v5", 100, 2
A = TypeVar("A", bound=Algorithm[Any, Any])


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """What was seen of a cell: arrays (tasks,) of its training tasks, and (generations,) of its generations.

    All times are in seconds since the run began.
    """

    process: np.ndarray
    start: np.ndarray
    end: np.ndarray
    gradient: np.ndarray  # whether a task makes gradient steps
    timesteps: np.ndarray  # so far, at the end of each generation
    times: np.ndarray  # of those ends
    processes: int = PROCESSES

    @property
    def warm(self) -> float:
        """When every process that has gradient tasks had loaded torch and done the first; 0 where there are none."""
        of_each = (self.gradient & (self.process == process) for process in range(self.processes))
        return float(max((self.end[mine].min() for mine in of_each if mine.any()), default=0.0))

    @property
    def seconds_per_step(self) -> float:
        """Between the first and the last end of a generation after all was warm."""
        steps, times = self.timesteps[self.times >= self.warm], self.times[self.times >= self.warm]
        return float((times[-1] - times[0]) / (steps[-1] - steps[0]))

    @property
    def busy_share(self) -> float:
        """The share of the processes' time with a task, from when all was warm until the last task starts."""
        first, last = self.warm, float(self.start.max())
        start, end = self.start.clip(first, last), self.end.clip(first, last)
        chosen = [self.process == process for process in range(self.processes)]
        return sum(busy(start[mine], end[mine]) for mine in chosen) / (self.processes * (last - first))


def short_problem() -> Problem:
    """HalfCheetah with a time limit of `LIMIT` steps."""
    task = problem(ENVIRONMENT)
    return replace(task, env=replace(task.env, max_episode_steps=LIMIT))


def train(algo: str, steps: int, processes: int = PROCESSES, **overrides: Any) -> Tasks:
    """Train a cell with the paper's settings and `overrides`."""
    seen = Seen()
    with local_pool(processes) as pool:
        drive(pool, registry.find(algo), settings_of(algo, overrides), short_problem(), steps, None, seen)
    process, start, end = (seen.of_tasks(name) for name in ("process", "start_s", "end_s"))
    gradient = np.array([row.kind in ("critic", "actor") for row in seen.tasks])
    timesteps, times = np.array([(row.timesteps, row.train_time_s) for row in seen.generations], float).T
    return Tasks(
        process=process, start=start, end=end, gradient=gradient, timesteps=timesteps, times=times, processes=processes
    )


def settings_of(algo: str, overrides: Mapping[str, Any]) -> Any:
    """The paper's settings of an algorithm with `overrides`."""
    return resolve(registry.find(algo).settings_type, ENVIRONMENT, registry.preset(algo, "paper"), overrides)


@dataclass
class Seen:
    """Listens to a cell: its training tasks and its generations."""

    tasks: list[TaskRow] = field(default_factory=list)
    generations: list[GenerationRow] = field(default_factory=list)

    def __call__(self, record: Record) -> None:
        """Keep a record."""
        if isinstance(record, TaskRow) and record.kind != "evaluation":
            self.tasks.append(record)
        elif isinstance(record, GenerationRow):
            self.generations.append(record)

    def of_tasks(self, column: str) -> np.ndarray:
        """A column of the tasks, (tasks,)."""
        return np.array([getattr(row, column) for row in self.tasks], float)


def drive(
    pool: Pool,
    make: Callable[[Any, Context], A],
    settings: Any,
    task: Problem,
    steps: int,
    workers: int | None = None,
    *listeners: Listener,
) -> A:
    """Train a new algorithm to its end, in a folder that is removed; no evaluation and no checkpoint on the way.

    `workers` None: those that the algorithm has by default, or 10.
    """
    with tempfile.TemporaryDirectory() as name, ExitStack() as ends:
        folder = Path(name)
        replay = ends.enter_context(
            closing(Replay(folder / "replay", task.observation_size, task.action_size, pool.store))
        )
        workers = workers or getattr(make, "default_workers", None) or 10
        algorithm = make(
            settings,
            Context(problem=task, seed=0, total_timesteps=steps, workers=workers, store=pool.store, replay=replay),
        )
        directory = RunDirectory(folder)
        directory.hold()
        ends.callback(directory.release)
        files = ends.enter_context(closing(RowFiles(folder, ENVIRONMENT, directory.check)))
        options = TrainingOptions(eval_freq=10**9, eval_episodes=1, final_episodes=1, checkpoint_every=1e9)
        Training(algorithm, pool, directory, files, options, threading.Event(), listeners).run()
    return algorithm
