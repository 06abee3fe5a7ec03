"""The gradient tasks against autograd, and their purity."""

from __future__ import annotations

import copy
from functools import partial

import numpy as np
import pytest
import torch

from erlbench.algorithms.gradients.learners.blocks import MINIBATCHES
from erlbench.algorithms.gradients.reference.ddpg import DDPGReference
from erlbench.algorithms.gradients.reference.networks import Experience, flat_parameters, follow, mlp
from erlbench.algorithms.gradients.reference.td3 import TD3Reference
from erlbench.algorithms.gradients.updates import KEPT, train_actor, update_critic
from erlbench.algorithms.training.critic import critic_spec, initial_critic
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate, DDPGUpdate, TD3Update, Updates
from erlbench.errors import NumericalError
from erlbench.policy import ACTIVATIONS, NumpyPolicy, PolicySpec, initial_parameters
from erlbench.work.replay import Replay
from erlbench.work.seeding import Purpose, generator
from erlbench.work.store import Store
from erlbench.work.workspace import Workspace
from tests.devices import DEVICE

OBSERVATION, ACTION, KEY = 5, 2, (7, 4, 3)


def specs(activation="tanh", hidden=(16, 12)):
    policy = PolicySpec((OBSERVATION, *hidden, ACTION), activation, (-2.0,) * ACTION, (2.0,) * ACTION)
    return policy, critic_spec(policy, hidden, activation)


@pytest.fixture
def replay(tmp_path):
    replay = Replay(tmp_path / "replay", OBSERVATION, ACTION)
    random = np.random.default_rng(0)
    for length in (60, 1, 139):
        goes_on = np.ones(length)
        goes_on[-1] = length % 2
        replay.append(
            random.standard_normal((length + 1, OBSERVATION)),
            random.uniform(-1, 1, (length, ACTION)),
            random.standard_normal(length),
            goes_on,
            [length],
        )
    yield replay
    replay.close()


@pytest.fixture
def workspace(tmp_path):
    return Workspace(Store(tmp_path), device=DEVICE)


def settings_of(task, policy, critic, updates=30, critic_updates=0, **changes):
    """The settings of a task function of `gradients.updates`; the temperature is SAC's."""
    values = {"batch_size": 32, "learning_rate": 1e-3, "temperature": 0.3}
    if task is train_actor:
        return Updates(ActorUpdate(policy, critic, **(values | changes)), updates)
    values |= {"discount": 0.99, "tau": 0.005, "target_noise": 0.2, "noise_clip": 0.5}
    return Updates(CriticUpdate(policy, critic, **(values | changes)), updates, critic_updates)


def inputs(policy, critic, replay):
    return {
        "critic": initial_critic(critic, (1,)),
        "target_actor": initial_parameters(policy.sizes, (2,)),
        "parameters": initial_parameters(policy.sizes, (3,)),
        "replay": replay.view(),
    }


def close(actual, expected, relative=1e-5 if DEVICE == "cpu" else 2e-5):
    assert np.abs(actual - expected).max() <= relative * np.abs(expected).max()


def minibatches(workspace, view, updates, batch, noise):
    """The minibatches that a task with `KEY` draws, with the noise of the target actions."""
    random, reader = generator(*KEY, int(Purpose.MINIBATCH)), workspace.replay(view)
    for first in range(0, updates, MINIBATCHES):
        indices = random.integers(view.start, view.stop, MINIBATCHES * batch).reshape(MINIBATCHES, batch)
        drawn = (
            random.standard_normal((MINIBATCHES * batch, ACTION), dtype=np.float32) if noise else np.zeros(MINIBATCHES)
        )
        drawn = drawn.reshape(MINIBATCHES, -1, ACTION if noise else 1)
        for index in range(min(MINIBATCHES, updates - first)):
            arrays = [np.empty((batch, n), np.float32) for n in (OBSERVATION, ACTION + 2, OBSERVATION)]
            reader.gather(indices[index], *arrays)
            observations, transitions, following = map(torch.from_numpy, arrays)
            actions, rewards, continues = transitions.split([ACTION, 1, 1], 1)
            yield Experience(observations, actions, rewards, continues, following), torch.from_numpy(drawn[index])


