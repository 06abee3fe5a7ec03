"""Worker processes: their start and memory, and how busy sleeping tasks keep them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims.driver import policy
from benchmarks.harness import Claim, median, wall_seconds
from erlbench.envs.registry import problem
from erlbench.policy import initial_parameters
from erlbench.pool import Pool, local_pool
from erlbench.work.replay import Replay
from erlbench.work.rollout import rollout
from erlbench.work.store import Store
from erlbench.work.tasks import Result, Task
from erlbench.work.workspace import Workspace

REPEATS = 5
WORKERS = (5, 9, 24, 64)
MEAN, TASKS_EACH = 0.1, 30  # seconds of a sleeping episode; episodes per process


def measure() -> Iterator[Claim]:
    """Seven numbers."""
    yield from _worker()
    yield _replay()
    lengths = walker_lengths()
    for processes in WORKERS:
        claim = f"{processes} processes, sleeping episodes of Walker2d's lengths: busy"
        yield Claim(claim, efficiency(processes, lengths), 0.98)


def _worker() -> Iterator[Claim]:
    """The start of a worker, once the fork server runs, and its memory after rollouts of Humanoid."""
    with local_pool(1) as pool:
        _run(pool, task(0, "nothing"))
    starts, memory = [], []
    for _ in range(REPEATS):
        with local_pool(1) as pool:
            starts.append(wall_seconds(lambda pool=pool: _run(pool, task(0, "nothing"))))  # type: ignore[misc]
            memory.append(_run(pool, _humanoid(pool))["mib"])
    samples = {"seconds": np.array(starts)}
    yield Claim("start of a rollout worker", median(samples["seconds"]), 0.5, at_least=False, unit="s", samples=samples)
    samples = {"mib": np.array(memory)}
    claim = "resident memory of a rollout worker, Humanoid 400-300"
    yield Claim(claim, median(samples["mib"]), 120.0, at_least=False, unit="MiB", samples=samples)


def _humanoid(pool: Pool) -> Task:
    """A rollout of Humanoid."""
    settings, vector = policy("Humanoid-v5", (400, 300))
    settings = replace(settings, episodes=10, record=True)
    return replace(task(1, "resident", settings), inputs={"parameters": pool.store.put("parameters", vector)})


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
    settings, _ = policy("Walker2d-v5", (64, 64))
    sizes = settings.policy.sizes
    store = Store.create()
    workspace = Workspace(store)
    lengths = [
        rollout(settings, {"parameters": initial_parameters(sizes, (index,))}, (index,), workspace).values
        for index in range(64)
    ]
    workspace.close()
    store.close()
    return np.array([values["lengths"][0] for values in lengths])


def efficiency(processes: int, lengths: np.ndarray) -> float:
    """The share of time that the processes sleep in tasks while there is always one more than they can do."""
    durations = np.random.default_rng(0).choice(MEAN * lengths / lengths.mean(), processes * TASKS_EACH)
    with local_pool(processes) as pool:
        pool.submit(task(index, "sleep", {"seconds": 0.5}) for index in range(processes))  # have the workers start
        for _ in range(processes):
            pool.next_result()
        left, results = list(enumerate(durations, processes)), []

        def submit(count: int) -> None:
            pool.submit(task(index, "sleep", {"seconds": float(d)}) for index, d in left[:count])
            del left[:count]

        submit(processes)
        last = time.monotonic()
        while (result := pool.next_result()) is not None:
            results.append(result)
            if left:
                submit(1)
                last = time.monotonic()
    return asleep(results, dict(enumerate(durations, processes)), processes, last)


def asleep(results: Sequence[Result], durations: Mapping[int, float], processes: int, last: float) -> float:
    """The share of time that processes sleep in tasks, from when each had one until `last`; `durations` by task.

    What was asked for counts, not how long it took: to wake up late is a loss.
    """
    first = sorted(result.start for result in results)[processes - 1]
    ends = [min(result.start + durations[result.task], last) for result in results]
    slept = sum(max(0.0, end - max(result.start, first)) for result, end in zip(results, ends))
    return float(slept / (processes * (last - first)))


def task(number: int, function: str, settings: dict[str, Any] | None = None) -> Task:
    """A task of a function of `benchmarks.tasks`."""
    return Task(number, function, f"benchmarks.tasks:{function}", (number,), settings or {})


def _run(pool: Pool, task: Task) -> Any:
    pool.submit([task])
    result = pool.next_result()
    assert result is not None
    return result.values
