"""Starts at an angle: the state is the one that was asked for, and being upright is what the tilts say."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.envs.registry import make
from erlbench.errors import UsageError
from erlbench.playing.off_balance import NOISE, OffBalance
from tests.runs import make_cell, run

PLANAR = ["Walker2d-v5", "Hopper-v5", "HalfCheetah-v5", "dm_control/walker-walk-v0"]


def physics(env):
    bare = env.unwrapped
    if hasattr(bare, "model"):
        return bare.model, bare.data
    return bare._env.physics.model.ptr, bare._env.physics.data.ptr


@pytest.mark.parametrize("name", PLANAR)
@pytest.mark.parametrize("degrees", [0, 35, -60])
def test_an_episode_starts_at_the_angle_at_rest_above_the_floor(name, degrees):
    env = OffBalance(make(name)[0], name, degrees)
    first, _ = env.reset(seed=3)
    model, data = physics(env)
    places = {mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, one): one for one in range(model.njnt)}
    assert data.qpos[places["rooty"]] == pytest.approx(math.radians(degrees))
    others = [place for joint, place in places.items() if joint not in ("rooty", "rootz")]
    assert np.abs(data.qpos - model.qpos0)[others].max() <= NOISE
    assert not data.qvel.any()
    assert data.ncon == 0
    again, _ = env.reset(seed=3)
    other, _ = env.reset(seed=4)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert env.observation_space.contains(first)


def test_the_observation_is_that_of_the_tilted_state():
    """dm_control's walker observes each body's orientation as (xx, xz) of its frame, the torso's first."""
    env = OffBalance(make("dm_control/walker-walk-v0")[0], "walker", 35)
    observation, _ = env.reset(seed=0)
    torso = env.unwrapped._env.physics.named.data.xmat["torso", ["xx", "xz"]]
    assert torso[0] == pytest.approx(math.cos(math.radians(35)), abs=1e-6)
    assert any(np.allclose(observation[place : place + 2], torso, atol=1e-6) for place in range(observation.size - 1))


@pytest.mark.parametrize(
    ("tilts", "terminated", "expected"),
    [
        ([40] + [0] * 100, False, 1),
        ([40, 20, 40, 20] + [0] * 97, False, 3),  # it swings through
        ([10] * 101, False, 0),
        ([10] * 101 + [80] * 50, True, 0),  # what comes after the watched steps
        ([40] + [0] * 30, True, None),  # it fell
        ([40] + [0] * 30, False, 1),  # ended by --steps
        ([0] * 100 + [31], False, None),
    ],
)
def test_upright_is_the_step_after_the_last_lean(tilts, terminated, expected):
    env = OffBalance(make("Walker2d-v5")[0], "Walker2d-v5", 10)
    env._tilts, env._terminated = [math.radians(tilt) for tilt in tilts], terminated
    assert env.upright_after == expected


@pytest.mark.parametrize("name", ["Swimmer-v5", "Humanoid-v5", "Pendulum-v1", "erlbench/CyclicMDP-v0"])
def test_what_is_no_planar_robot_is_refused(name):
    with pytest.raises(UsageError, match="rooty"):
        OffBalance(make(name)[0], name, 10)


def test_play_says_when_the_robot_is_upright(tmp_path):
    cell = make_cell("cem", tmp_path, "Walker2d-v5", steps=1000)
    assert run(cell) == 0
    asked = ["play", str(cell.directory), "--no-video", "--episodes", "2"]
    upside_down, plain = (CliRunner().invoke(cli, [*asked, *more]) for more in (["--angle", "170"], []))
    assert [upside_down.exit_code, plain.exit_code] == [0, 0]
    assert upside_down.stdout.count("not upright") == 2
    assert "upright" not in plain.stdout
