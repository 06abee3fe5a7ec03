"""Gymnasium's locomotion robots with less Python in a step: the same observations, rewards and ends, bit for bit.

What is left out is what a rollout never reads: the info, the check of the action's shape, and the contact forces
where neither observation nor reward holds them. Tests compare every bit with Gymnasium's own classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import mujoco
import numpy as np
from gymnasium.envs.mujoco import MujocoEnv
from gymnasium.envs.mujoco.ant_v5 import AntEnv
from gymnasium.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv
from gymnasium.envs.mujoco.hopper_v5 import HopperEnv
from gymnasium.envs.mujoco.humanoid_v5 import HumanoidEnv
from gymnasium.envs.mujoco.swimmer_v5 import SwimmerEnv
from gymnasium.envs.mujoco.walker2d_v5 import Walker2dEnv

Step = tuple[np.ndarray, Any, bool, bool, dict[str, Any]]  # the reward: a float, or numpy's


class _Fast(MujocoEnv):
    """What all have in common."""

    observation_structure: dict[str, int]
    _forward_reward_weight: float
    _ctrl_cost_weight: float

    @cached_property
    def dt(self) -> float:
        """Seconds per step."""
        return self.model.opt.timestep * self.frame_skip

    @cached_property
    def _state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, velocities, and controls: views that stay, as `data` does."""
        return self.data.qpos, self.data.qvel, self.data.ctrl

    @cached_property
    def _observed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The positions that are observed, and a vector for the observation with its two parts."""
        positions = self.data.qpos[self._left_out :]
        observation = np.empty(len(positions) + len(self.data.qvel))
        return positions, observation, observation[: len(positions)], observation[len(positions) :]

    @cached_property
    def _left_out(self) -> int:
        """How many of the first positions are not observed."""
        return int(self.observation_structure["skipped_qpos"])

    def _control_cost(self, action: np.ndarray) -> float:
        """The cost of control, of the action's float32; `np.add.reduce` is what `np.sum` comes to in the end."""
        return float(self._ctrl_cost_weight * np.add.reduce(np.square(action)))

    def _run(self, action: np.ndarray) -> float:
        """Simulate one step; the reward for speed along x. Numbers of Python take less time, and are equal."""
        positions, _, controls = self._state
        x = positions.item(0)
        controls[:] = action
        mujoco.mj_step(self.model, self.data, self.frame_skip)
        return self._forward_reward_weight * ((positions.item(0) - x) / self.dt)


class _Runner(_Fast):
    """Rewarded for its speed along x, less the cost of control."""

    def _get_obs(self) -> np.ndarray:
        positions, observation, first, second = self._observed
        first[:] = positions
        second[:] = self._state[1]
        return observation.copy()  # takes half the time of np.concatenate

    def step(self, action: np.ndarray) -> Step:
        forward = self._run(action)
        return self._get_obs(), forward - self._control_cost(action), False, False, {}


class _Walker(_Fast):
    """Rewarded for its speed and its health, less the cost of control; the velocities that it observes are clipped."""

    _healthy_reward: float
    _healthy_z_range: tuple[float, float]
    _healthy_angle_range: tuple[float, float]
    _terminate_when_unhealthy: bool

    @property
    def is_healthy(self) -> bool:
        """Whether the torso is upright."""
        positions = self._state[0]
        z, angle = positions.item(1), positions.item(2)
        (low, high), (least, most) = self._healthy_z_range, self._healthy_angle_range
        return low < z < high and least < angle < most

    def _get_obs(self) -> np.ndarray:
        positions, observation, first, second = self._observed
        first[:] = positions
        np.minimum(np.maximum(self._state[1], -10), 10, out=second)  # np.clip without its overhead
        return observation.copy()

    def step(self, action: np.ndarray) -> Step:
        forward = self._run(action)
        healthy = self.is_healthy
        reward = forward + healthy * self._healthy_reward - self._control_cost(action)
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


