"""The driver: its processor time per task of an evolution strategy, of CEM and of OpenAI-ES.

CEM's update of a generation is timed by itself: it draws the noise of the elites again, which takes as long as the
policy is large, whatever pool and driver do. OpenAI-ES has its workers do that.
"""

from __future__ import annotations

from erlbench.machine.resources import limit_threads

limit_threads()  # processor time is that of all threads: those of BLAS, which wait for each other, would count

import json  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Iterator, Mapping  # noqa: E402
from typing import Any, ClassVar  # noqa: E402

import numpy as np  # noqa: E402

from benchmarks.cells import A, drive  # noqa: E402
from benchmarks.harness import Claim, cpu_seconds, median  # noqa: E402
from erlbench.algorithms.base import Algorithm, Context  # noqa: E402
from erlbench.algorithms.cem import CEM, CEMSettings  # noqa: E402
from erlbench.algorithms.openai_es import OpenAIES, OpenAIESSettings  # noqa: E402
from erlbench.envs.registry import problem  # noqa: E402
from erlbench.policy import PolicySpec, initial_parameters  # noqa: E402
from erlbench.pool import local_pool  # noqa: E402
from erlbench.settings import resolve  # noqa: E402
from erlbench.work.rollout import RolloutSettings  # noqa: E402
from erlbench.work.tasks import Result, Task  # noqa: E402

POPULATION, GENERATIONS = 500, 6
RUNS = 5
NOTHING = "benchmarks.tasks:nothing"
TARGET = 50.0  # microseconds
WIDTHS = {"population": POPULATION, "hidden": (400, 300)}


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
        if len(self.state.fitness) == POPULATION - 1:
            self.updates.append(cpu_seconds(lambda: CEM._tell(self, task, result)))
        else:
            super()._tell(task, result)


class IdleOpenAIES(Idle, OpenAIES):
    """OpenAI-ES."""


def measure() -> Iterator[Claim]:
    """The numbers of a process of its own, since a driver never loads torch."""
    command = [sys.executable, "-m", "benchmarks.claims.driver"]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    seconds = {name: np.array(values) for name, values in json.loads(printed).items()}
    rows = {
        "driver time per ES task, 400-300 policy": seconds["cem"],
        "the same without CEM's own update": seconds["cem"] - seconds["update"],
        "driver time per task of OpenAI-ES, 400-300 policy": seconds["openai-es"],
    }
    for claim, values in rows.items():
        yield Claim(claim, 1e6 * median(values) / POPULATION, TARGET, at_least=False, unit="µs", samples=seconds)


def policy(env_id: str, hidden: tuple[int, ...]) -> tuple[RolloutSettings, np.ndarray]:
    """Settings and parameters of one episode."""
    task = problem(env_id)
    spec = PolicySpec((task.observation_size, *hidden, task.action_size), "tanh", task.action_low, task.action_high)
    return RolloutSettings(task.env, spec), initial_parameters(spec.sizes, (0,))


def cem() -> IdleCEM:
    """A run of CEM, with its rows, rankings and updates of the distribution."""
    return _run(IdleCEM, resolve(CEMSettings, "HalfCheetah-v5", {}, WIDTHS))


def openai_es() -> Idle:
    """A run of OpenAI-ES, whose workers add up the noise."""
    more = {**WIDTHS, "normalise_observations": False}
    return _run(IdleOpenAIES, resolve(OpenAIESSettings, "HalfCheetah-v5", {}, more))


def _run(make: type[A], settings: Any) -> A:
    with local_pool(1) as pool:  # each task counts one step
        return drive(pool, make, settings, problem("HalfCheetah-v5"), POPULATION * GENERATIONS, POPULATION)


def main() -> None:
    """Print the seconds of each generation; the runs take turns."""
    seconds: dict[str, list[float]] = {"cem": [], "update": [], "openai-es": []}
    for _ in range(RUNS):
        run = cem()
        seconds["cem"] += run.generations.tolist()
        seconds["update"] += run.updates[1:]
        seconds["openai-es"] += openai_es().generations.tolist()
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
