"""The gradient tasks of TD3, DDPG and SAC against autograd, and their purity."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from erlbench.algorithms.gradients.learners.blocks import ActorBlock, CriticBlock
from erlbench.algorithms.gradients.learners.networks import MLP
from erlbench.algorithms.gradients.minibatches import Minibatch
from erlbench.algorithms.gradients.programs.blocks import MINIBATCHES
from erlbench.algorithms.gradients.programs.sac import GaussianActor
from erlbench.algorithms.gradients.updates import train_actor, update_critic
from erlbench.algorithms.training.critic import critic_spec, initial_critic, joined, separated
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate, Updates
from erlbench.errors import NumericalError
from erlbench.policy import ACTIVATIONS, NumpyPolicy, PolicySpec, initial_parameters, initial_policy
from erlbench.work.replay import Replay
from erlbench.work.seeding import Purpose, generator
from erlbench.work.store import Store
from erlbench.work.workspace import Workspace
from tests.devices import DEVICE

OBSERVATION, ACTION, KEY = 5, 2, (7, 4, 3)


def specs(activation="tanh", hidden=(16, 12), stochastic=False):
    bounds = (-2.0,) * ACTION, (2.0,) * ACTION
    policy = PolicySpec((OBSERVATION, *hidden, ACTION), activation, *bounds, stochastic=stochastic)
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
        "target_actor": initial_policy(policy, (2,)),
        "parameters": initial_policy(policy, (3,)),
        "replay": replay.view(),
    }


def heads(policy, vector):
    """An actor's vector as autograd's learners have it: the heads of a stochastic one separated."""
    return separated(policy, vector) if policy.stochastic else vector


def close(actual, expected, relative=1e-5 if DEVICE == "cpu" else 2e-5):
    assert np.abs(actual - expected).max() <= relative * np.abs(expected).max()


def minibatches(workspace, view, updates, batch, noise):
    """The minibatches that a task with `KEY` draws, with the noise of the target actions."""
    random, reader = generator(*KEY, int(Purpose.MINIBATCH)), workspace.replay(view)
    for first in range(0, updates, MINIBATCHES):
        indices = random.integers(view.start, view.stop, MINIBATCHES * batch).reshape(MINIBATCHES, batch)
        drawn = (
            random.standard_normal((MINIBATCHES * batch, ACTION), dtype=np.float32)
            if noise
            else np.zeros(MINIBATCHES, np.float32)
        )
        drawn = drawn.reshape(MINIBATCHES, -1, ACTION if noise else 1)
        for index in range(min(MINIBATCHES, updates - first)):
            arrays = [np.empty((batch, n), np.float32) for n in (OBSERVATION, ACTION + 2, OBSERVATION)]
            reader.gather(indices[index], *arrays)
            observations, transitions, following = map(torch.from_numpy, arrays)
            actions, rewards, continues = transitions.split([ACTION, 1, 1], 1)
            yield Minibatch(observations, actions, rewards, continues, following), torch.from_numpy(drawn[index])


def learnt_critics(settings, given, batches):
    """The critics' array after steps on these minibatches, by autograd, and the mean loss."""
    critics = torch.from_numpy(given["critic"].copy())
    target = torch.from_numpy(heads(settings.update.policy, given["target_actor"]))
    learner = CriticBlock(settings.update, critics, target)
    losses = [learner.update(batch, noise).item() for batch, noise in batches]
    return critics.numpy(), np.mean(losses)


learners = pytest.mark.parametrize("stochastic", [False, True], ids=["td3", "sac"])


@learners
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_critic_updates_equal_autograd(activation, stochastic, replay, workspace):
    policy, critic = specs(activation, stochastic=stochastic)
    given, settings = inputs(policy, critic, replay), settings_of(update_critic, policy, critic)
    rows, loss = learnt_critics(settings, given, minibatches(workspace, given["replay"], 30, 32, True))
    outcome = update_critic(settings, given, KEY, workspace)
    assert outcome.values == {"critic_updates": 30, "critic_loss": pytest.approx(loss, rel=1e-5)}
    close(outcome.arrays["critic"][0], rows[0])
    close(outcome.arrays["critic"][1], rows[1])


