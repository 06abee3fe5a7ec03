"""Gymnasium's Pendulum-v1 without sight of its speed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gymnasium.envs.classic_control.pendulum import PendulumEnv, angle_normalize


class PartiallyObservablePendulum(PendulumEnv):
    """Pendulum-v1 whose observation (cosine, sine, angular velocity) always has 0 in its last place.

    Only a time limit ends its episodes, so several can go on together (see `erlbench.work.rollout`).
    """

    def _get_obs(self) -> np.ndarray:
        observation: np.ndarray = super()._get_obs()  # type: ignore[no-untyped-call]
        observation[2] = 0.0
        return observation

    def reset_all(self, seeds: Sequence[int]) -> np.ndarray:
        """Begin an episode from each seed; their first observations `(episodes, 3)` float32."""
        states = []
        for seed in seeds:
            self.reset(seed=seed)
            states.append(self.state)
        self._angles, self._speeds = np.array(states).T.copy()
        return self._observations()

    def step_all(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The observations `(episodes, 3)` float32 and rewards `(episodes,)` of torques `(episodes, 1)` float32.

        Each is that of `step` to the last bit: the operations are Gymnasium's, in its order.
        """
        torques = np.minimum(np.maximum(actions[:, 0], -self.max_torque), self.max_torque)
        squares = np.array([torque**2 for torque in torques])  # of scalars: arrays square with another last bit
        angles = angle_normalize(self._angles)  # type: ignore[no-untyped-call]
        costs = np.float_power(angles, 2) + 0.1 * np.float_power(self._speeds, 2)
        gravity, inverse = 3 * self.g / (2 * self.l), 3.0 / (self.m * self.l**2)
        speeds = self._speeds + (gravity * self._sines + inverse * torques) * self.dt
        self._speeds = np.minimum(np.maximum(speeds, -self.max_speed), self.max_speed)
        self._angles = self._angles + self._speeds * self.dt
        return self._observations(), -(costs + 0.001 * squares)

    def _observations(self) -> np.ndarray:
        self._sines = np.sin(self._angles)
        seen = np.zeros((len(self._angles), 3), np.float32)
        seen[:, 0], seen[:, 1] = np.cos(self._angles), self._sines
        return seen
