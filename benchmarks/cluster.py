"""A Ray cluster of several raylets on this machine: driver's time, sleeping workers, bytes, a wide generation."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cells import ENVIRONMENT, drive, short_problem
from benchmarks.driver import GENERATIONS, POPULATION, REPEATS, Idle
from benchmarks.harness import Claim, cpu_seconds, median, take_turns
from benchmarks.tasks_and_workers import MEAN, TASKS_EACH, task, walker_lengths
from erlbench.algorithms import registry
from erlbench.algorithms.base import Context
from erlbench.algorithms.cem import CEMSettings
from erlbench.envs.registry import problem
from erlbench.experiment.settings import resolve
from erlbench.pool import PoolOptions
from erlbench.pool.cluster.ray_pool import RayPool
from erlbench.work.replay import Replay

WORKERS = {16: 2, 64: 3, 128: 4}  # processes in all, and nodes
WIDE, NODES = 1440, 4  # sleeping evaluations of a generation; nodes
OBJECTS = 200 * 2**20  # bytes of each node's object store


def measure() -> Iterator[Claim]:
    """Eight numbers."""
    yield _driver()
    lengths = walker_lengths()
    for workers, nodes in WORKERS.items():
        claim = f"{workers} processes on {nodes} nodes, sleeping episodes of Walker2d's lengths: busy"
        yield Claim(claim, efficiency(workers, nodes, lengths), 0.97)
    yield from _bytes()
    yield _generation(lengths)


@contextmanager
def cluster(nodes: int, cores: int) -> Iterator[RayPool]:
    """A pool on `nodes` raylets of this machine with `cores` processes each; the head has none."""
    import ray
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": OBJECTS}
    made = Cluster(initialize_head=True, head_node_args=head)
    try:
        ray.init(address=made.address, log_to_driver=False, logging_level=logging.ERROR)
        for _ in range(nodes):
            made.add_node(num_cpus=cores, object_store_memory=OBJECTS)
        with RayPool(PoolOptions()) as pool:
            while pool.processes < nodes * cores:
                pool.next_result(1.0)
                pool.look()
            yield pool
    finally:
        ray.shutdown()
        made.shutdown()


def _driver() -> Claim:
    """The driver's processor time per task through two nodes, as `benchmarks.driver` measures it for processes."""
    with cluster(2, 1) as pool:

        def seconds(generations: int) -> float:
            settings = resolve(CEMSettings, ENVIRONMENT, {}, {"population": POPULATION, "hidden": (400, 300)})
            budget, where = POPULATION * generations, problem(ENVIRONMENT)
            pool.reset()
            pool.store.clear()
            with tempfile.TemporaryDirectory() as folder:
                replay = Replay(Path(folder) / "replay", where.observation_size, where.action_size, pool.store)
                algorithm = Idle(settings, Context(where, 0, budget, POPULATION, pool.store, replay))
                found = cpu_seconds(lambda: drive(algorithm, pool, Path(folder)))
                replay.close()
            return found

        turns = take_turns({"first": lambda: seconds(1), "all": lambda: seconds(GENERATIONS)}, REPEATS)
    cost = median(turns["all"] - turns["first"]) / (POPULATION * (GENERATIONS - 1))
    return Claim("driver time per ES task through two nodes", 1e6 * cost, 500.0, False, "µs", samples=turns)


def efficiency(workers: int, nodes: int, lengths: np.ndarray) -> float:
    """The share of time that the processes sleep in tasks while there are more tasks than processes."""
    durations = np.random.default_rng(0).choice(MEAN * lengths / lengths.mean(), workers * TASKS_EACH)
    with cluster(nodes, workers // nodes) as pool:
        count = pool.processes
        _warm(pool, count)
        begun = time.monotonic()
        pool.submit(task(index, "sleep", {"seconds": float(d)}) for index, d in enumerate(durations, count))
        slept = 0.0
        for left in range(len(durations) - 1, -1, -1):
            result = pool.next_result()
            assert result is not None
            slept += durations[result.task - count]
            if left == 2 * count:  # from here on some may have nothing to do
                break
        seconds = time.monotonic() - begun
        under_way = MEAN * count / 2  # of the tasks that run now, half is done on average
    return float((slept + under_way) / (count * seconds))


def _generation(lengths: np.ndarray) -> Claim:
    """A generation of sleeping evaluations on as many processes, against its longest one."""
    durations = np.random.default_rng(1).choice(10 * MEAN * lengths / lengths.mean(), WIDE)
    with cluster(NODES, WIDE // NODES // 10) as pool:
        count = pool.processes
        _warm(pool, count)
        begun = time.monotonic()
        pool.submit(task(index, "sleep", {"seconds": float(d)}) for index, d in enumerate(durations, count))
        for _ in durations:
            pool.next_result()
        seconds = time.monotonic() - begun
    ideal = max(durations.sum() / count, durations.max())
    claim = f"a generation of {WIDE} sleeping evaluations on {count} processes, {NODES} nodes: time over the ideal"
    return Claim(claim, seconds / ideal, 1.1, at_least=False)


def _bytes() -> Iterator[Claim]:
    """What goes to the nodes for each task of OpenAI-ES, and for each actor of AES-RL beside the critic."""
    with cluster(2, 1) as pool:
        es = _train(pool, "openai-es", 4000, {"hidden": (64, 64)})
        yield Claim("bytes to the nodes per task of OpenAI-ES, 64-64 policy", es, 1024.0, False, "bytes")
        aes = _train(pool, "aes-rl", 6000, {"start_timesteps": 1000}, kind="rl") / 2**20
        yield Claim("MiB to the nodes per actor of AES-RL, critic and replay included", aes, 10.0, False, "MiB")


def _train(pool: RayPool, algo: str, steps: int, settings: dict[str, Any], kind: str = "es") -> float:
    cls = registry.find(algo)
    where = short_problem()
    resolved = resolve(cls.settings_type, ENVIRONMENT, registry.preset(algo, "paper"), settings)
    pool.reset()
    pool.store.clear()
    before = pool.bytes_sent
    with tempfile.TemporaryDirectory() as folder:
        replay = Replay(Path(folder) / "replay", where.observation_size, where.action_size, pool.store)
        algorithm = cls(resolved, Context(where, 0, steps, cls.default_workers or 10, pool.store, replay))
        drive(algorithm, pool, Path(folder))
        replay.close()
        lines = (Path(folder) / "tasks.csv").read_text().splitlines()
    return (pool.bytes_sent - before) / max(1, sum(f",{kind}," in line for line in lines))


def _warm(pool: RayPool, count: int) -> None:
    """Have all processes start."""
    pool.submit(task(index, "sleep", {"seconds": 1.0}) for index in range(count))
    for _ in range(count):
        pool.next_result()
