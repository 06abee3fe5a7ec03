"""Gymnasium's Pendulum-v1 without sight of its speed."""

from __future__ import annotations

import numpy as np
from gymnasium.envs.classic_control.pendulum import PendulumEnv


class PartiallyObservablePendulum(PendulumEnv):
    """Pendulum-v1 whose observation (cosine, sine, angular velocity) always has 0 in its last place."""

    def _get_obs(self) -> np.ndarray:
        observation: np.ndarray = super()._get_obs()  # type: ignore[no-untyped-call]
        observation[2] = 0.0
        return observation
