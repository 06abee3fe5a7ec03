"""Gymnasium's planar robots with less Python in a step: the same observations, rewards and ends, bit for bit.

A step of these four takes Gymnasium 6 to 20 microseconds beside 30 to 100 of physics. What is left out is what a
rollout never reads: the info, the contact forces, the check of the action's shape. Tests compare every bit with
Gymnasium's own classes; the other robots have so much physics that there is too little to gain.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import mujoco
import numpy as np
from gymnasium.envs.mujoco import MujocoEnv
from gymnasium.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv
from gymnasium.envs.mujoco.hopper_v5 import HopperEnv
from gymnasium.envs.mujoco.swimmer_v5 import SwimmerEnv
from gymnasium.envs.mujoco.walker2d_v5 import Walker2dEnv

Step = tuple[np.ndarray, np.float64, bool, bool, dict[str, Any]]


class _Runner(MujocoEnv):
    """Rewarded for its speed along x, less the cost of control."""

    observation_structure: dict[str, int]
    _forward_reward_weight: float
    _ctrl_cost_weight: float

    @cached_property
    def dt(self) -> float:
        """Seconds per step."""
        return self.model.opt.timestep * self.frame_skip

    @cached_property
    def _left_out(self) -> int:
        """How many of the first positions are not observed."""
        return int(self.observation_structure["skipped_qpos"])

    def _run(self, action: np.ndarray) -> tuple[np.float64, np.float32]:
        """Simulate one step; the reward for speed, and the cost of control."""
        data = self.data
        x = data.qpos[0]
        data.ctrl[:] = action
        mujoco.mj_step(self.model, data, self.frame_skip)
        velocity = (data.qpos[0] - x) / self.dt
        # np.add.reduce is what np.sum comes to in the end, and keeps the action's float32.
        return self._forward_reward_weight * velocity, self._ctrl_cost_weight * np.add.reduce(np.square(action))

    def _get_obs(self) -> np.ndarray:
        return np.concatenate((self.data.qpos[self._left_out :], self.data.qvel))

    def step(self, action: np.ndarray) -> Step:
        forward, cost = self._run(action)
        return self._get_obs(), forward - cost, False, False, {}


class _Walker(_Runner):
    """Also rewarded for being healthy; the velocities that it observes are clipped."""

    _healthy_reward: float
    _healthy_z_range: tuple[float, float]
    _healthy_angle_range: tuple[float, float]
    _terminate_when_unhealthy: bool

    @property
    def is_healthy(self) -> bool:
        """Whether the torso is upright."""
        z, angle = self.data.qpos[1:3].tolist()
        (low, high), (least, most) = self._healthy_z_range, self._healthy_angle_range
        return low < z < high and least < angle < most

    def _get_obs(self) -> np.ndarray:
        velocity = np.minimum(np.maximum(self.data.qvel, -10), 10)  # np.clip without its overhead
        return np.concatenate((self.data.qpos[self._left_out :], velocity))

    def step(self, action: np.ndarray) -> Step:
        forward, cost = self._run(action)
        healthy = self.is_healthy
        reward = forward + healthy * self._healthy_reward - cost
        return self._get_obs(), reward, not healthy and self._terminate_when_unhealthy, False, {}


class FastHalfCheetah(_Runner, HalfCheetahEnv):
    """HalfCheetah-v5."""


class FastSwimmer(_Runner, SwimmerEnv):
    """Swimmer-v5."""


class FastWalker2d(_Walker, Walker2dEnv):
    """Walker2d-v5."""


class FastHopper(_Walker, HopperEnv):
    """Hopper-v5."""

    _healthy_state_range: tuple[float, float]

    @property
    def is_healthy(self) -> bool:
        """Whether the torso is upright and no number of the state is out of bounds."""
        state = np.concatenate((self.data.qpos[2:], self.data.qvel))
        low, high = self._healthy_state_range
        return super().is_healthy and bool(low < np.minimum.reduce(state) and np.maximum.reduce(state) < high)


FAST: Mapping[type, type] = MappingProxyType(
    {HalfCheetahEnv: FastHalfCheetah, SwimmerEnv: FastSwimmer, Walker2dEnv: FastWalker2d, HopperEnv: FastHopper}
)


def hasten(env: Any) -> None:
    """Give `env` its fast class if it is exactly Gymnasium's, whatever its arguments, and nobody looks on."""
    fast = FAST.get(type(env))
    if fast is not None and env.render_mode is None:
        env.__class__ = fast
