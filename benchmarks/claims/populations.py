"""Whole generations of evolution strategies, end to end, against the loops that one would pick instead.

CEM against EvoTorch's CEM on its GymNE, with one process and with two; CMA-ES against a plain loop around pycma,
Gymnasium and an eager torch policy. Wall clock; same network, population and environment, episodes of 1000 steps.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import torch

from benchmarks.cells import Seen, drive
from benchmarks.harness import NO_PEER, Claim, median, take_turns, wall_seconds
from erlbench.algorithms import registry
from erlbench.envs.registry import problem
from erlbench.machine.resources import cores
from erlbench.pool import local_pool
from erlbench.settings import resolve

ENVIRONMENT, HIDDEN, POPULATION = "HalfCheetah-v5", (64, 64), 20
GENERATIONS, REPEATS, SIGMA = 4, 5, 0.03  # the first generation of a turn is not counted


def measure() -> Iterator[Claim]:
    """Three ratios of steps per second."""
    yield _cem(1)
    if cores() >= 2:
        yield _cem(2)
    else:
        yield Claim(_claim(2), math.nan, 2.0, note="not measured: it takes 2 cores")
    turns = take_turns(
        {"erlbench": Ours("cma-es", 1, sigma_init=SIGMA, covariance="diagonal"), "pycma": Pycma()}, REPEATS
    )
    claim = "CMA-ES HalfCheetah 64-64, 1 process: steps/s / a pycma and eager torch loop's"
    yield Claim(claim, median(turns["pycma"] / turns["erlbench"]), 2.0, samples=turns)


def _claim(processes: int) -> str:
    return f"CEM HalfCheetah 64-64, {processes} process{'es' if processes > 1 else ''}: steps/s / EvoTorch's"


def _cem(processes: int) -> Claim:
    try:
        import evotorch  # noqa: F401
    except ImportError:
        return Claim(_claim(processes), math.nan, 2.0, note=NO_PEER)
    peer = EvoTorch(processes)
    try:
        ours = Ours("cem", processes, initial_variance=SIGMA**2, epsilon_end=0.0, elites=POPULATION // 2)
        turns = take_turns({"erlbench": ours, "evotorch": peer}, REPEATS)
    finally:
        peer.close()
    return Claim(_claim(processes), median(turns["evotorch"] / turns["erlbench"]), 2.0, samples=turns)


class Ours:
    """A cell on a fresh pool; the generations after the first, by the run's own clock."""

    def __init__(self, algo: str, processes: int, **overrides: Any) -> None:
        self._class, self._processes = registry.find(algo), processes
        overrides = {"hidden": HIDDEN, "population": POPULATION, **overrides}
        self._settings = resolve(self._class.settings_type, ENVIRONMENT, {}, overrides)

    def __call__(self) -> float:
        """Seconds per environment step."""
        task = problem(ENVIRONMENT)
        total = GENERATIONS * POPULATION * task.env.max_episode_steps
        seen = Seen()
        with local_pool(self._processes) as pool:
            drive(pool, self._class, self._settings, task, total, POPULATION, seen)
        first, last = seen.generations[0], seen.generations[-1]
        return (last.train_time_s - first.train_time_s) / (last.timesteps - first.timesteps)


class EvoTorch:
    """EvoTorch's CEM; more than one process are Ray actors, started once."""

    def __init__(self, processes: int) -> None:
        from evotorch.algorithms import CEM
        from evotorch.neuroevolution import GymNE

        logging.getLogger("evotorch").setLevel(logging.WARNING)
        self._ray = processes > 1
        if self._ray:
            import ray

            ray.init(num_cpus=processes, include_dashboard=False, logging_level="error", log_to_driver=False)
        actors = {"num_actors": processes} if self._ray else {}
        self._problem = GymNE(ENVIRONMENT, _network(), observation_normalization=False, **actors)
        self._search = CEM(self._problem, popsize=POPULATION, parenthood_ratio=0.5, stdev_init=SIGMA)

    def __call__(self) -> float:
        """Seconds per environment step."""
        self._search.step()
        before = self._steps
        seconds = wall_seconds(lambda: self._search.run(GENERATIONS - 1))
        return seconds / (self._steps - before)

    @property
    def _steps(self) -> int:
        return int(self._search.status["total_interaction_count"])

    def close(self) -> None:
        """End the actors."""
        if self._ray:
            import ray

            self._problem.kill_actors()
            ray.shutdown()


class Pycma:
    """The loop that pycma's users write."""

    def __init__(self) -> None:
        self._env = gymnasium.make(ENVIRONMENT)
        self._network = _network()
        self._size = sum(parameter.numel() for parameter in self._network.parameters())

    def __call__(self) -> float:
        """Seconds per environment step."""
        import cma

        options = {"popsize": POPULATION, "CMA_diagonal": True, "seed": 1, "verbose": -9}
        strategy = cma.CMAEvolutionStrategy(np.zeros(self._size), SIGMA, options)
        self._generation(strategy)
        steps = 0

        def run() -> None:
            nonlocal steps
            steps = sum(self._generation(strategy) for _ in range(GENERATIONS - 1))

        return wall_seconds(run) / steps

    def _generation(self, strategy: Any) -> int:
        solutions, losses, steps = strategy.ask(), [], 0
        for number, solution in enumerate(solutions):
            vector = torch.as_tensor(solution, dtype=torch.float32)
            torch.nn.utils.vector_to_parameters(vector, self._network.parameters())
            observation, _ = self._env.reset(seed=number)
            total, over = 0.0, False
            while not over:
                with torch.no_grad():
                    action = self._network(torch.as_tensor(observation, dtype=torch.float32)).numpy()
                observation, reward, terminated, truncated, _ = self._env.step(action)
                total, steps, over = total + float(reward), steps + 1, terminated or truncated
            losses.append(-total)
        strategy.tell(solutions, losses)
        return steps


def _network() -> torch.nn.Sequential:
    task = problem(ENVIRONMENT)
    layers: list[torch.nn.Module] = []
    sizes = (task.observation_size, *HIDDEN, task.action_size)
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers)
