"""Gradient-based algorithms on discrete actions: a vector in [-1, 1], of which the largest element is executed."""

from __future__ import annotations

import pytest

from erlbench.algorithms.registry import ALGORITHMS, find
from tests.runs import make_cell, rows, run

GRADIENTS = [name for name in ALGORITHMS if find(name).critic_updates]


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_learnt_on_discrete_actions(name, tmp_path):
    """Long enough for the second generation, in which individuals are trained."""
    known = find(name).settings_type.__dataclass_fields__
    soon = {"start_timesteps": 60, "gradient_interval": 1, "sac_episodes": 40}
    cell = make_cell(
        name, tmp_path, env="erlbench/CyclicMDP-v0", steps=1200, seed=1, eval_freq=1200, eval_episodes=1,
        settings={setting: value for setting, value in soon.items() if setting in known},
        env_settings={"max_episode_steps": 50},
    )  # fmt: skip
    assert run(cell) == 0
    last = rows(cell.directory, "eval.csv")[-1]
    assert int(last["timesteps"]) >= 1200
    assert int(last["critic_updates"]) > 0
