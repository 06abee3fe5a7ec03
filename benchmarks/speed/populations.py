"""Whole generations of CEM, end to end, against EvoTorch's CEM on its GymNE.

Wall clock; same network, population and environment, episodes of 1000 steps.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator

import torch

from benchmarks.harness import ENVIRONMENT, NO_PEER, Claim, median, take_turns, train, wall_seconds
from erlbench.envs.registry import problem

HIDDEN, POPULATION = (64, 64), 20
GENERATIONS, REPEATS, SIGMA = 4, 5, 0.03  # the first generation of a turn is not counted


def measure() -> Iterator[Claim]:
    """A ratio of steps per second, each of one process."""
    claim = "CEM HalfCheetah 64-64, 1 process: steps/s / EvoTorch's"
    try:
        peer = EvoTorch()
    except ImportError:
        yield Claim(claim, math.nan, 2.0, note=NO_PEER)
        return
    turns = take_turns({"erlbench": train_cem, "evotorch": peer}, REPEATS)
    yield Claim(claim, median(turns["evotorch"] / turns["erlbench"]), 2.0, samples=turns)


def train_cem() -> float:
    """Seconds per environment step of a run on a fresh pool: the generations after the first, by the run's clock."""
    settings = {"hidden": HIDDEN, "population": POPULATION, "elites": POPULATION // 2, "epsilon_end": 0.0}
    steps = GENERATIONS * POPULATION * problem(ENVIRONMENT).env.max_episode_steps
    rows = train("cem", steps, settings | {"initial_variance": SIGMA**2})[["train_time_s", "timesteps"]]
    seconds, counted = rows.iloc[-1] - rows.iloc[0]
    return float(seconds / counted)


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


def _network() -> torch.nn.Sequential:
    task = problem(ENVIRONMENT)
    layers: list[torch.nn.Module] = []
    sizes = (task.observation_size, *HIDDEN, task.action_size)
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers)
