"""The driver: its processor time per task of an evolution strategy, of CEM and of OpenAI-ES.

CEM's update of a generation is timed by itself: it draws the noise of the elites again, which takes as long as the
policy is large, whatever pool and driver do. OpenAI-ES has its workers do that.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.cells import drive
from benchmarks.harness import Claim, cpu_seconds, median, take_turns
from erlbench.algorithms.base import Algorithm, Context
from erlbench.algorithms.cem import CEM, CEMSettings
from erlbench.algorithms.openai_es import OpenAIES, OpenAIESSettings
from erlbench.envs.registry import problem
from erlbench.experiment.settings import resolve
from erlbench.policy import PolicySpec, initial_parameters
from erlbench.pool import ProcessPool
from erlbench.work.replay import Replay
from erlbench.work.rollout import RolloutSettings
from erlbench.work.tasks import Result, Task

POPULATION, GENERATIONS = 500, 5
REPEATS = 5
TARGET = 50.0  # microseconds
WIDTHS = {"population": POPULATION, "hidden": (400, 300)}


class Idle(Algorithm):
    """An algorithm whose episodes are no-ops."""

    def rollouts(self, *arguments: Any, **more: Any) -> list[Task]:
        tasks = super().rollouts(*arguments, **more)
        for task in tasks:
            task.function = "benchmarks.tasks:nothing"
        return tasks


class IdleCEM(Idle, CEM):
    """CEM, which notes the processor time of its updates."""

    def __init__(self, settings: CEMSettings, context: Context) -> None:
        super().__init__(settings, context)
        self.updates: list[float] = []  # seconds

    def _tell(self, task: Task, result: Result) -> None:
        if len(self.state.fitness) == POPULATION - 1:
            self.updates.append(cpu_seconds(lambda: CEM._tell(self, task, result)))
        else:
            super()._tell(task, result)


class IdleOpenAIES(Idle, OpenAIES):
    """OpenAI-ES."""


Run = TypeVar("Run", bound=Idle)


def measure() -> Iterator[Claim]:
    """The numbers of a process of its own, since a driver never loads torch."""
    command = [sys.executable, "-m", "benchmarks.driver"]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    seconds = {name: np.array(values) for name, values in json.loads(printed).items()}
    whole, strategy = seconds["all"] - seconds["first"], seconds["openai all"] - seconds["openai first"]
    rows = {
        "driver time per ES task, 400-300 policy": whole,
        "the same without CEM's own update": whole - seconds["update"],
        "driver time per task of OpenAI-ES, 400-300 policy": strategy,
    }
    for claim, values in rows.items():
        cost = 1e6 * median(values) / (POPULATION * (GENERATIONS - 1))
        yield Claim(claim, cost, TARGET, at_least=False, unit="µs", samples=seconds)


def policy(env_id: str, hidden: tuple[int, ...]) -> tuple[RolloutSettings, np.ndarray]:
    """Settings and parameters of one episode."""
    task = problem(env_id)
    spec = PolicySpec((task.observation_size, *hidden, task.action_size), "tanh", task.action_low, task.action_high)
    return RolloutSettings(task.env, spec), initial_parameters(spec.sizes, (0,))


class Turns:
    """Runs of the driver, one at a time."""

    def __init__(self) -> None:
        self._updates: list[float] = []

    def cem(self, generations: int) -> float:
        """The driver's processor time for a run, with its rows, rankings and updates of the distribution."""
        algorithm, seconds = _run(IdleCEM, resolve(CEMSettings, "HalfCheetah-v5", {}, WIDTHS), generations)
        self._updates = algorithm.updates
        return seconds

    def update(self) -> float:
        """Of the last run of CEM, all updates but the first."""
        return sum(self._updates[1:])

    def openai_es(self, generations: int) -> float:
        """The driver's processor time for a run; workers add up the noise."""
        more = {**WIDTHS, "normalise_observations": False}
        return _run(IdleOpenAIES, resolve(OpenAIESSettings, "HalfCheetah-v5", {}, more), generations)[1]


def _run(cls: type[Run], settings: Any, generations: int) -> tuple[Run, float]:
    task, total = problem("HalfCheetah-v5"), POPULATION * generations  # each task counts one step
    with tempfile.TemporaryDirectory() as folder, ProcessPool(1) as pool:
        replay = Replay(Path(folder) / "replay", task.observation_size, task.action_size)
        algorithm = cls(settings, Context(task, 0, total, POPULATION, pool.store, replay))
        seconds = cpu_seconds(lambda: drive(algorithm, pool, Path(folder)))
        replay.close()
    return algorithm, seconds


def main() -> None:
    """Print the seconds of each turn."""
    turns = Turns()
    candidates = {
        "first": lambda: turns.cem(1),
        "all": lambda: turns.cem(GENERATIONS),
        "update": turns.update,
        "openai first": lambda: turns.openai_es(1),
        "openai all": lambda: turns.openai_es(GENERATIONS),
    }
    print(json.dumps({name: values.tolist() for name, values in take_turns(candidates, REPEATS).items()}))


if __name__ == "__main__":
    main()
