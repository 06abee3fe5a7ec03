"""Messages: the driver's time per task, a worker's start and memory, and processes kept busy by sleeping tasks."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cells import drive
from benchmarks.harness import Claim, cpu_seconds, median, take_turns, wall_seconds
from erlbench.algorithms.base import Context
from erlbench.algorithms.cem import CEM, CEMSettings
from erlbench.envs.registry import problem
from erlbench.policy import PolicySpec, initial_parameters
from erlbench.pool import ProcessPool
from erlbench.replay import Replay
from erlbench.rollout import rollout
from erlbench.settings import resolve
from erlbench.store import Store
from erlbench.tasks import Task
from erlbench.workspace import Workspace

POPULATION, GENERATIONS = 500, 5
REPEATS = 5
WORKERS = (5, 9, 24, 64)
MEAN, TASKS_EACH = 0.1, 30  # seconds of a sleeping episode; episodes per process


class Idle(CEM):
    """CEM whose episodes are no-ops."""

    def rollout(self, *arguments: Any, **more: Any) -> Task:
        task = super().rollout(*arguments, **more)
        vars(task)["function"] = "benchmarks.tasks:nothing"  # `replace` would take longer than all of the above
        return task


def measure() -> Iterator[Claim]:
    """Seven numbers."""
    seconds = take_turns({"first": lambda: driver_seconds(1), "all": lambda: driver_seconds(GENERATIONS)}, REPEATS)
    cost = median(seconds["all"] - seconds["first"]) / (POPULATION * (GENERATIONS - 1))
    claim = "driver time per ES task, 400-300 policy"
    yield Claim(claim, 1e6 * cost, 70.0, at_least=False, unit="µs", samples=seconds)
    yield from _worker()
    yield _replay()
    lengths = walker_lengths()
    for processes in WORKERS:
        claim = f"{processes} processes, sleeping episodes of Walker2d's lengths: busy"
        yield Claim(claim, efficiency(processes, lengths), 0.98)


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


def _worker() -> Iterator[Claim]:
    """The start of a worker, once the fork server runs, and its memory after rollouts of Humanoid."""
    with ProcessPool(1) as pool:
        _run(pool, _task(0, "nothing"))
    starts, memory = [], []
    for _ in range(REPEATS):
        with ProcessPool(1) as pool:
            starts.append(wall_seconds(lambda pool=pool: _run(pool, _task(0, "nothing"))))  # type: ignore[misc]
            memory.append(_run(pool, _humanoid(pool))["mib"])
    samples = {"seconds": np.array(starts)}
    yield Claim("start of a rollout worker", median(samples["seconds"]), 0.5, at_least=False, unit="s", samples=samples)
    samples = {"mib": np.array(memory)}
    claim = "resident memory of a rollout worker, Humanoid 400-300"
    yield Claim(claim, median(samples["mib"]), 120.0, at_least=False, unit="MiB", samples=samples)


def _humanoid(pool: ProcessPool) -> Task:
    """A rollout of Humanoid."""
    task = problem("Humanoid-v5")
    spec = PolicySpec((task.observation_size, 400, 300, task.action_size), "tanh", task.action_low, task.action_high)
    settings = {"env": task.env, "policy": spec, "episodes": 10, "record": True, "random_actions": False,
                "action_noise": 0.0, "seeds": ()}  # fmt: skip
    parameters = pool.store.put("parameters", initial_parameters(spec.sizes, (0,)))
    return replace(_task(1, "resident", settings), inputs={"parameters": parameters})


def _replay() -> Claim:
    """Bytes of Humanoid's replay files, in episodes of 100 steps, scaled to a million transitions."""
    task, steps, episodes = problem("Humanoid-v5"), 10_000, 100
    with tempfile.TemporaryDirectory() as folder:
        replay = Replay(folder, task.observation_size, task.action_size)
        replay.append(np.zeros((steps + episodes, task.observation_size)), np.zeros((steps, task.action_size)),
                      np.zeros(steps), np.ones(steps), [steps // episodes] * episodes)  # fmt: skip
        replay.close()
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
    gib = size / steps * 1e6 / 2**30
    return Claim("Humanoid's replay of 1e6 transitions", gib, 1.5, at_least=False, unit="GiB")


def walker_lengths() -> np.ndarray:
    """Lengths of Walker2d's episodes, of as many random policies."""
    task = problem("Walker2d-v5")
    spec = PolicySpec((task.observation_size, 64, 64, task.action_size), "tanh", task.action_low, task.action_high)
    settings = {"env": task.env, "policy": spec, "episodes": 1, "record": False, "random_actions": False,
                "action_noise": 0.0, "seeds": ()}  # fmt: skip
    store = Store.create()
    workspace = Workspace(store)
    lengths = [
        rollout(settings, {"parameters": initial_parameters(spec.sizes, (index,))}, (index,), workspace).values
        for index in range(64)
    ]
    workspace.close()
    store.close()
    return np.array([values["lengths"][0] for values in lengths])


def efficiency(processes: int, lengths: np.ndarray) -> float:
    """The share of time that the processes sleep in tasks while there is always one more than they can do."""
    durations = np.random.default_rng(0).choice(MEAN * lengths / lengths.mean(), processes * TASKS_EACH)
    with ProcessPool(processes) as pool:
        pool.submit(_task(index, "sleep", {"seconds": 0.5}) for index in range(processes))  # have the workers start
        for _ in range(processes):
            pool.next_result()
        left, results = list(enumerate(durations, processes)), []

        def submit(count: int) -> None:
            pool.submit(_task(index, "sleep", {"seconds": float(d)}) for index, d in left[:count])
            del left[:count]

        submit(processes)
        last = time.monotonic()
        while (result := pool.next_result()) is not None:
            results.append(result)
            if left:
                submit(1)
                last = time.monotonic()
    first = sorted(result.start for result in results)[processes - 1]  # when each had a task
    # What was asked for, not how long it took: to wake up late is a loss.
    ends = [min(result.start + durations[result.task - processes], last) for result in results]
    slept = sum(max(0.0, end - max(result.start, first)) for result, end in zip(results, ends))
    return float(slept / (processes * (last - first)))


def _task(number: int, function: str, settings: dict[str, Any] | None = None) -> Task:
    return Task(number, function, f"benchmarks.tasks:{function}", (number,), settings or {})


def _run(pool: ProcessPool, task: Task) -> Any:
    pool.submit([task])
    result = pool.next_result()
    assert result is not None
    return result.values
