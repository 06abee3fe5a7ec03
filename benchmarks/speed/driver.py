"""The driver: its processor time per task of an evolution strategy, of CEM and of OpenAI-ES.

CEM's update of a generation draws the noise of the elites again, which takes as long as the policy is large, whatever
pool and driver do. OpenAI-ES has its workers do that.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from benchmarks.harness import Claim, median, train
from erlbench.algorithms.base import Algorithm
from erlbench.algorithms.cem import CEM
from erlbench.algorithms.openai_es import OpenAIES
from erlbench.work.rollout import RolloutSettings
from erlbench.work.seeding import Key
from erlbench.work.tasks import Outcome, Task
from erlbench.work.workspace import Workspace

POPULATION, GENERATIONS, RUNS = 500, 6, 5
NOTHING = "benchmarks.speed.driver:nothing"
TARGET = 50.0  # microseconds
WIDTHS = {"population": POPULATION, "hidden": (400, 300)}


def nothing(settings: RolloutSettings, inputs: Mapping[str, np.ndarray], key: Key, workspace: Workspace) -> Outcome:
    """A task of as many episodes of one step as asked for, without an environment; the returns differ."""
    return Outcome({"returns": [float(hash(key) % 1000)] * settings.episodes, "lengths": [1] * settings.episodes})


class Idle(Algorithm[Any, Any]):
    """An algorithm whose episodes are no-ops; train.csv has the processor time at the end of each generation."""

    task_functions: ClassVar[Mapping[str, type]] = {**OpenAIES.task_functions, NOTHING: RolloutSettings}

    def rollouts(self, *arguments: Any, **more: Any) -> list[Task]:
        tasks = super().rollouts(*arguments, **more)
        for task in tasks:
            task.function = NOTHING
        return tasks

    def metrics(self) -> dict[str, float]:
        return super().metrics() | {"driver_s": time.process_time()}


class IdleCEM(Idle, CEM):
    """CEM, whose update of a generation draws the noise of the elites again."""


class IdleOpenAIES(Idle, OpenAIES):
    """OpenAI-ES, whose workers add up the noise."""


def measure() -> Iterator[Claim]:
    """The numbers of another process, since a driver never loads torch; it inherits the limit of threads."""
    command = [sys.executable, "-m", "benchmarks.speed.driver"]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    seconds = {name: np.array(values) for name, values in json.loads(printed).items()}
    rows = {
        "driver time per ES task, 400-300 policy": seconds["cem"],
        "driver time per task of OpenAI-ES, 400-300 policy": seconds["openai-es"],
    }
    for claim, values in rows.items():
        yield Claim(claim, 1e6 * median(values) / POPULATION, TARGET, at_least=False, unit="µs", samples=seconds)


def run(algorithm: type[Idle], **settings: Any) -> list[float]:
    """The seconds of each generation of a run but the first; each task counts one step."""
    rows = train(f"benchmarks.speed.driver:{algorithm.__name__}", POPULATION * GENERATIONS, {**WIDTHS, **settings})
    seconds: list[float] = rows["driver_s"].diff().iloc[1:].tolist()
    return seconds


def main() -> None:
    """Print the seconds of each generation; the runs take turns."""
    seconds: dict[str, list[float]] = {"cem": [], "openai-es": []}
    for _ in range(RUNS):
        seconds["cem"] += run(IdleCEM)
        seconds["openai-es"] += run(IdleOpenAIES, normalise_observations=False)
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
