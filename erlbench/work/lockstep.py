"""Several episodes of one policy at once, a step of all at a time: the returns of one after another, bit for bit.

numpy's fixed costs are then paid once for all of them. An environment can do it if it has `reset_all` and `step_all`,
and if its episodes end with the time limit only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np

from erlbench.errors import TaskError, text_of
from erlbench.policy import NumpyPolicy, PolicySpec


@runtime_checkable
class Lockstep(Protocol):
    """An environment whose episodes go on together and never end by themselves."""

    def reset_all(self, seeds: Sequence[int]) -> np.ndarray:
        """Begin an episode from each seed; their first observations `(episodes, observation)`."""

    def step_all(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Observations `(episodes, observation)` and rewards `(episodes,)` of actions `(episodes, action)`."""


def can_play_together(env: Any, spec: PolicySpec, episodes: int) -> TypeGuard[Lockstep]:
    """Whether `play_together` plays what `play` would; a wrapped environment has no such methods."""
    return episodes > 1 and isinstance(env, Lockstep) and not spec.stochastic and spec.actions != "discrete"


def play_together(
    env: Lockstep, spec: PolicySpec, parameters: np.ndarray, limit: int, seeds: Sequence[int]
) -> list[float]:
    """The returns of episodes of `limit` steps, one per seed, in which the policy acts without noise."""
    policy, totals = NumpyPolicy(spec, parameters, len(seeds)), np.zeros(len(seeds))
    shape = (len(seeds), spec.sizes[0])
    with _of_environment(len(seeds)):
        observations = env.reset_all(seeds)
    for _ in range(limit):
        if np.shape(observations) != shape:
            there = np.shape(observations)
            raise TaskError(f"the environment's observations together have the shape {there}, not {shape}")
        actions = policy.act(observations)
        with _of_environment(len(seeds)):
            observations, rewards = env.step_all(actions)
        totals += rewards
    found: list[float] = totals.tolist()
    return found


@contextmanager
def _of_environment(episodes: int) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        what = f"the environment raised {type(error).__name__} in {episodes} episodes together"
        raise TaskError(f"{what}: {text_of(error)}") from error