def td3_reference(policy, critic, row, actor):
    """TD3 with the critics of a `(4, n)` array and an actor that is its own target."""
    update = TD3Update(
        policy,
        critic,
        32,
        learning_rate=1e-3,
        discount=0.99,
        tau=0.005,
        target_noise=0.2,
        noise_clip=0.5,
        policy_delay=2,
    )
    return TD3Reference(update, np.concatenate([actor, actor, actor, actor, row.ravel()]))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_critic_updates_of_td3_equal_autograd(activation, replay, workspace):
    policy, critic = specs(activation)
    given = inputs(policy, critic, replay)
    theirs, losses = td3_reference(policy, critic, given["critic"], given["target_actor"]), []
    for batch, noise in minibatches(workspace, given["replay"], 30, 32, True):
        losses.append(theirs.critic_step(batch, noise))
        follow(theirs.target_critics, theirs.critics, 0.005)
    outcome = update_critic(settings_of(update_critic, policy, critic), given, KEY, workspace)
    assert outcome.values == {"critic_updates": 30, "critic_loss": pytest.approx(np.mean(losses), rel=1e-5)}
    rows = outcome.arrays["critic"]
    close(rows[0], flat_parameters(theirs.critics))
    close(rows[1], flat_parameters(theirs.target_critics))
    for row, name in ((2, "exp_avg"), (3, "exp_avg_sq")):
        close(rows[row], np.concatenate([s[name].flatten().numpy() for s in theirs.critic_adam.state.values()]))


def test_ddpgs_critic_updates_equal_autograd(replay, workspace):
    """One critic, target actions without noise."""
    policy, _ = specs()
    critic = critic_spec(policy, (16, 12), "relu", 1)
    given = inputs(policy, critic, replay)
    update = DDPGUpdate(
        policy,
        critic,
        32,
        actor_learning_rate=1e-3,
        critic_learning_rate=1e-3,
        critic_weight_decay=0.0,
        critic_gradient_clip=None,
        discount=0.99,
        tau=0.005,
    )
    theirs, losses = DDPGReference(update, np.concatenate([*[given["target_actor"]] * 4, given["critic"].ravel()])), []
    for batch, _ in minibatches(workspace, given["replay"], 30, 32, False):
        losses.append(theirs.critic_step(batch))
        follow(theirs.target_critic, theirs.critic, 0.005)
    outcome = update_critic(settings_of(update_critic, policy, critic, target_noise=0.0), given, KEY, workspace)
    assert outcome.values == {"critic_updates": 30, "critic_loss": pytest.approx(np.mean(losses), rel=1e-5)}
    assert outcome.arrays["critic"].shape == (4, critic.size)
    close(outcome.arrays["critic"][0], flat_parameters(theirs.critic))
    close(outcome.arrays["critic"][1], flat_parameters(theirs.target_critic))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_actor_updates_of_td3_equal_autograd(activation, replay, workspace):
    policy, critic = specs(activation)
    given = inputs(policy, critic, replay)
    theirs = td3_reference(policy, critic, given["critic"], given["parameters"])
    for batch, _ in minibatches(workspace, given["replay"], 30, 32, False):
        theirs.actor_step(batch.observations)
    outcome = train_actor(settings_of(train_actor, policy, critic), given, KEY, workspace)
    assert outcome.values == {"actor_updates": 30}
    close(outcome.arrays["parameters"], flat_parameters(theirs.actor))


def test_updates_in_two_tasks_continue_adam(replay, workspace):
    """One update and then another with its `step` equals autograd's two, on the batches of both keys."""
    policy, critic = specs()
    given = inputs(policy, critic, replay)
    theirs = td3_reference(policy, critic, given["critic"], given["target_actor"])
    batch, noise = next(minibatches(workspace, given["replay"], 1, 32, True))
    for step in range(2):
        theirs.critic_step(batch, noise)
        follow(theirs.target_critics, theirs.critics, 0.005)
        outcome = update_critic(
            settings_of(update_critic, policy, critic, updates=1, critic_updates=step), given, KEY, workspace
        )
        given["critic"] = outcome.arrays["critic"]
    close(given["critic"][0], flat_parameters(theirs.critics))


