"""An environment that only takes time, for measuring a pool with more workers than cores."""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from erlbench.errors import UsageError

LENGTHS = ("constant", "uniform", "geometric")


class Latency(gymnasium.Env[np.ndarray, np.ndarray]):
    """Episodes of a drawn length whose steps last `seconds_per_step` each, almost all of it asleep.

    The length is `mean_length` ("constant"), uniform on 1 .. 2 `mean_length` - 1, or geometric with that mean; the end
    is a termination. The clock runs from the reset, so what the policy computes between the steps is part of the
    time. Each sleep ends a little late: it is done when `sleep_at_once` seconds have come together and at the end
    of the episode, so an episode lasts length x seconds_per_step, late by one sleep at most. What is still
    due when a time limit truncates an episode is slept off at the next reset.

    The reward is 1 less the mean square of the action, so there is something to learn: actions of zero.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  Gymnasium's own form

    def __init__(
        self,
        lengths: str = "constant",
        mean_length: int = 1000,
        seconds_per_step: float = 1e-4,
        sleep_at_once: float = 0.02,
        observation_size: int = 17,
        action_size: int = 6,
    ) -> None:
        if lengths not in LENGTHS:
            raise UsageError(f"lengths must be one of {', '.join(LENGTHS)}, not '{lengths}'")
        if min(mean_length, observation_size, action_size) < 1 or min(seconds_per_step, sleep_at_once) < 0:
            raise UsageError("mean_length and sizes must be at least 1, and seconds not negative")
        self.lengths = lengths
        self.mean_length = mean_length
        self.seconds_per_step = seconds_per_step
        self.sleep_at_once = sleep_at_once
        self.observation_space = Box(-np.inf, np.inf, (observation_size,), np.float32)
        self.action_space = Box(-1.0, 1.0, (action_size,), np.float32)
        self._due = 0.0  # on the clock of time.perf_counter
        self._steps = self._length = 0
        self._observation = np.zeros(observation_size, np.float32)

    def _draw(self) -> int:
        if self.lengths == "uniform":
            return int(self.np_random.integers(1, 2 * self.mean_length))
        return (
            int(self.np_random.geometric(1.0 / self.mean_length)) if self.lengths == "geometric" else self.mean_length
        )

    def _sleep(self, at_least: float = 0.0) -> None:
        ahead = self._due - time.perf_counter()
        if ahead > at_least:
            time.sleep(ahead)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._sleep()
        self._steps, self._length = 0, self._draw()
        self._observation = self.np_random.standard_normal(self._observation.size, dtype=np.float32)
        self._due = time.perf_counter()
        return self._observation.copy(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        self._due += self.seconds_per_step
        over = self._steps >= self._length
        self._sleep(0.0 if over else self.sleep_at_once)
        return self._observation.copy(), 1.0 - float(np.mean(np.square(action))), over, False, {}