class FastAnt(_Fast, AntEnv):
    """Ant-v5."""

    @cached_property
    def _body(self) -> int:
        return int(self.model.body(self._main_body).id)

    @cached_property
    def _feels(self) -> bool:
        """Whether the contact forces matter: in the preset `paper` they do not."""
        return bool(self._contact_cost_weight or self._include_cfrc_ext_in_observation)

    def _forces(self) -> np.ndarray:
        """The clipped contact forces (bodies, 6)."""
        mujoco.mj_rnePostConstraint(self.model, self.data)
        lowest, highest = self._contact_force_range
        return np.minimum(np.maximum(self.data.cfrc_ext, lowest), highest)

    def step(self, action: np.ndarray) -> Step:
        data, body = self.data, self._body
        x = data.xpos[body, 0]
        data.ctrl[:] = action
        mujoco.mj_step(self.model, data, self.frame_skip)
        velocity = (data.xpos[body, 0] - x) / self.dt
        state = np.concatenate((data.qpos, data.qvel))
        low, high = self._healthy_z_range
        healthy = low <= state[2] <= high and np.isfinite(state).all()
        control = self._ctrl_cost_weight * np.add.reduce(np.square(action))
        contact, forces = np.float64(0.0), None
        if self._feels:
            forces = self._forces()
            contact = self._contact_cost_weight * np.add.reduce(np.square(forces), axis=None)
        reward = velocity * self._forward_reward_weight + healthy * self._healthy_reward - (control + contact)
        observation = state[self._left_out :]
        if forces is not None and self._include_cfrc_ext_in_observation:
            observation = np.concatenate((observation, forces[1:].ravel()))
        return observation, reward, not healthy and self._terminate_when_unhealthy, False, {}


class FastHumanoid(_Fast, HumanoidEnv):
    """Humanoid-v5."""

    @cached_property
    def _mass(self) -> np.float64:
        return self.model.body_mass.sum()

    @cached_property
    def _feels(self) -> bool:
        """Whether the contact forces matter: in the preset `paper` they do not."""
        return bool(self._contact_cost_weight or self._include_cfrc_ext_in_observation)

    def _centre(self) -> np.float64:
        """Where the centre of mass is along x."""
        return np.einsum("b,bj->j", self.model.body_mass, self.data.xipos)[0] / self._mass

    def step(self, action: np.ndarray) -> Step:
        data = self.data
        x = self._centre()
        data.ctrl[:] = action
        mujoco.mj_step(self.model, data, self.frame_skip)
        if self._feels:
            mujoco.mj_rnePostConstraint(self.model, data)
        velocity = (self._centre() - x) / self.dt
        low, high = self._healthy_z_range
        healthy = low < data.qpos[2] < high
        control = self._ctrl_cost_weight * np.add.reduce(np.square(data.ctrl))
        contact = np.float64(0.0)
        if self._contact_cost_weight:
            contact = self._contact_cost_weight * np.add.reduce(np.square(data.cfrc_ext), axis=None)
        lowest, highest = self._contact_cost_range
        costs = control + min(max(contact, lowest), highest)
        reward = self._forward_reward_weight * velocity + healthy * self._healthy_reward - costs
        observation = self._get_obs()  # type: ignore[no-untyped-call]
        return observation, reward, not healthy and self._terminate_when_unhealthy, False, {}


FAST: Mapping[type, type] = MappingProxyType(
    {
        AntEnv: FastAnt,
        HalfCheetahEnv: FastHalfCheetah,
        HopperEnv: FastHopper,
        HumanoidEnv: FastHumanoid,
        SwimmerEnv: FastSwimmer,
        Walker2dEnv: FastWalker2d,
    }
)


def hasten(env: Any) -> None:
    """Give `env` its fast class if it is exactly Gymnasium's, whatever its arguments, and nobody looks on."""
    fast = FAST.get(type(env))
    if fast is not None and env.render_mode is None:
        env.__class__ = fast