@pytest.mark.parametrize("task", [update_critic, train_actor])
def test_td3s_tasks_are_pure(task, replay, workspace, tmp_path):
    """The same call gives the same bits, whatever ran in the process before; inputs stay as they are."""
    policy, critic = specs()
    given = inputs(policy, critic, replay)
    before = copy.deepcopy(given)
    results = []
    for run in (Workspace(Store(tmp_path), device=DEVICE), workspace, workspace):
        if run is workspace:
            other = specs("relu", (8, 8))
            task(settings_of(task, *other, batch_size=16), inputs(*other, replay), (9,), workspace)
            task(settings_of(task, policy, critic, critic_updates=99), inputs(policy, critic, replay), (10,), workspace)
        results.append(task(settings_of(task, policy, critic), given, KEY, run))
    for result in results[1:]:
        assert result.values == results[0].values
        for name, array in result.arrays.items():
            assert array.tobytes() == results[0].arrays[name].tobytes()
    for name in ("critic", "target_actor", "parameters"):
        assert np.array_equal(given[name], before[name])
    assert not np.shares_memory(*(next(iter(result.arrays.values())) for result in results[:2]))


def test_no_updates_change_nothing(replay, workspace):
    policy, critic = specs()
    given = inputs(policy, critic, replay)
    outcome = update_critic(settings_of(update_critic, policy, critic, updates=0), given, KEY, workspace)
    assert np.array_equal(outcome.arrays["critic"], given["critic"])
    outcome = train_actor(settings_of(train_actor, policy, critic, updates=0), given, KEY, workspace)
    assert np.array_equal(outcome.arrays["parameters"], given["parameters"])


def test_not_a_number_is_an_error_of_td3s_tasks(replay, workspace):
    policy, critic = specs()
    check_not_a_number(policy, critic, partial(inputs, policy, critic, replay), workspace)


def check_not_a_number(policy, critic, inputs, workspace):
    """Tasks with NaN in a critic or infinity in an actor fail, and say where."""
    given = inputs()
    given["critic"][0, 3] = np.nan
    with pytest.raises(NumericalError, match=r"update 1\b.*nan"):
        update_critic(settings_of(update_critic, policy, critic), given, KEY, workspace)
    with pytest.raises(NumericalError, match="critic has a NaN"):
        train_actor(settings_of(train_actor, policy, critic), given, KEY, workspace)
    given = inputs()
    given["parameters"][0] = np.inf
    with pytest.raises(NumericalError, match="actor has a NaN"):
        train_actor(settings_of(train_actor, policy, critic), given, KEY, workspace)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_numpy_policy_equals_torch(activation):
    policy, _ = specs(activation, (400, 300))
    parameters = initial_parameters(policy.sizes, (5,))
    observations = np.random.default_rng(1).standard_normal((50, OBSERVATION)).astype(np.float32)
    numpy_policy = NumpyPolicy(policy, parameters)
    actor = mlp(policy.sizes, activation, parameters, torch.nn.Tanh())
    expected = actor(torch.from_numpy(observations)).detach().numpy()
    actual = np.array([numpy_policy.normalised(observation).copy() for observation in observations])
    assert np.abs(actual - expected).max() < 1e-6


def test_a_worker_keeps_the_learners_used_last(replay, workspace):
    for rate in range(KEPT + 1):
        settings = settings_of(train_actor, *specs(), learning_rate=1e-4 * (1 + rate))
        train_actor(settings, inputs(settings.update.policy, settings.update.critic, replay), KEY, workspace)
    rates = [settings.learning_rate for _, settings in workspace.scratch["learners"]]
    assert rates == [1e-4 * (1 + rate) for rate in range(1, KEPT + 1)]
