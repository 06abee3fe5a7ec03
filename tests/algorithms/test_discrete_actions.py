"""Gradient-based algorithms on discrete actions: a vector in [-1, 1], of which the largest element is executed."""

import numpy as np
import pytest

from erlbench.algorithms.ddpg import DDPG, DDPGSettings
from erlbench.algorithms.registry import ALGORITHMS, find
from erlbench.envs.registry import problem
from erlbench.work.workspace import Workspace
from tests.runs import complete, four_first, make_cell, rows

CYCLE, CLOCKWISE = "erlbench/CyclicMDP-v0", 1
GRADIENTS = [name for name in ALGORITHMS if find(name).critic_updates]


@pytest.mark.parametrize("name", four_first(GRADIENTS))
def test_gradients_are_learnt_on_discrete_actions(name, tmp_path):
    """Long enough for the second generation, in which individuals are trained."""
    known = find(name).settings_type.__dataclass_fields__
    soon = {"start_timesteps": 60, "gradient_interval": 1, "sac_episodes": 40}
    cell = make_cell(
        name, tmp_path, env=CYCLE, steps=1200, seed=1, eval_freq=1200, eval_episodes=1,
        settings={setting: value for setting, value in soon.items() if setting in known},
        env_settings={"max_episode_steps": 50},
    )  # fmt: skip
    last = rows(complete(cell).directory, "eval.csv")[-1]
    assert int(last["timesteps"]) >= 1200
    assert int(last["critic_updates"]) > 0


def test_the_replay_has_the_vector_and_the_environment_its_argmax(new_context):
    """Random and learnt actions; DDPG solves the cycle."""
    context = new_context(problem(CYCLE), 1, 900)
    settings = DDPGSettings(
        hidden=(16,), critic_hidden=(16,), batch_size=32, start_timesteps=200, critic_weight_decay=0.0,
        actor_learning_rate=1e-2, critic_learning_rate=1e-2, tau=0.01, noise="gaussian", final_init=None,
    )  # fmt: skip
    algorithm, workspace = DDPG(settings, context), Workspace(context.store)
    assert algorithm.policy_spec.actions == "discrete"
    while tasks := algorithm.ask():
        algorithm.tell(tasks[0], workspace.run(tasks[0]))
    transitions = workspace.replay(context.replay.view()).transitions
    actions, rewards = transitions[:, :3], transitions[:, 3]
    assert np.abs(actions).max() <= 1
    assert np.array_equal(rewards == 1, actions.argmax(axis=1) == CLOCKWISE)
    assert 0.2 < (rewards[:200] == 1).mean() < 0.47, "random actions are uniform"
    assert (rewards[-200:] == 1).all()
