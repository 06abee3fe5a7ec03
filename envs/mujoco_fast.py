"""Steps of Gymnasium's locomotion robots with less Python: the same observations, rewards and ends, bit for bit.

A step is a function with all it needs bound once: settings, and views of the simulation's arrays, which stay. What is
left out is what a rollout never reads: the info, the check of the action's shape, and the contact forces where neither
observation nor reward holds them. Tests compare every bit with Gymnasium's classes.

`array[...] = values` and numpy's functions with arrays as bounds take half the time of `array[:]` and of bounds that
are Python's numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import mujoco
import numpy as np
from gymnasium.envs.mujoco.ant_v5 import AntEnv
from gymnasium.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv
from gymnasium.envs.mujoco.hopper_v5 import HopperEnv
from gymnasium.envs.mujoco.humanoid_v5 import HumanoidEnv
from gymnasium.envs.mujoco.swimmer_v5 import SwimmerEnv
from gymnasium.envs.mujoco.walker2d_v5 import Walker2dEnv

Outcome = tuple[np.ndarray, Any, bool, bool, dict[str, Any]]  # the reward: a float, or numpy's
Step = Callable[[np.ndarray], Outcome]

NOTHING = np.float64(0.0)
square, total = np.square, np.add.reduce  # the latter is what `np.sum` comes to in the end


def hasten(env: Any) -> None:
    """Give `env` its fast step if its class is exactly Gymnasium's, whatever its arguments, and nothing is rendered."""
    make = STEPS.get(type(env))
    if make is not None and env.render_mode is None:
        env.step = make(env)


def _runner(env: Any) -> Step:
    """HalfCheetah and Swimmer: rewarded for the speed along x, less the cost of control."""
    run, control_cost = _moves(env), _control_cost(env)
    positions, velocities = _observed_positions(env), env.data.qvel
    observation, first, second = _observation(positions, velocities)

    def step(action: np.ndarray) -> Outcome:
        forward = run(action)
        first[...] = positions
        second[...] = velocities
        return observation.copy(), forward - control_cost(action), False, False, {}  # a copy: half of np.concatenate

    return step


def _walker(env: Any, is_sound: Callable[[], bool] | None = None) -> Step:
    """Walker2d: rewarded for speed and health, less the cost of control; the velocities that it observes are clipped.

    It is healthy while its torso is upright and `is_sound`.
    """
    run, control_cost = _moves(env), _control_cost(env)
    positions, velocities, position = _observed_positions(env), env.data.qvel, env.data.qpos.item
    observation, first, second = _observation(positions, velocities)
    slowest, fastest = np.full_like(velocities, -10), np.full_like(velocities, 10)
    (low, high), (least, most) = env._healthy_z_range, env._healthy_angle_range
    healthy_reward, terminates = env._healthy_reward, env._terminate_when_unhealthy

    def step(action: np.ndarray) -> Outcome:
        forward = run(action)
        healthy = low < position(1) < high and least < position(2) < most and (is_sound is None or is_sound())
        reward = forward + healthy * healthy_reward - control_cost(action)
        first[...] = positions
        np.maximum(velocities, slowest, out=second)
        np.minimum(second, fastest, out=second)
        return observation.copy(), reward, not healthy and terminates, False, {}

    return step


def _hopper(env: Any) -> Step:
    """Hopper: a walker all of whose state must be within bounds."""
    positions, velocities = env.data.qpos[2:], env.data.qvel
    low, high = env._healthy_state_range

    def is_sound() -> bool:
        state = positions.tolist() + velocities.tolist()
        return bool(low < min(state) and max(state) < high and not math.isnan(sum(state)))  # min and max overlook NaN

    return _walker(env, is_sound)


def _ant(env: Any) -> Step:
    """Ant: rewarded for the speed of its torso and for health, less the costs of control and of contact."""
    model, data, dt = env.model, env.data, env.dt
    positions, velocities, controls = data.qpos, data.qvel, data.ctrl
    x = partial(data.xpos.item, model.body(env._main_body).id, 0)
    simulate, forces = partial(mujoco.mj_step, model, data, env.frame_skip), _contact_forces(env)
    left_out, (low, high) = env.observation_structure["skipped_qpos"], env._healthy_z_range
    forward_weight, healthy_reward = env._forward_reward_weight, env._healthy_reward
    control_weight, contact_weight = env._ctrl_cost_weight, env._contact_cost_weight
    terminates, observes_forces = env._terminate_when_unhealthy, env._include_cfrc_ext_in_observation

    def step(action: np.ndarray) -> Outcome:
        before = x()
        controls[...] = action
        simulate()
        velocity = (x() - before) / dt
        state = np.concatenate((positions, velocities))
        healthy = low <= state.item(2) <= high and math.isfinite(sum(state.tolist()))  # MuJoCo bounds all by 1e10
        observation, contact = state[left_out:], NOTHING
        if forces is not None:
            felt = forces()
            contact = contact_weight * total(square(felt), axis=None)
            if observes_forces:
                observation = np.concatenate((observation, felt[1:].ravel()))
        costs = control_weight * total(square(action)) + contact
        reward = velocity * forward_weight + healthy * healthy_reward - costs
        return observation, reward, not healthy and terminates, False, {}

    return step


