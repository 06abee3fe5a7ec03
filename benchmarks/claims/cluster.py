"""A Ray cluster of several raylets on this machine: driver's time, sleeping workers, bytes, a wide generation."""

from __future__ import annotations

import heapq
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from benchmarks.cells import ENVIRONMENT, Seen, drive, settings_of, short_problem
from benchmarks.claims.driver import GENERATIONS, POPULATION, RUNS, IdleCEM
from benchmarks.claims.tasks_and_workers import MEAN, TASKS_EACH, asleep, task, walker_lengths
from benchmarks.harness import Claim, Stolen, median
from benchmarks.timekeeping import Timekeeper
from erlbench.algorithms import registry
from erlbench.algorithms.cem import CEMSettings
from erlbench.envs.registry import problem
from erlbench.pool import PoolOptions
from erlbench.pool.cluster import connection
from erlbench.pool.cluster.agent import Agent
from erlbench.pool.cluster.ray_pool import RayPool
from erlbench.settings import resolve
from erlbench.work.tasks import Result

WORKERS = {16: 2, 64: 3, 128: 4}  # processes in all, and nodes
TIMED = (128, 512)  # workers that only keep the time
WIDE = 1440  # sleeping evaluations of a generation
OBJECTS = 200 * 2**20  # bytes of each node's object store
UNDISTURBED = 0.01  # share of the processors' time that the host of a virtual machine may take in a measurement,
ATTEMPTS = 5  # and how often it is made at most; the one with the smallest share counts
PATIENCE = 60.0  # seconds in which all nodes must be there


