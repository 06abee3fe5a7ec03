"""The gradient tasks of TD3, DDPG and SAC against autograd, and their purity."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from erlbench.algorithms.gradients.crossq import update_critics, update_crossq
from erlbench.algorithms.gradients.episode_loop import Memory
from erlbench.algorithms.gradients.learners.sac import SoftActorBlock, SoftCriticBlock
from erlbench.algorithms.gradients.learners.td3 import ActorBlock, CriticBlock, twin_critics
from erlbench.algorithms.gradients.minibatches import Minibatches, Noise
from erlbench.algorithms.gradients.programs.blocks import MINIBATCHES
from erlbench.algorithms.gradients.updates import load_learner, train_actor, update_critic
from erlbench.algorithms.training.critic import critic_spec, initial_critic, learner_parts, separated
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate, CrossQUpdate, Updates, both_rates
from erlbench.errors import NumericalError
from erlbench.policy import ACTIVATIONS, PolicySpec, initial_policy
from erlbench.work.replay import Replay
from erlbench.work.seeding import Purpose, generator
from erlbench.work.store import Store
from erlbench.work.workspace import Workspace
from tests.devices import DEVICE

OBSERVATION, ACTION, KEY = 5, 2, (7, 4, 3)
UPDATES, BATCH = 30, 32


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
    store = Store(tmp_path)
    store.attach("replay", tmp_path / "replay")
    return Workspace(store, device=DEVICE)


def settings_of(task, policy, critic, updates=UPDATES, critic_updates=0, **changes):
    """The settings of a task function of `gradients.updates`; the temperature is SAC's."""
    values = {"batch_size": BATCH, "learning_rate": 1e-3, "temperature": 0.3}
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


def minibatches(policy, workspace, view, noisy):
    """The minibatches that a task with `KEY` draws, with the noise of the target actions."""
    random, source = generator(*KEY, int(Purpose.MINIBATCH)), Memory.of(view, workspace)
    drawn, noise = Minibatches(policy, BATCH, MINIBATCHES, "cpu"), Noise((MINIBATCHES, BATCH, ACTION), "cpu")
    for number in range(UPDATES):
        if number % MINIBATCHES == 0:
            drawn.draw(source, random)
            if noisy:
                noise.draw(random)
        yield drawn[number % MINIBATCHES], noise.values[number % MINIBATCHES]


def learnt_critics(settings, given, batches):
    """The critics' array after steps on these minibatches, by autograd, and the mean loss."""
    critics = torch.from_numpy(given["critic"].copy())
    target = torch.from_numpy(heads(settings.update.policy, given["target_actor"]))
    kind = SoftCriticBlock if settings.update.policy.stochastic else CriticBlock
    learner = kind(settings.update, critics, target)
    losses = [learner.update(number, batch, noise[None]).item() for number, (batch, noise) in enumerate(batches)]
    return critics.numpy(), np.mean(losses)


learners = pytest.mark.parametrize("stochastic", [False, True], ids=["td3", "sac"])


