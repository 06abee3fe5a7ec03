"""Episodes that go on together: the same outcome as one after another, and where they are not used."""

import numpy as np
import pytest

from erlbench.envs.registry import problem
from erlbench.errors import NumericalError
from erlbench.policy import NumpyPolicy, PolicySpec, initial_policy
from erlbench.work import rollout as module
from erlbench.work.rollout import RolloutSettings, play, rollout
from erlbench.work.seeding import environment_seed

PENDULUM = "erlbench/PartiallyObservablePendulum-v0"


@pytest.fixture
def together(monkeypatch):
    """The start states of each call of `play_together`."""
    calls, original = [], module.play_together

    def counted(env, spec, parameters, limit, seeds):
        calls.append(list(seeds))
        return original(env, spec, parameters, limit, seeds)

    monkeypatch.setattr(module, "play_together", counted)
    return calls


def policy_of(task, **more):
    sizes = (task.observation_size, 16, task.action_size)
    spec = PolicySpec(sizes, "tanh", task.action_low, task.action_high, network="lstm", **more)
    return spec, initial_policy(spec, (0,))


@pytest.mark.parametrize("limit", [None, 30])
@pytest.mark.parametrize("squashing", ["tanh", "floor", "linear", "clip"])
def test_the_outcome_is_that_of_one_episode_after_another(workspace, together, squashing, limit):
    task = problem(PENDULUM)
    spec, parameters = policy_of(task, squashing=squashing)
    found = rollout(RolloutSettings(task.env, spec, 6, limit=limit), {"parameters": parameters}, (5,), workspace)
    seeds = [environment_seed(5, episode) for episode in range(6)]
    assert together == [seeds]
    env, policy = workspace.environment(task.env), NumpyPolicy(spec, parameters)
    episodes = [play(env, policy, limit or 200, seed) for seed in seeds]
    assert found.values == {"returns": [e.total for e in episodes], "lengths": [limit or 200] * 6}
    assert found.arrays == {}


@pytest.mark.parametrize(
    ("name", "env_settings", "changes"),
    [
        (PENDULUM, {}, {"episodes": 1}),
        (PENDULUM, {}, {"record": True}),
        (PENDULUM, {}, {"random_actions": True}),
        (PENDULUM, {}, {"action_noise": 0.1}),
        (PENDULUM, {}, {"observe": 0.5}),
        ("Pendulum-v1", {}, {}),
        (PENDULUM, {"frame_skip": 2}, {}),
    ],
)
def test_other_tasks_and_environments_play_one_episode_after_another(workspace, together, name, env_settings, changes):
    task = problem(name, env_settings)
    spec, parameters = policy_of(task)
    settings = RolloutSettings(task.env, spec, **{"episodes": 3, **changes})
    values = rollout(settings, {"parameters": parameters}, (5,), workspace).values
    assert len(values["returns"]) == changes.get("episodes", 3)
    assert together == []


def test_a_return_that_is_not_finite_is_an_error(workspace, together):
    task = problem(PENDULUM)
    spec = PolicySpec((3, 16, 1), "relu", task.action_low, task.action_high, squashing="linear")
    parameters = np.full(spec.size, 3e38, np.float32)  # infinite hidden units
    parameters[spec.tensors[-2].place][::2] *= -1  # their sum is NaN
    with np.errstate(all="ignore"), pytest.raises(NumericalError, match="NaN"):
        rollout(RolloutSettings(task.env, spec, 3), {"parameters": parameters}, (5,), workspace)
    assert len(together) == 1
