"""The list of environments against the environments themselves, their presets, and extras that are not there."""

import os
import warnings

import gymnasium
import pytest
from gymnasium.envs.classic_control import PendulumEnv

from erlbench.envs import catalogue
from erlbench.envs.registry import problem
from erlbench.errors import UsageError
from tests.programs import TEST_ALL


@pytest.mark.parametrize("row", catalogue.LISTED.values(), ids=lambda row: row.id)
def test_what_is_listed_is_what_is_made(row):
    if row.extra and not catalogue.installed(row.extra) and not os.environ.get(TEST_ALL):
        pytest.skip(f"needs the extra {row.extra}")  # make test-newest lacks dm_control, 3.12 PyBullet
    found = problem(row.id)
    listed = (row.observation, row.action, row.limit, row.discrete)
    assert (found.observation_size, found.action_size, found.env.max_episode_steps, found.discrete) == listed
    assert len(found.action_low) == len(found.action_high) == (0 if row.discrete else row.action)
    for preset in row.presets:
        assert problem(f"{row.id}@{preset}").action_size == row.action


def test_the_tasks_of_the_esac_paper_are_listed():
    table = [f"{name}-v5" for name in ("HalfCheetah", "Humanoid", "Ant", "Walker2d", "Swimmer", "Hopper", "Reacher")]
    table += ["InvertedDoublePendulum-v5", "LunarLanderContinuous-v3"]
    suite = ("humanoid-stand", "humanoid-walk", "humanoid-run", "cheetah-run", "walker-walk", "fish-upright")
    appendix = ("cartpole-swingup", "acrobot-swingup", "walker-run", "fish-swim", "quadruped-walk", "quadruped-run")
    assert set(table) | {f"dm_control/{name}-v0" for name in (*suite, *appendix)} <= set(catalogue.LISTED)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Hopper-v5@papre", "'Hopper-v5' has no preset 'papre'; did you mean 'paper'"),
        ("Hopper-v5@", "has no preset ''; it has v5, paper"),
        ("Hopper-v5@mujoco-1.50", "has no preset 'mujoco-1.50'; it has v5, paper"),
        ("Hopper-v4@paper", "has no preset 'paper'; it has none"),
        ("module:Thing-v0@paper", "has no preset 'paper'; it has none"),
    ],
)
def test_a_preset_that_is_not_there(name, message):
    with pytest.raises(UsageError, match=message):
        catalogue.canonical(name)


@pytest.mark.parametrize(
    ("name", "extra"),
    [("LunarLanderContinuous-v3", "box2d"), ("dm_control/walker-walk-v0", "dm-control"),
     ("dm_control/hopper-hop-v0", "dm-control")],
)  # fmt: skip
def test_a_missing_extra_gives_the_command_to_type(name, extra, monkeypatch):
    monkeypatch.setattr(catalogue, "find_spec", lambda module: None)
    with pytest.raises(UsageError) as caught:
        problem(name)
    assert str(caught.value).endswith(f"pip install 'erlbench[{extra}]'")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("setting", ["max_episode_steps", "frame_skip"])
def test_counts_have_bounds(setting):
    with pytest.raises(UsageError, match=f"{setting} .*1,000,000,000"):
        problem("Hopper-v5", {setting: 1e12})


@pytest.mark.parametrize("name", ["Swimmer", "gymnasium.envs.mujoco:Swimmer"])
def test_an_id_without_its_version_is_refused(name):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(UsageError) as caught:
            problem(name)
    assert str(caught.value).endswith(f"did you mean '{name}-v5'?")
    assert not [warning for warning in told if "latest versioned" in str(warning.message)]


def test_an_environment_that_is_registered_without_a_version_is_made(monkeypatch):
    monkeypatch.setattr(gymnasium.envs.registration, "registry", {**gymnasium.registry})
    gymnasium.register("Mine", PendulumEnv, max_episode_steps=10)
    assert problem("Mine").env.id == "Mine"