@pytest.mark.parametrize("learner", ["td3", "sac", "ddpg"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_critic_updates_equal_autograd(activation, learner, replay, workspace):
    policy, critic = specs(activation, stochastic=learner == "sac")
    more = {}
    if learner == "ddpg":  # one critic, target actions without noise
        critic, more = critic_spec(policy, (16, 12), "relu", 1), {"target_noise": 0.0}
    given, settings = inputs(policy, critic, replay), settings_of(update_critic, policy, critic, **more)
    rows, loss = learnt_critics(settings, given, minibatches(policy, workspace, given["replay"], not more))
    outcome = update_critic(settings, given, KEY, workspace)
    assert outcome.values == {"critic_updates": UPDATES, "critic_loss": pytest.approx(loss, rel=1e-5)}
    assert outcome.arrays["critic"].shape == critic.shape
    close(outcome.arrays["critic"][0], rows[0])
    close(outcome.arrays["critic"][1], rows[1])


@learners
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_actor_updates_equal_autograd(activation, stochastic, replay, workspace):
    policy, critic = specs(activation, stochastic=stochastic)
    given, settings = inputs(policy, critic, replay), settings_of(train_actor, policy, critic)
    parameters = torch.from_numpy(heads(policy, given["parameters"]).copy())
    q, moments = twin_critics(critic, torch.from_numpy(given["critic"][0])), torch.zeros(2, len(parameters))
    soft = stochastic and SoftActorBlock(settings.update, parameters, moments, q)
    learner = soft or ActorBlock(settings.update, parameters, q)
    for batch, noise in minibatches(policy, workspace, given["replay"], stochastic):
        learner.update(0, batch, noise[None])
    outcome = train_actor(settings, given, KEY, workspace)
    assert outcome.values == {"actor_updates": UPDATES}
    close(heads(policy, outcome.arrays["parameters"]), parameters.numpy())


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
    if stochastic:
        given, critic = inputs(policy, normalised := replace(critic, normalised=True), replay), normalised
        given["target_actor"][0] = np.nan
        with pytest.raises(NumericalError, match=r"update 1\b.*nan"):
            update_critics(settings_of(update_critic, policy, critic), given, KEY, workspace)


def test_a_task_of_many_updates_is_as_many_tasks_in_a_row(replay, workspace):
    """With the same minibatches: parameters, moments, statistics and counts of the warm-up are all in what is passed.

    Mutations: statistics or moments that stay in a worker, Adam or the warm-up that count anew, a delay that forgets.
    """
    policy, critic = specs("relu")
    critic = replace(critic, normalised=True)
    numbers = both_rates(1e-3) | {"discount": 0.9, "temperature": None, "target_entropy": -2.0, "actor_norm": True}
    update = CrossQUpdate(policy, critic, 16, policy_delay=1, **numbers)
    size = sum(a * b for a, b in learner_parts(policy, critic, False, True).values())
    array = 0.3 * np.random.default_rng(0).random(size, np.float32)

    def updated(array, before, updates, key):
        given = {"learner": array, "replay": replay.view()}
        return update_crossq(Updates(update, updates, before, before), given, key, workspace).arrays["learner"]

    first = updated(array, 99_999, 1, KEY)
    second = updated(first, 100_000, 1, (*KEY, 1))
    workspace.scratch.clear()
    assert np.array_equal(updated(array, 99_999, 1, KEY), first)
    updated(array, 0, 3, KEY)  # other work in between
    assert np.array_equal(updated(first, 100_000, 1, (*KEY, 1)), second)
    assert not np.array_equal(updated(first, 99_999, 1, (*KEY, 1)), second), "the warm-up is over"


def test_a_task_of_normalised_critics_goes_on_from_the_count_that_it_is_given(replay, workspace):
    """Mutations: Adam and the warm-up count what the worker has done; either counts from 0; one update later."""
    policy, critic = specs("relu", stochastic=True)
    given = inputs(policy, critic := replace(critic, normalised=True), replay)

    def updated(before, updates=1):
        settings = settings_of(update_critic, policy, critic, updates, before)
        return update_critics(settings, given, KEY, workspace).arrays["critic"]

    later = updated(100_000)
    assert not np.array_equal(updated(0, 3), later)  # other work in between
    assert np.array_equal(updated(100_000), later)
    assert not np.array_equal(updated(99_999), later), "the warm-up is over"
    assert not np.array_equal(updated(0), updated(10)), "Adam goes on"


def test_a_worker_keeps_the_four_learners_that_it_used_last(workspace):
    made = Mock(side_effect=lambda settings, device: settings)
    for settings in "abcdaeacde":
        assert load_learner(workspace, made, settings)[0] == settings
    assert made.call_count == 5
    load_learner(workspace, made, "b")
    assert made.call_count == 6
