"""The driver: its processor time per task."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cells import drive
from benchmarks.harness import Claim, cpu_seconds, median, take_turns
from erlbench.algorithms.base import Context
from erlbench.algorithms.cem import CEM, CEMSettings
from erlbench.envs.registry import problem
from erlbench.experiment.settings import resolve
from erlbench.policy import PolicySpec, initial_parameters
from erlbench.pool import ProcessPool
from erlbench.work.replay import Replay
from erlbench.work.rollout import RolloutSettings
from erlbench.work.tasks import Task

POPULATION, GENERATIONS = 500, 5
REPEATS = 5


class Idle(CEM):
    """CEM whose episodes are no-ops."""

    def rollout(self, *arguments: Any, **more: Any) -> Task:
        task = super().rollout(*arguments, **more)
        vars(task)["function"] = "benchmarks.tasks:nothing"  # `replace` would take longer than all of the above
        return task


def measure() -> Iterator[Claim]:
    """One number, from a process of its own, since a driver never loads torch."""
    command = [sys.executable, "-m", "benchmarks.driver"]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    seconds = {name: np.array(values) for name, values in json.loads(printed).items()}
    cost = median(seconds["all"] - seconds["first"]) / (POPULATION * (GENERATIONS - 1))
    claim = "driver time per ES task, 400-300 policy"
    yield Claim(claim, 1e6 * cost, 70.0, at_least=False, unit="µs", samples=seconds)


def policy(env_id: str, hidden: tuple[int, ...]) -> tuple[RolloutSettings, np.ndarray]:
    """Settings and parameters of one episode."""
    task = problem(env_id)
    spec = PolicySpec((task.observation_size, *hidden, task.action_size), "tanh", task.action_low, task.action_high)
    return RolloutSettings(task.env, spec), initial_parameters(spec.sizes, (0,))


def driver_seconds(generations: int) -> float:
    """The driver's processor time for a run, with its rows, rankings and updates of the distribution."""
    task = problem("HalfCheetah-v5")
    settings = resolve(CEMSettings, "HalfCheetah-v5", {}, {"population": POPULATION, "hidden": (400, 300)})
    total = POPULATION * generations  # each task counts one step
    with tempfile.TemporaryDirectory() as folder, ProcessPool(1) as pool:
        replay = Replay(Path(folder) / "replay", task.observation_size, task.action_size)
        algorithm = Idle(settings, Context(task, 0, total, POPULATION, pool.store, replay))
        seconds = cpu_seconds(lambda: drive(algorithm, pool, Path(folder)))
        replay.close()
    return seconds


def main() -> None:
    """Print the seconds of each turn."""
    seconds = take_turns({"first": lambda: driver_seconds(1), "all": lambda: driver_seconds(GENERATIONS)}, REPEATS)
    print(json.dumps({name: values.tolist() for name, values in seconds.items()}))


if __name__ == "__main__":
    main()
