"""Whole generations of evolution strategies, end to end, against the loops that one would pick instead.

CEM against EvoTorch's CEM on its GymNE; CMA-ES against a plain loop around pycma,
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

from benchmarks.cells import ENVIRONMENT, train
from benchmarks.harness import NO_PEER, Claim, median, take_turns, wall_seconds
from erlbench.algorithms import registry
from erlbench.envs.registry import problem
from erlbench.settings import resolve

HIDDEN, POPULATION = (64, 64), 20
GENERATIONS, REPEATS, SIGMA = 4, 5, 0.03  # the first generation of a turn is not counted


def measure() -> Iterator[Claim]:
    """Two ratios of steps per second, each of one process."""
    yield _cem()
    ours = Ours("cma-es", sigma_init=SIGMA, covariance="diagonal")
    turns = take_turns({"erlbench": ours, "pycma": Pycma()}, REPEATS)
    claim = "CMA-ES HalfCheetah 64-64, 1 process: steps/s / a pycma and eager torch loop's"
    yield Claim(claim, median(turns["pycma"] / turns["erlbench"]), 2.0, samples=turns)


def _cem() -> Claim:
    claim = "CEM HalfCheetah 64-64, 1 process: steps/s / EvoTorch's"
    try:
        peer = EvoTorch()
    except ImportError:
        return Claim(claim, math.nan, 2.0, note=NO_PEER)
    ours = Ours("cem", initial_variance=SIGMA**2, epsilon_end=0.0, elites=POPULATION // 2)
    turns = take_turns({"erlbench": ours, "evotorch": peer}, REPEATS)
    return Claim(claim, median(turns["evotorch"] / turns["erlbench"]), 2.0, samples=turns)


class Ours:
    """A cell on a fresh pool; the generations after the first, by the run's own clock."""

    def __init__(self, algo: str, **overrides: Any) -> None:
        self._algo, self._class = algo, registry.find(algo)
        overrides = {"hidden": HIDDEN, "population": POPULATION, **overrides}
        self._settings = resolve(self._class.settings_type, ENVIRONMENT, {}, overrides)

    def __call__(self) -> float:
        """Seconds per environment step."""
        total = GENERATIONS * POPULATION * problem(ENVIRONMENT).env.max_episode_steps
        _, (first, *_, last) = train(self._algo, self._class, self._settings, 1, total, POPULATION)
        return (last.train_time_s - first.train_time_s) / (last.timesteps - first.timesteps)


class EvoTorch:
    """EvoTorch's CEM; raises `ImportError` where it is not installed."""

    def __init__(self) -> None:
        from evotorch.algorithms import CEM
        from evotorch.neuroevolution import GymNE

        logging.getLogger("evotorch").setLevel(logging.WARNING)
        problem = GymNE(ENVIRONMENT, _network(), observation_normalization=False)
        self._search = CEM(problem, popsize=POPULATION, parenthood_ratio=0.5, stdev_init=SIGMA)

    def __call__(self) -> float:
        """Seconds per environment step."""
        self._search.step()
        before = self._steps
        seconds = wall_seconds(lambda: self._search.run(GENERATIONS - 1))
        return seconds / (self._steps - before)

    @property
    def _steps(self) -> int:
        return int(self._search.status["total_interaction_count"])


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
