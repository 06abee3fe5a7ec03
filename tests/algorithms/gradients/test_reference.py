"""Whole sequences of updates against the references, from the same parameters, transitions and draws."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from erlbench.algorithms import ddpg, sac, td3
from erlbench.algorithms.gradients.learners.sac import SACLearner
from erlbench.algorithms.gradients.programs.program import InTurn
from erlbench.algorithms.gradients.reference.ddpg import DDPGReference
from erlbench.algorithms.gradients.reference.networks import Experience, flat_parameters
from erlbench.algorithms.gradients.reference.sac import SACReference
from erlbench.algorithms.gradients.reference.td3 import TD3Reference
from erlbench.algorithms.gradients.updates import make_updates, update_ddpg, update_td3
from erlbench.algorithms.training.critic import critic_spec
from erlbench.algorithms.training.update_settings import DDPGUpdate, SACUpdate, TD3Update, Updates, learner_parts
from erlbench.policy import ACTIVATIONS, PolicySpec
from erlbench.work.seeding import Purpose, generator
from tests.algorithms.batches import filled_memory
from tests.devices import DEVICE

from .test_updates import ACTION, KEY, close, replay, specs, workspace  # noqa: F401 fixtures

UPDATES, BATCH = 20, 32
VARIANTS = {
    "v2": {"temperature": None, "value_network": False},
    "fixed": {"temperature": 0.2, "value_network": False},
    "v1": {"temperature": 1.0, "value_network": True, "reward_scale": 5.0},
    "v1-learnt": {"temperature": None, "value_network": True},
}


def experience(observations, transitions, following):
    """All transitions, for a reference."""
    columns = observations, transitions[:, :-2], transitions[:, -2:-1], transitions[:, -1:], following
    return Experience(*(torch.from_numpy(np.array(column)) for column in columns))


def experience_of(workspace, replay):  # noqa: F811
    """All transitions of a replay, which skips those between episodes."""
    reader = workspace.replay(replay.view())
    rows = np.array(reader.rows)
    return experience(reader.observations[rows], reader.transitions[: len(rows)], reader.observations[rows + 1])


def check_rows(rows, online, target, adam):
    """Parameters, targets and Adam's moments as a learner's array has them; a `target` of None has no row."""
    close(rows[0], flat_parameters(online))
    if target is not None:
        close(rows[1], flat_parameters(target))
    for row, name in ((-2, "exp_avg"), (-1, "exp_avg_sq")):
        close(rows[row], np.concatenate([state[name].flatten().numpy() for state in adam.state.values()]), 1e-4)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("delay", [1, 2, 3])
def test_td3s_updates_equal_the_reference(delay, activation, replay, workspace):  # noqa: F811
    policy, critic = specs(activation)
    update = TD3Update(
        policy,
        critic,
        BATCH,
        learning_rate=1e-3,
        discount=0.99,
        tau=0.005,
        target_noise=0.2,
        noise_clip=0.5,
        policy_delay=delay,
    )
    array = td3.initial_learner(policy, critic, (5,))
    reference, random = TD3Reference(update, array), generator(*KEY, int(Purpose.MINIBATCH))
    past = experience_of(workspace, replay)
    losses = [reference.update(number, past, random) for number in range(UPDATES)]
    actor, critics = np.split(array, [4 * policy.size])
    given = {"actor": actor.reshape(4, -1), "critic": critics.reshape(critic.shape), "replay": replay.view()}
    outcome = update_td3(Updates(update, UPDATES), given, KEY, workspace)
    assert outcome.values == {
        "critic_updates": UPDATES,
        "actor_updates": len(range(0, UPDATES, delay)),
        "critic_loss": pytest.approx(np.mean(losses), rel=1e-5),
    }
    check_rows(outcome.arrays["actor"], reference.actor, reference.target_actor, reference.actor_adam)
    check_rows(outcome.arrays["critic"], reference.critics, reference.target_critics, reference.critic_adam)


@pytest.mark.parametrize(("decay", "clip"), [(0.0, None), (1e-2, None), (1e-2, 0.4)])
def test_ddpgs_updates_equal_the_reference(decay, clip, replay, workspace):  # noqa: F811
    policy, _ = specs()
    critic = critic_spec(policy, (16, 12), "relu", 1)
    update = DDPGUpdate(
        policy,
        critic,
        BATCH,
        actor_learning_rate=1e-4,
        critic_learning_rate=1e-3,
        critic_weight_decay=decay,
        critic_gradient_clip=clip,
        discount=0.99,
        tau=0.005,
    )
    array = ddpg.initial_learner(policy, critic, 3e-3, (5,))
    reference, random = DDPGReference(update, array), generator(*KEY, int(Purpose.MINIBATCH))
    past = experience_of(workspace, replay)
    losses = [reference.update(past, random) for _ in range(UPDATES)]
    outcome = update_ddpg(Updates(update, UPDATES), {"learner": array, "replay": replay.view()}, KEY, workspace)
    assert outcome.values["critic_loss"] == pytest.approx(np.mean(losses), rel=1e-5)
    actors, critics = np.split(outcome.arrays["learner"], [4 * policy.size])
    check_rows(actors.reshape(4, -1), reference.actor, reference.target_actor, reference.actor_adam)
    check_rows(critics.reshape(4, -1), reference.critic, reference.target_critic, reference.critic_adam)


@pytest.mark.parametrize("variant", VARIANTS)
def test_sacs_updates_equal_the_reference(variant, context):
    """Every network, its target, the temperature, and both numbers that an update reports."""
    policy = PolicySpec((3, 24, 16, ACTION), "relu", (-2.0,) * ACTION, (2.0,) * ACTION)
    critic, settings = critic_spec(policy, (20, 12), "relu"), {"reward_scale": 1.0} | VARIANTS[variant]
    update = SACUpdate(
        policy, critic, BATCH, learning_rate=3e-4, discount=0.99, tau=0.005, target_entropy=-2.0, **settings
    )
    array = sac.initial_learner(policy, critic, update.value_network, (5,))
    memory = filled_memory(context, np.random.default_rng(0), ACTION)
    past = experience(memory.observations[:-1], memory._transitions, memory.observations[1:])
    reference, random, mine = SACReference(update, array), np.random.default_rng(1), SACLearner(update, DEVICE)
    expected = [reference.update(past, random) for _ in range(UPDATES)]
    mine.load(array, 0, 0)
    found = make_updates(mine, memory, np.random.default_rng(1), InTurn(), range(UPDATES)).cpu()
    close(found.numpy(), np.array(expected))
    assert mine.alpha.item() == pytest.approx(reference.alpha)
    parts, start = {}, 0
    for name, (rows, columns) in learner_parts(policy, critic, update.value_network).items():
        parts[name] = mine.state[start : start + rows * columns].view(rows, columns).cpu().numpy()
        start += rows * columns
    check_rows(parts["actor"], reference.actor, None, reference.actor_adam)
    check_rows(parts["critic"], reference.critics, reference.target_critics, reference.critic_adam)
    if update.value_network:
        check_rows(parts["value"], reference.value, reference.target_value, reference.value_adam)
    if update.temperature is None:
        assert parts["temperature"][0] == pytest.approx(reference.log_alpha.detach().numpy())
    else:
        assert not parts["temperature"].any(), "a fixed temperature is not learnt"
