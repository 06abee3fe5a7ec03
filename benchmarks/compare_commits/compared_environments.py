"""A user's environments for the compared runs: a Dict observation, and one that seeds do not decide."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import register
from gymnasium.spaces import Box, Dict


class DictObservation(gymnasium.Env):
    """A point that is pushed to a goal; the observation is a Dict."""

    observation_space = Dict({"point": Box(-10, 10, (2,)), "goal": Box(-1, 1, (2,))})
    action_space = Box(-1.0, 1.0, (2,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.point, self.goal = np.zeros(2, np.float32), self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return self._observe(), {}

    def step(self, action: np.ndarray) -> Any:
        self.point = (self.point + 0.1 * np.clip(action, -1, 1)).astype(np.float32)
        return self._observe(), -float(np.square(self.point - self.goal).sum()), False, False, {}

    def _observe(self) -> Any:
        return {"point": self.point, "goal": self.goal}


class Impure(DictObservation):
    """The goal moves on with every episode of the process."""

    episodes = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        Impure.episodes += 1
        self.goal = self.goal * np.float32(np.sin(Impure.episodes))
        return self._observe(), {}


for cls in (DictObservation, Impure):
    register(f"{cls.__name__}-v0", f"compared_environments:{cls.__name__}", max_episode_steps=20)