def measure() -> Iterator[Claim]:
    """The table of docs/cluster.md. Raylets take long to start, so there is one cluster, which grows."""
    lengths = walker_lengths()
    words = "sleeping episodes of Walker2d's lengths"
    with Raylets() as raylets:
        for workers, nodes in WORKERS.items():
            raylets.grow(nodes)
            if nodes == 2:
                yield _driver(raylets)
                yield from _bytes(raylets)
            claim = f"{workers} processes on {nodes} nodes, {words}: busy"
            yield _busy(claim, sleep(raylets, workers, lengths))
        for workers in TIMED:
            claim = f"{workers} timed workers on {nodes} nodes, the same"
            runs = sleep(raylets, workers, lengths, Timekeeper)
            found = undisturbed(runs)
            yield _busy(f"{claim}: busy", runs)
            yield Claim(f"{claim}: driver's processor time per task", 1e6 * found.cpu / found.tasks, 500.0, False, "µs")
            yield Claim(f"{claim}: tasks per call of Ray's", found.tasks / found.calls, 5.0)
        yield _generation(raylets, lengths, WIDE, WIDE // 10, Agent)
        yield _generation(raylets, lengths, 10 * WIDE, WIDE, Timekeeper)


class Raylets:
    """A cluster of raylets on this machine, which this process is connected to; the head runs no task."""

    def __enter__(self) -> Self:
        import ray
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": OBJECTS}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self.nodes = 0
        ray.init(address=self._cluster.address, log_to_driver=False, logging_level=logging.ERROR)
        return self

    def __exit__(self, *exception: object) -> None:
        import ray

        ray.shutdown()
        self._cluster.shutdown()

    def grow(self, nodes: int) -> None:
        """Have so many nodes, with as many cores in name as any measurement asks for."""
        for _ in range(self.nodes, nodes):
            self._cluster.add_node(num_cpus=WIDE, object_store_memory=OBJECTS)
        self.nodes = max(nodes, self.nodes)

    @contextmanager
    def pool(self, cores: int, agent: type[Agent] = Agent) -> Iterator[RayPool]:
        """A pool on all nodes, with `cores` processes on each."""
        end = time.monotonic() + PATIENCE
        while sum(member.cores >= cores for member in connection.members()) < self.nodes:  # the last pool's go free
            if time.monotonic() > end:
                raise RuntimeError(f"not all of {self.nodes} nodes have {cores} free cores")
            time.sleep(0.1)
        with RayPool(PoolOptions(processes=cores), agent) as pool:
            while pool.processes < self.nodes * cores:
                pool.next_result(1.0)
                pool.look()
            yield pool


def _driver(raylets: Raylets) -> Claim:
    """The driver's processor time per task through two nodes; `benchmarks.claims.driver` has that for processes."""
    with raylets.pool(1) as pool:

        def run() -> list[float]:
            settings = resolve(CEMSettings, ENVIRONMENT, {}, {"population": POPULATION, "hidden": (400, 300)})
            pool.reset()
            pool.store.clear()
            where, budget = problem(ENVIRONMENT), POPULATION * GENERATIONS
            return drive(pool, IdleCEM, settings, where, budget, POPULATION).generations.tolist()

        seconds = np.array([value for _ in range(RUNS) for value in run()])
    cost = 1e6 * median(seconds) / POPULATION
    return Claim("driver time per ES task through two nodes", cost, 500.0, False, "µs", samples={"cem": seconds})


@dataclass(frozen=True, kw_only=True)
class Slept:
    """What a driver did while workers slept."""

    busy: float  # share of the workers' time, from when each had a task until the last one was given out
    cpu: float  # seconds of the driver's processor
    tasks: int
    calls: int
    seconds: float
    stolen: float  # share of the machine's processor time that its host took meanwhile


def sleep(raylets: Raylets, workers: int, lengths: np.ndarray, agent: type[Agent] = Agent) -> list[Slept]:
    """Have `TASKS_EACH` tasks for each worker, of `MEAN` seconds, submitted at once."""
    durations = np.random.default_rng(0).choice(MEAN * lengths / lengths.mean(), workers * TASKS_EACH)
    return _slept(raylets, durations, workers, agent)


def undisturbed(runs: list[Slept]) -> Slept:
    """The run in which the host of this machine took least."""
    return min(runs, key=lambda run: run.stolen)


def _slept(raylets: Raylets, durations: np.ndarray, workers: int, agent: type[Agent]) -> list[Slept]:
    """Until a run is undisturbed."""
    with raylets.pool(workers // raylets.nodes, agent) as pool:
        _warm(pool, pool.processes)
        runs = [_sleep_once(pool, durations)]
        while undisturbed(runs).stolen > UNDISTURBED and len(runs) < ATTEMPTS:
            runs.append(_sleep_once(pool, durations))
    return runs


def _sleep_once(pool: RayPool, durations: np.ndarray) -> Slept:
    wanted = dict(enumerate(durations.tolist(), pool.processes))
    results: list[Result] = []
    stolen, calls, cpu, begun = Stolen(), pool.calls, time.process_time(), time.monotonic()
    pool.submit(task(number, "sleep", {"seconds": seconds}) for number, seconds in wanted.items())
    while (result := pool.next_result()) is not None:
        results.append(result)
    seconds, cpu, calls = time.monotonic() - begun, time.process_time() - cpu, pool.calls - calls
    busy = asleep(results, wanted, pool.processes, max(result.start for result in results))
    return Slept(busy=busy, cpu=cpu, tasks=len(results), calls=calls, seconds=seconds, stolen=stolen.share())


def _busy(claim: str, runs: list[Slept]) -> Claim:
    samples = {name: np.array([getattr(run, name) for run in runs]) for name in ("busy", "stolen")}
    return Claim(claim, undisturbed(runs).busy, 0.97, samples=samples)


def _generation(raylets: Raylets, lengths: np.ndarray, evaluations: int, workers: int, agent: type[Agent]) -> Claim:
    """A generation of sleeping evaluations of 1 s, against workers that begin the next one at once."""
    durations = np.random.default_rng(1).choice(10 * MEAN * lengths / lengths.mean(), evaluations)
    runs = _slept(raylets, durations, workers, agent)
    kind = "processes" if agent is Agent else "timed workers"
    claim = f"a generation of {evaluations:,} sleeping evaluations on {workers:,} {kind}, {raylets.nodes} nodes"
    samples = {name: np.array([getattr(run, name) for run in runs]) for name in ("seconds", "stolen")}
    ratio = undisturbed(runs).seconds / ideal(durations, workers)
    return Claim(f"{claim}: time over the ideal", ratio, 1.1, at_least=False, samples=samples)


def ideal(durations: np.ndarray, workers: int) -> float:
    """Seconds of `workers` that take the tasks in order, each the next one at once (list scheduling)."""
    free = [0.0] * workers
    for seconds in durations:
        heapq.heapreplace(free, free[0] + float(seconds))
    return max(free)


def _bytes(raylets: Raylets) -> Iterator[Claim]:
    """What goes to the nodes for each task of OpenAI-ES, and for each actor of AES-RL beside the critic."""
    with raylets.pool(1) as pool:
        es = _train(pool, "openai-es", 40_000, {"hidden": (64, 64), "population": 200})
        yield Claim(
            "bytes to 2 nodes per task of OpenAI-ES, 64-64 policy, generations of 200", es, 1024.0, False, "bytes"
        )
        aes = _train(pool, "aes-rl", 6000, {"start_timesteps": 1000}, kind="rl") / 2**20
        yield Claim("MiB to the nodes per actor of AES-RL, critic and replay included", aes, 10.0, False, "MiB")


def _train(pool: RayPool, algo: str, steps: int, settings: dict[str, Any], kind: str = "es") -> float:
    pool.reset()
    pool.store.clear()
    before, seen = pool.bytes_sent, Seen()
    drive(pool, registry.find(algo), settings_of(algo, settings), short_problem(), steps, None, seen)
    return (pool.bytes_sent - before) / max(1, sum(row.kind == kind for row in seen.tasks))


def _warm(pool: RayPool, count: int) -> None:
    """Have all processes start."""
    pool.submit(task(index, "sleep", {"seconds": MEAN}) for index in range(count))
    for _ in range(count):
        pool.next_result()