def test_ddpgs_critic_updates_equal_autograd(replay, workspace):
    """One critic, target actions without noise."""
    policy, _ = specs()
    critic = critic_spec(policy, (16, 12), "relu", 1)
    given, settings = inputs(policy, critic, replay), settings_of(update_critic, policy, critic, target_noise=0.0)
    rows, loss = learnt_critics(settings, given, minibatches(workspace, given["replay"], 30, 32, False))
    outcome = update_critic(settings, given, KEY, workspace)
    assert outcome.values == {"critic_updates": 30, "critic_loss": pytest.approx(loss, rel=1e-5)}
    assert outcome.arrays["critic"].shape == (4, critic.size)
    for row, expected in zip(outcome.arrays["critic"], rows):
        close(row, expected)


@learners
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_actor_updates_equal_autograd(activation, stochastic, replay, workspace):
    policy, critic = specs(activation, stochastic=stochastic)
    given, settings = inputs(policy, critic, replay), settings_of(train_actor, policy, critic)
    parameters = torch.from_numpy(heads(policy, given["parameters"]).copy())
    learner = ActorBlock(settings.update, parameters, torch.from_numpy(given["critic"][0]))
    for batch, noise in minibatches(workspace, given["replay"], 30, 32, stochastic):
        learner.update(batch, noise)
    outcome = train_actor(settings, given, KEY, workspace)
    assert outcome.values == {"actor_updates": 30}
    close(heads(policy, outcome.arrays["parameters"]), parameters.numpy())


@learners
@pytest.mark.parametrize("task", [update_critic, train_actor])
def test_tasks_are_pure(task, stochastic, replay, workspace, tmp_path):
    """The same call gives the same bits, whatever ran in the process before; inputs stay as they are."""
    policy, critic = specs(stochastic=stochastic)
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
    nothing = task(settings_of(task, policy, critic, updates=0), given, KEY, workspace)
    for name, array in nothing.arrays.items():
        assert np.array_equal(array, given[name])


@learners
def test_not_a_number_is_an_error(stochastic, replay, workspace):
    """Tasks with NaN in a critic or infinity in an actor fail, and say where."""
    policy, critic = specs(stochastic=stochastic)
    given = inputs(policy, critic, replay)
    given["critic"][0, 3] = np.nan
    with pytest.raises(NumericalError, match=r"update 1\b.*nan"):
        update_critic(settings_of(update_critic, policy, critic), given, KEY, workspace)
    with pytest.raises(NumericalError, match="critic has a NaN"):
        train_actor(settings_of(train_actor, policy, critic), given, KEY, workspace)
    given = inputs(policy, critic, replay)
    given["parameters"][0] = np.inf
    with pytest.raises(NumericalError, match="actor has a NaN"):
        train_actor(settings_of(train_actor, policy, critic), given, KEY, workspace)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_numpy_policy_equals_torch(activation):
    policy, _ = specs(activation, (400, 300))
    parameters = initial_parameters(policy.sizes, (5,))
    observations = np.random.default_rng(1).standard_normal((50, OBSERVATION)).astype(np.float32)
    numpy_policy = NumpyPolicy(policy, parameters)
    expected = MLP(policy.sizes, activation, "tanh", torch.from_numpy(parameters))(torch.from_numpy(observations))
    actual = np.array([numpy_policy.normalised(observation).copy() for observation in observations])
    assert np.abs(actual - expected.numpy()).max() < 1e-6


def test_a_stochastic_policys_vector_and_the_gaussian_actors():
    """The same outputs from `NumpyPolicy` and, its heads separated, from `GaussianActor`."""
    policy, _ = specs(stochastic=True)
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
