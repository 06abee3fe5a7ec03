"""Short cells of HalfCheetah with episodes of 100 steps, so that a minute holds several generations."""

from __future__ import annotations

import csv
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.algorithms import registry
from erlbench.algorithms.base import Algorithm, Context
from erlbench.envs.registry import Problem, problem
from erlbench.pool import local_pool
from erlbench.pool.base import Pool
from erlbench.reporting.data.timeline import busy
from erlbench.running.driver import Driver, DriverOptions
from erlbench.running.recorder import Recorder
from erlbench.running.results import RunDirectory
from erlbench.settings import resolve
from erlbench.work.replay import Replay

ENVIRONMENT, LIMIT, PROCESSES = "HalfCheetah-v5", 100, 2


@dataclass(frozen=True)
class Tasks:
    """What the CSV files tell of a cell: of its training tasks, arrays (tasks,); of its generations, (generations,).

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
        """Of all processes, from when all was warm until the last task starts: after that there is no more to do."""
        first, last = self.warm, float(self.start.max())
        start, end = self.start.clip(first, last), self.end.clip(first, last)
        chosen = [self.process == process for process in range(self.processes)]
        return sum(busy(start[mine], end[mine]) for mine in chosen) / (self.processes * (last - first))


def short_problem() -> Problem:
    """HalfCheetah with a time limit of `LIMIT` steps."""
    task = problem(ENVIRONMENT)
    return replace(task, env=replace(task.env, max_episode_steps=LIMIT))


def train(
    folder: Path, algo: str, steps: int, processes: int = PROCESSES, one_core: bool = False, **overrides: Any
) -> Tasks:
    """Train a cell with the paper's settings and `overrides`; `one_core`: no update uses a core that is idle."""
    cls = registry.find(algo)
    settings = resolve(cls.settings_type, ENVIRONMENT, registry.preset(algo, "paper"), overrides)
    task = short_problem()
    folder.mkdir(parents=True, exist_ok=True)
    with local_pool(processes, one_core=one_core) as pool:
        replay = Replay(folder / "replay", task.observation_size, task.action_size)
        context = Context(task, 0, steps, cls.default_workers or 10, pool.store, replay)
        drive(cls(settings, context), pool, folder)
        replay.close()
    tasks = [row for row in rows(folder / "tasks.csv") if row["kind"] != "evaluation"]
    process, start, end = (column(tasks, name) for name in ("process", "start_s", "end_s"))
    generations = rows(folder / "train.csv")
    timesteps, times = column(generations, "timesteps"), column(generations, "train_time_s")
    gradient = np.array([row["kind"] in ("critic", "actor") for row in tasks])
    return Tasks(process, start, end, gradient, timesteps, times, processes)


def drive(algorithm: Algorithm[Any, Any], pool: Pool, folder: Path) -> None:
    """Drive an algorithm to its end, with evaluations and checkpoints out of the way."""
    directory = RunDirectory(folder)
    directory.hold()
    recorder = Recorder(folder, ENVIRONMENT)
    options = DriverOptions(eval_freq=10**9, eval_episodes=1, final_episodes=1, checkpoint_every=1e9)
    Driver(algorithm, pool, directory, recorder, options, threading.Event()).run()
    recorder.close()
    directory.release()


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def column(rows: Sequence[Mapping[str, str]], name: str) -> np.ndarray:
    """The numbers of a column, `(rows,)`."""
    return np.array([float(row[name]) for row in rows])
