"""The list of environments against the environments themselves, their presets, and extras that are not there."""

import gymnasium
import pytest
from gymnasium.envs.classic_control import PendulumEnv

from erlbench.envs import catalogue
from erlbench.envs.registry import problem
from erlbench.errors import UsageError
from tests.programs import needed_extra


@pytest.mark.parametrize("row", catalogue.LISTED.values(), ids=lambda row: row.id)
def test_what_is_listed_is_what_is_made(row):
    needed_extra(row.extra)
    found = problem(row.id)
    listed = (row.observation, row.action, row.limit, row.discrete)
    assert (found.observation_size, found.action_size, found.env.max_episode_steps, found.discrete) == listed
    assert len(found.action_low) == len(found.action_high) == (0 if row.discrete else row.action)
    for preset in row.presets:
        assert problem(f"{row.id}@{preset}").action_size == row.action


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Hopper-v5@papre", "'Hopper-v5' has no preset 'papre'; did you mean 'paper'"),
        ("Hopper-v4@paper", "has no preset 'paper'; it has none"),
    ],
)
def test_a_preset_that_is_not_there(name, message):
    with pytest.raises(UsageError, match=message):
        catalogue.canonical(name)


def test_a_missing_extra_gives_the_command_to_type(monkeypatch):
    monkeypatch.setattr(catalogue, "find_spec", lambda module: None)
    with pytest.raises(UsageError, match=r"pip install 'erlbench\[dm-control\]'$"):
        problem("dm_control/walker-walk-v0")


@pytest.mark.filterwarnings("error:.*latest versioned")
def test_an_id_without_its_version_is_refused_unless_it_is_registered_so(monkeypatch):
    for name in ("Swimmer", "gymnasium.envs.mujoco:Swimmer"):
        with pytest.raises(UsageError, match=f"did you mean '{name}-v5'"):
            problem(name)
    monkeypatch.setattr(gymnasium.envs.registration, "registry", {**gymnasium.registry})
    gymnasium.register("Mine", PendulumEnv, max_episode_steps=10)
    assert problem("Mine").env.id == "Mine"
