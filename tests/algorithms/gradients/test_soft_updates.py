"""SAC's gradient tasks against autograd, their vectors against the numpy policy, and their purity."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from erlbench.algorithms.gradients.programs.gaussian_actor import GaussianActor
from erlbench.algorithms.gradients.updates import train_actor, update_critic
from erlbench.algorithms.training.critic import critic_spec, initial_critic, joined, separated
from erlbench.policy import ACTIVATIONS, NumpyPolicy, PolicySpec, initial_policy
from erlbench.work.replay import Replay
from erlbench.work.store import Store
from erlbench.work.workspace import Workspace
from tests.devices import DEVICE

from .test_updates import (
    ACTION,
    KEY,
    OBSERVATION,
    check_not_a_number,
    close,
    learnt_actor,
    learnt_critics,
    minibatches,
    settings_of,
)  # fmt: skip


def specs(activation="tanh", hidden=(16, 12)):
    bounds = (-2.0,) * ACTION, (2.0,) * ACTION
    policy = PolicySpec((OBSERVATION, *hidden, ACTION), activation, *bounds, stochastic=True)
    return policy, critic_spec(policy, hidden, activation)


@pytest.fixture
def replay(tmp_path):
    replay, random = Replay(tmp_path / "replay", OBSERVATION, ACTION), np.random.default_rng(0)
    for length in (60, 140):
        goes_on = np.ones(length)
        goes_on[-1] = length == 60
        actions, rewards = random.uniform(-1, 1, (length, ACTION)), random.standard_normal(length)
        replay.append(random.standard_normal((length + 1, OBSERVATION)), actions, rewards, goes_on, [length])
    yield replay
    replay.close()


@pytest.fixture
def workspace(tmp_path):
    return Workspace(Store(tmp_path), device=DEVICE)


def inputs(policy, critic, replay):
    return {
        "critic": initial_critic(critic, (1,)),
        "target_actor": initial_policy(policy, (2,)),
        "parameters": initial_policy(policy, (3,)),
        "replay": replay.view(),
    }


def test_a_stochastic_policys_vector_and_the_gaussian_actors():
    """The same outputs from `NumpyPolicy` and, its heads separated, from `GaussianActor`."""
    policy, _ = specs()
    vector = initial_policy(policy, (5,))
    assert np.array_equal(joined(policy, separated(policy, vector)), vector)
    assert not np.array_equal(separated(policy, vector), vector)
    observation = np.arange(OBSERVATION, dtype=np.float32) / 3
    parameters = torch.from_numpy(separated(policy, vector))
    actor = GaussianActor(replace(policy, stochastic=False), parameters, torch.from_numpy(observation)[None])

    def sampled(noise):
        for operation in actor.sample(noise):
            operation()
        return actor.actions.numpy()[0].copy()

    mode = sampled(torch.zeros(1, ACTION))
    plain = NumpyPolicy(policy, vector)
    assert plain.normalised(observation) == pytest.approx(mode, abs=1e-6)
    random, noise = np.random.default_rng(7), np.random.default_rng(7).standard_normal((1, ACTION), dtype=np.float32)
    plain.reset(random)
    expected = sampled(torch.from_numpy(noise))
    assert plain.normalised(observation) == pytest.approx(expected, abs=1e-6)
    assert np.abs(expected - mode).max() > 0.1


def apart(policy, given):
    """The inputs of a task with the heads of the actors separated, as autograd's learners have them."""
    return given | {name: separated(policy, given[name]) for name in ("target_actor", "parameters")}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_critic_updates_of_sac_equal_autograd(activation, replay, workspace):
    policy, critic = specs(activation)
    given, settings = inputs(policy, critic, replay), settings_of(update_critic, policy, critic)
    batches = minibatches(workspace, given["replay"], 30, 32, True)
    rows, loss = learnt_critics(settings, apart(policy, given), batches)
    outcome = update_critic(settings, given, KEY, workspace)
    assert outcome.values == {"critic_updates": 30, "critic_loss": pytest.approx(loss, rel=1e-5)}
    close(outcome.arrays["critic"][0], rows[0])
    close(outcome.arrays["critic"][1], rows[1])


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_actor_updates_of_sac_equal_autograd(activation, replay, workspace):
    policy, critic = specs(activation)
    given, settings = inputs(policy, critic, replay), settings_of(train_actor, policy, critic)
    expected = learnt_actor(settings, apart(policy, given), minibatches(workspace, given["replay"], 30, 32, True))
    outcome = train_actor(settings, given, KEY, workspace)
    assert outcome.values == {"actor_updates": 30}
    close(separated(policy, outcome.arrays["parameters"]), expected)
    biases = slice(-2 * ACTION, None)  # the mean's, then those of log std
    assert np.abs(outcome.arrays["parameters"][biases] - given["parameters"][biases]).min() > 0


@pytest.mark.parametrize("task", [update_critic, train_actor])
def test_sacs_tasks_are_pure(task, replay, workspace, tmp_path):
    """The same call gives the same bits, whatever ran in the process before; inputs stay as they are."""
    policy, critic = specs()
    given = inputs(policy, critic, replay)
    before = copy.deepcopy(given)
    results = [task(settings_of(task, policy, critic), given, KEY, Workspace(Store(tmp_path), device=DEVICE))]
    task(
        settings_of(task, policy, critic, critic_updates=99, temperature=0.0),
        inputs(policy, critic, replay),
        (10,),
        workspace,
    )
    results.append(task(settings_of(task, policy, critic), given, KEY, workspace))
    assert results[0].values == results[1].values
    for name, array in results[0].arrays.items():
        assert array.tobytes() == results[1].arrays[name].tobytes()
    for name in ("critic", "target_actor", "parameters"):
        assert np.array_equal(given[name], before[name])
    nothing = task(settings_of(task, policy, critic, updates=0), given, KEY, workspace)
    for name, array in nothing.arrays.items():
        assert np.array_equal(array, given[name])


def test_not_a_number_is_an_error_of_sacs_tasks(replay, workspace):
    policy, critic = specs()
    check_not_a_number(policy, critic, partial(inputs, policy, critic, replay), workspace)
