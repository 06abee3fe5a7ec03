"""Gymnasium's robots move as recorded with the version of MuJoCo that the reference runs have."""

from pathlib import Path

import gymnasium
import mujoco
import numpy as np
import pytest

from tests.environments import MUJOCO

RECORDED = Path(__file__).with_name("trajectories-mujoco-3.17.0.npz")
VERSION = "version"  # of MuJoCo, in the recording
ROUNDING, SOLVER = 1e-12, 1e-3  # after the first step: of the same version on another processor, of another version


def trajectories(env_id, seeds, steps):
    """Observations with their rewards, `(seeds, steps, observation + 1)`; a robot goes on where an episode would end.

    Actions are uniform and belong to the seed.
    """
    env = gymnasium.make(env_id).unwrapped
    low, high = env.action_space.low, env.action_space.high
    found = []
    for seed in range(seeds):
        env.reset(seed=seed)
        for action in np.random.default_rng(seed).uniform(low, high, (steps, *low.shape)).astype(np.float32):
            observation, reward, *_ = env.step(action)
            found.append(np.append(observation, float(reward)))
    env.close()
    return np.array(found).reshape(seeds, steps, -1)


@pytest.mark.parametrize("env_id", MUJOCO)
def test_the_robot_moves_as_recorded(env_id):
    with np.load(RECORDED) as recorded:
        there, version = recorded[env_id.removesuffix("-v5")], str(recorded[VERSION])
    found = trajectories(env_id, *there.shape[:2])
    assert found.shape == there.shape
    apart = np.abs(found - there).max(axis=(0, 2))
    same = mujoco.__version__ == version
    assert apart[0] <= (ROUNDING if same else SOLVER)
    if same:
        assert apart[-1] <= 1e-6 * np.abs(there).max()
