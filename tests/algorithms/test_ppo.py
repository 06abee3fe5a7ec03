"""PPO: whole iterations against stable-baselines3's own loop, the reported policy, and episodes that go on."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from stable_baselines3 import PPO as Theirs

from erlbench.algorithms import ppo, registry
from erlbench.envs.registry import problem
from erlbench.errors import NumericalError, TaskError
from erlbench.policy import NumpyPolicy
from erlbench.work.seeding import generator
from erlbench.work.workspace import Workspace
from tests.algorithms.on_policy import STEPS, Follow, iterate, starting, their_model, three_iterations

start = starting(ppo.PPO)


def their_ppo(algorithm, task, keys, first, monkeypatch):
    """stable-baselines3's PPO on the same task with our initial parameters and random numbers."""
    follow, own = Follow(keys), {"clip_range_vf": algorithm.settings.value_clip_range}
    return their_model(Theirs, algorithm, task, follow, first, monkeypatch, **own), follow


@pytest.mark.parametrize(
    ("env", "settings"),
    [
        ("InvertedPendulum-v5", {}),  # episodes that fail
        ("Pendulum-v1", {}),  # and that are truncated: the value goes on
        ("CartPole-v1", {}),  # discrete actions
        ("Pendulum-v1", dict(registry.preset("ppo", "sb3")) | {"activation": "relu"}),
    ],
)
def test_three_iterations_equal_those_of_stable_baselines3(env, settings, start, monkeypatch):
    ours, theirs = three_iterations(start, their_ppo, env, settings, monkeypatch)
    assert_allclose(ours, theirs, rtol=0, atol=1e-6)
    assert np.abs(ours[2] - ours[0]).max() > 1e-3


@pytest.mark.parametrize("env", ["Pendulum-v1", "CartPole-v1"])
def test_the_reported_policy_acts_as_stable_baselines3_without_noise(env, start, monkeypatch):
    task = problem(env)
    algorithm, workspace = start(task)
    first, _ = iterate(algorithm, workspace)
    before = workspace.store.get(first.inputs["learner"])[0]
    model, follow = their_ppo(algorithm, task, [first.key] * 2, before, monkeypatch)
    model.learn(STEPS, callback=follow)
    after = workspace.store.get(algorithm.state.learner)[0]  # another progress, hence another learning rate
    torch.nn.utils.vector_to_parameters(torch.from_numpy(after.copy()), model.policy.parameters())
    policy = NumpyPolicy(algorithm.policy_spec, workspace.store.get(algorithm.policy()))
    assert algorithm.policy_spec.normalisation
    for scale in (0.1, 1.0, 30.0):  # the last beyond ten standard deviations and beyond the actions' bounds
        for observation in generator(1).normal(0.0, scale, (50, task.observation_size)).astype(np.float32):
            expected, _ = model.predict(model.env.normalize_obs(observation[None]), deterministic=True)
            found = policy.denormalise(policy.normalised(observation))
            assert_allclose(found, expected[0], atol=1e-6)


def test_a_task_repeated_elsewhere_gives_the_same_bits_and_leaves_global_generators_alone(start):
    algorithm, workspace = start(problem("InvertedPendulum-v5"))
    iterate(algorithm, workspace)
    (task,) = algorithm.ask()
    torch.manual_seed(1)
    state = torch.get_rng_state()
    np.random.seed(1)  # noqa: NPY002
    first = workspace.run(task)
    ours = workspace.store.get(first.arrays["learner"]).copy()
    again = Workspace(workspace.store)
    assert again.run(task).values == first.values
    assert_array_equal(again.store.get(first.arrays["learner"]), ours)
    assert torch.equal(torch.get_rng_state(), state)
    assert np.random.rand() == np.random.RandomState(1).rand()  # noqa: NPY002
    again.close()


def test_an_environment_that_does_not_repeat_itself_is_refused(start):
    algorithm, workspace = start(problem("tests.environments:Drifting-v0"), rollout_steps=10)
    iterate(algorithm, workspace)
    with pytest.raises(TaskError, match="does not repeat itself"):
        workspace.run(algorithm.ask()[0])


def test_a_nan_is_an_error(start):
    algorithm, workspace = start(problem("tests.environments:Broken-reward-v0"), rollout_steps=100)
    with pytest.raises(NumericalError, match="step 5 has a NaN"):
        workspace.run(algorithm.ask()[0])