def _humanoid(env: Any) -> Step:
    """Humanoid: rewarded for the speed of its centre of mass and for health, less the costs of control and contact."""
    model, data, dt = env.model, env.data, env.dt
    controls, centres, masses, mass = data.ctrl, data.xipos, model.body_mass, model.body_mass.sum()
    simulate, feels = partial(mujoco.mj_step, model, data, env.frame_skip), _feels(env)
    height, observed, forces = partial(data.qpos.item, 2), _observed_by_humanoid(env), data.cfrc_ext
    low, high = env._healthy_z_range
    forward_weight, healthy_reward = env._forward_reward_weight, env._healthy_reward
    control_weight, contact_weight = env._ctrl_cost_weight, env._contact_cost_weight
    lowest, highest = env._contact_cost_range
    terminates = env._terminate_when_unhealthy
    seen, x = b"", NOTHING  # the bodies' centres after the last step, and the robot's along x

    def centre() -> np.float64:
        """Where the centre of mass is along x; a step begins where the last one ended."""
        nonlocal seen, x
        now = centres.tobytes()
        if now != seen:
            seen, x = now, np.einsum("b,bj->j", masses, centres)[0] / mass
        return x

    def step(action: np.ndarray) -> Outcome:
        before = centre()
        controls[...] = action
        simulate()
        if feels:
            mujoco.mj_rnePostConstraint(model, data)
        velocity = (centre() - before) / dt
        healthy = low < height() < high
        contact = contact_weight * total(square(forces), axis=None) if contact_weight else NOTHING
        costs = control_weight * total(square(controls)) + min(max(contact, lowest), highest)
        reward = forward_weight * velocity + healthy * healthy_reward - costs
        return np.concatenate(observed), reward, not healthy and terminates, False, {}

    return step


# -- what steps are made of ---------------------------------------------------------------------------------------


def _moves(env: Any) -> Callable[[np.ndarray], float]:
    """Simulate one step; the reward for speed along x. Numbers of Python take less time than numpy's, and are equal."""
    controls, position, weight, dt = env.data.ctrl, env.data.qpos.item, env._forward_reward_weight, env.dt
    simulate = partial(mujoco.mj_step, env.model, env.data, env.frame_skip)

    def run(action: np.ndarray) -> float:
        x = position(0)
        controls[...] = action
        simulate()
        return weight * ((position(0) - x) / dt)

    return run


def _control_cost(env: Any) -> Callable[[np.ndarray], float]:
    """The cost of control, of the action's float32."""
    weight = env._ctrl_cost_weight
    return lambda action: float(weight * total(square(action)))


def _observed_positions(env: Any) -> np.ndarray:
    """A view of all but those that are left out, x first."""
    return env.data.qpos[env.observation_structure["skipped_qpos"] :]


def _observation(positions: np.ndarray, velocities: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A vector for positions and velocities, and its two parts."""
    observation = np.empty(len(positions) + len(velocities))
    return observation, observation[: len(positions)], observation[len(positions) :]


def _observed_by_humanoid(env: Any) -> list[np.ndarray]:
    """Views of the parts of Humanoid's observation."""
    data = env.data
    parts = {
        "cinert": data.cinert[1:], "cvel": data.cvel[1:], "qfrc_actuator": data.qfrc_actuator[6:],
        "cfrc_ext": data.cfrc_ext[1:],
    }  # fmt: skip
    chosen = [array.ravel() for name, array in parts.items() if getattr(env, f"_include_{name}_in_observation")]
    return [_observed_positions(env), data.qvel, *chosen]


def _feels(env: Any) -> bool:
    """Whether contact forces are rewarded or observed: in the preset `paper` they are not."""
    return bool(env._contact_cost_weight or env._include_cfrc_ext_in_observation)


def _contact_forces(env: Any) -> Callable[[], np.ndarray] | None:
    """Compute the contact forces and return them clipped `(bodies, 6)`; None: neither observed nor rewarded."""
    model, data = env.model, env.data
    lowest, highest = env._contact_force_range

    def forces() -> np.ndarray:
        mujoco.mj_rnePostConstraint(model, data)
        return np.minimum(np.maximum(data.cfrc_ext, lowest), highest)

    return forces if _feels(env) else None


STEPS: Mapping[type, Callable[[Any], Step]] = {
    AntEnv: _ant,
    HalfCheetahEnv: _runner,
    HopperEnv: _hopper,
    HumanoidEnv: _humanoid,
    SwimmerEnv: _runner,
    Walker2dEnv: _walker,
}
