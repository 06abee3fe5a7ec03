"""The driver: its processor time per task of an evolution strategy, of CEM and of OpenAI-ES.

CEM's update of a generation is timed by itself: it draws the noise of the elites again, which takes as long as the
policy is large, whatever pool and driver do. OpenAI-ES has its workers do that.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from benchmarks.cells import ENVIRONMENT, train
from benchmarks.harness import Claim, cpu_seconds, median
from erlbench.algorithms.base import Algorithm, Context
from erlbench.algorithms.cem import CEM, CEMSettings
from erlbench.algorithms.openai_es import OpenAIES, OpenAIESSettings
from erlbench.settings import resolve
from erlbench.work.rollout import RolloutSettings
from erlbench.work.seeding import Key
from erlbench.work.tasks import Outcome, Result, Task
from erlbench.work.workspace import Workspace

POPULATION, GENERATIONS, RUNS = 500, 6, 5
NOTHING = "benchmarks.speed.driver:nothing"
TARGET = 50.0  # microseconds
WIDTHS = {"population": POPULATION, "hidden": (400, 300)}


def nothing(settings: RolloutSettings, inputs: Mapping[str, np.ndarray], key: Key, workspace: Workspace) -> Outcome:
    """A task of as many episodes of one step as asked for, without an environment; the returns differ."""
    return Outcome({"returns": [float(hash(key) % 1000)] * settings.episodes, "lengths": [1] * settings.episodes})


class Idle(Algorithm[Any, Any]):
    """An algorithm whose episodes are no-ops, and which notes the processor time at the end of each generation."""

    task_functions: ClassVar[Mapping[str, type]] = {**OpenAIES.task_functions, NOTHING: RolloutSettings}

    def __init__(self, settings: Any, context: Context) -> None:
        super().__init__(settings, context)
        self.ends: list[float] = []  # seconds

    def rollouts(self, *arguments: Any, **more: Any) -> list[Task]:
        tasks = super().rollouts(*arguments, **more)
        for task in tasks:
            task.function = NOTHING
        return tasks

    def metrics(self) -> dict[str, float]:
        self.ends.append(time.process_time())
        return super().metrics()

    @property
    def generations(self) -> np.ndarray:
        """The driver's processor time for each generation but the first, `(generations - 1,)` seconds."""
        return np.diff(self.ends)


class IdleCEM(Idle, CEM):
    """CEM, which notes the processor time of its updates, too."""

    def __init__(self, settings: CEMSettings, context: Context) -> None:
        super().__init__(settings, context)
        self.updates: list[float] = []  # seconds

    def _tell(self, task: Task, result: Result) -> None:
        if len(self.schedule.state.fitness) == POPULATION - 1:
            self.updates.append(cpu_seconds(lambda: CEM._tell(self, task, result)))
        else:
            super()._tell(task, result)


class IdleOpenAIES(Idle, OpenAIES):
    """OpenAI-ES."""


def measure() -> Iterator[Claim]:
    """The numbers of another process, since a driver never loads torch; it inherits the limit of threads."""
    command = [sys.executable, "-m", "benchmarks.speed.driver"]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    seconds = {name: np.array(values) for name, values in json.loads(printed).items()}
    rows = {
        "driver time per ES task, 400-300 policy": seconds["cem"],
        "the same without CEM's own update": seconds["cem"] - seconds["update"],
        "driver time per task of OpenAI-ES, 400-300 policy": seconds["openai-es"],
    }
    for claim, values in rows.items():
        yield Claim(claim, 1e6 * median(values) / POPULATION, TARGET, at_least=False, unit="µs", samples=seconds)


def run_cem() -> IdleCEM:
    """A run of CEM, with its rows, rankings and updates of the distribution; each task counts one step."""
    settings = resolve(CEMSettings, ENVIRONMENT, {}, WIDTHS)
    return train("cem", IdleCEM, settings, 1, POPULATION * GENERATIONS, POPULATION)[0]


def run_openai_es() -> Idle:
    """A run of OpenAI-ES, whose workers add up the noise."""
    settings = resolve(OpenAIESSettings, ENVIRONMENT, {}, {**WIDTHS, "normalise_observations": False})
    return train("openai-es", IdleOpenAIES, settings, 1, POPULATION * GENERATIONS, POPULATION)[0]


def main() -> None:
    """Print the seconds of each generation; the runs take turns."""
    seconds: dict[str, list[float]] = {"cem": [], "update": [], "openai-es": []}
    for _ in range(RUNS):
        run = run_cem()
        seconds["cem"] += run.generations.tolist()
        seconds["update"] += run.updates[1:]
        seconds["openai-es"] += run_openai_es().generations.tolist()
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
