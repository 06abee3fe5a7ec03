"""Functions to be minimised as environments of one step: the action is the point, the reward minus its value.

They observe nothing, so a policy is its last layer's bias, the point itself: `--env function:rastrigin`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from erlbench.envs.catalogue import LISTED, registered
from erlbench.errors import UsageError
from erlbench.settings import FUNCTION

TOY = np.array([0.5, 0.1, -0.3])  # the solution of the OpenAI-ES blog's code sample


def _sphere(x: np.ndarray) -> float:
    return float(x @ x)


def _ellipsoid(x: np.ndarray) -> float:
    return float((10.0 ** (6 * np.arange(len(x)) / max(1, len(x) - 1))) @ x**2)


def _cigar(x: np.ndarray) -> float:
    return float(x[0] ** 2 + 1e6 * (x[1:] @ x[1:]))


def _rosenbrock(x: np.ndarray) -> float:
    return float(100 * np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.sum((1 - x[:-1]) ** 2))


def _rastrigin(x: np.ndarray) -> float:
    return float(10 * len(x) + np.sum(x**2 - 10 * np.cos(2 * np.pi * x)))


def _ackley(x: np.ndarray) -> float:
    radius, waves = np.sqrt(np.mean(x**2)), np.mean(np.cos(2 * np.pi * x))
    return float(-20 * np.exp(-0.2 * radius) - np.exp(waves) + 20 + np.e)


def _griewank(x: np.ndarray) -> float:
    return float(1 + np.sum(x**2) / 4000 - np.prod(np.cos(x / np.sqrt(np.arange(1, len(x) + 1)))))


def _quadratic(x: np.ndarray) -> float:
    """The blog's, whose solution repeats when there are more than three dimensions."""
    return _sphere(x - np.resize(TOY, len(x)))


# Name: the function, half the width of the domain; the catalogue has the dimensions
FUNCTIONS: Mapping[str, tuple[Callable[[np.ndarray], float], float]] = {
    "sphere": (_sphere, 5.0),
    "ellipsoid": (_ellipsoid, 5.0),
    "cigar": (_cigar, 5.0),
    "rosenbrock": (_rosenbrock, 2.048),
    "rastrigin": (_rastrigin, 5.12),
    "ackley": (_ackley, 32.768),
    "griewank": (_griewank, 600.0),
    "quadratic": (_quadratic, 2.0),
}


def share_of_domain(share: float) -> dict[str, float]:
    """By environment: a share of half the width of the function's domain, for settings in units of the point."""
    return {FUNCTION + name: float(f"{share * width:.4g}") for name, (_, width) in FUNCTIONS.items()}


class FunctionEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One step, which terminates: the reward is -f(action). Nothing is observed: `(0,)`.

    The action's bounds are the domain in which searches start; points outside are evaluated as well.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  Gymnasium's own form

    def __init__(self, function: str, dimension: int = 0) -> None:
        """`dimension` 0 is the function's default."""
        self._function, width = FUNCTIONS[function]
        if dimension < 0 or (dimension == 1 and function == "rosenbrock"):
            raise UsageError(f"dimension of {function} must be positive (rosenbrock: at least 2), not {dimension}")
        self.observation_space = Box(-np.inf, np.inf, (0,), np.float32)
        self.action_space = Box(-width, width, (dimension or LISTED[FUNCTION + function].action,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(0, np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        value = self._function(np.asarray(action, np.float64))
        return np.zeros(0, np.float32), -value, True, False, {}


def register() -> None:
    """Register all of them in Gymnasium, as `function/rastrigin-v0`."""
    for name in FUNCTIONS:
        gymnasium.register(registered(FUNCTION + name), partial(FunctionEnv, function=name), max_episode_steps=1)
