"""Whole sequences of updates by the fast programs, against the learners as papers have them, on the same draws."""

import numpy as np
import pytest
import torch

from erlbench.algorithms.gradients.episode_loop import Memory
from erlbench.algorithms.gradients.learners.ddpg import DDPGLearner
from erlbench.algorithms.gradients.learners.sac import SACLearner
from erlbench.algorithms.gradients.learners.td3 import TD3Learner
from erlbench.algorithms.gradients.minibatches import Minibatches, Noise
from erlbench.algorithms.gradients.programs.program import InTurn
from erlbench.algorithms.gradients.programs.sac import SACProgram
from erlbench.algorithms.gradients.updates import make_updates, update_ddpg, update_td3
from erlbench.algorithms.training.critic import (
    actor_size,
    critic_spec,
    initial_learner,
    initial_soft_learner,
    learner_parts,
)
from erlbench.algorithms.training.update_settings import DDPGUpdate, SACUpdate, TD3Update, Updates, both_rates
from erlbench.policy import ACTIVATIONS, PolicySpec
from erlbench.work.seeding import Purpose, generator
from tests.algorithms.test_stable_baselines3 import filled_memory
from tests.devices import DEVICE

from .test_updates import ACTION, KEY, close, replay, specs, workspace  # noqa: F401 fixtures

UPDATES, BATCH = 20, 32
VARIANTS = {
    "v2": {"temperature": None, "value_network": False},
    "fixed": {"temperature": 0.2, "value_network": False},
    "v1": {"temperature": 1.0, "value_network": True, "reward_scale": 5.0},
    "v1-learnt": {"temperature": None, "value_network": True},
}


def learnt(kind, update, array, source, random, noises):
    """The learner after `UPDATES` updates from `array`, its state, and what each update reports."""
    state = torch.from_numpy(array.copy())
    learner, minibatches = kind(update, state), Minibatches(update.policy, BATCH, 1, "cpu")
    noise = Noise((noises, BATCH, update.policy.sizes[-1]), "cpu")
    reports = []
    for number in range(UPDATES):
        minibatches.draw(source, random)
        if noises:
            noise.draw(random)
        reports.append(learner.update(number, minibatches[0], noise.values).numpy())
    return learner, state.numpy(), np.array(reports)


def check_rows(rows, expected):
    """Parameters and targets, and Adam's moments."""
    *networks, first, second = zip(rows, expected)
    for row, wanted in networks:
        close(row, wanted)
    for row, wanted in (first, second):
        close(row, wanted, 1e-4)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("delay", [1, 2, 3])
def test_td3s_programs_equal_its_losses(delay, activation, replay, workspace):  # noqa: F811
    policy, critic = specs(activation)
    numbers = {**both_rates(1e-3), "discount": 0.99, "tau": 0.005, "target_noise": 0.2, "noise_clip": 0.5}
    update = TD3Update(policy, critic, BATCH, **numbers, policy_delay=delay)
    array = initial_learner(policy, critic, (5,))
    memory, random = Memory.of(replay.view(), workspace), generator(*KEY, int(Purpose.MINIBATCH))
    _, state, losses = learnt(TD3Learner, update, array, memory, random, 1)
    actor, critics = np.split(array, [4 * policy.size])
    given = {"actor": actor.reshape(4, -1), "critic": critics.reshape(critic.shape), "replay": replay.view()}
    outcome = update_td3(Updates(update, UPDATES), given, KEY, workspace)
    assert outcome.values == {
        "critic_updates": UPDATES,
        "actor_updates": len(range(0, UPDATES, delay)),
        "critic_loss": pytest.approx(losses.mean(), rel=1e-5),
    }
    actor, critics = np.split(state, [4 * policy.size])
    check_rows(outcome.arrays["actor"], actor.reshape(4, -1))
    check_rows(outcome.arrays["critic"], critics.reshape(4, -1))


@pytest.mark.parametrize(("decay", "clip"), [(0.0, None), (1e-2, None), (1e-2, 0.4)])
def test_ddpgs_programs_equal_its_losses(decay, clip, replay, workspace):  # noqa: F811
    policy, _ = specs()
    critic = critic_spec(policy, (16, 12), "relu", 1)
    rates = {"actor_learning_rate": 1e-4, "critic_learning_rate": 1e-3, "discount": 0.99, "tau": 0.005}
    update = DDPGUpdate(policy, critic, BATCH, **rates, critic_weight_decay=decay, critic_gradient_clip=clip)
    array = initial_learner(policy, critic, (5,), 3e-3)
    memory, random = Memory.of(replay.view(), workspace), generator(*KEY, int(Purpose.MINIBATCH))
    _, state, losses = learnt(DDPGLearner, update, array, memory, random, 0)
    outcome = update_ddpg(Updates(update, UPDATES), {"learner": array, "replay": replay.view()}, KEY, workspace)
    assert outcome.values["critic_loss"] == pytest.approx(losses.mean(), rel=1e-5)
    for rows, expected in zip(*(np.split(x, [4 * policy.size]) for x in (outcome.arrays["learner"], state))):
        check_rows(rows.reshape(4, -1), expected.reshape(4, -1))


@pytest.mark.parametrize("variant", VARIANTS)
def test_sacs_programs_equal_its_losses(variant, context):
    """Every network, its target, the temperature, and both numbers that an update reports."""
    policy = PolicySpec((3, 24, 16, ACTION), "relu", (-2.0,) * ACTION, (2.0,) * ACTION)
    critic, settings = critic_spec(policy, (20, 12), "relu"), {"reward_scale": 1.0} | VARIANTS[variant]
    update = SACUpdate(
        policy, critic, BATCH, **both_rates(3e-4), discount=0.99, tau=0.005, target_entropy=-2.0, **settings
    )
    array = initial_soft_learner(policy, critic, (5,), update.value_network)
    array[actor_size(policy) - 1] = 2.0  # a log std around the bound
    memory = filled_memory(context, np.random.default_rng(0), ACTION)
    theirs, state, expected = learnt(SACLearner, update, array, memory, np.random.default_rng(1), 2)
    mine = SACProgram(update, DEVICE)
    mine.load(array, 0, 0)
    reports = make_updates(mine, memory, np.random.default_rng(1), InTurn(), range(UPDATES)).cpu()
    close(reports.numpy(), expected)
    assert mine.alpha.item() == pytest.approx(theirs.alpha.item())
    start = 0
    for name, (rows, columns) in learner_parts(policy, critic, update.value_network).items():
        part = slice(start, start + rows * columns)
        found, wanted = (x[part].reshape(rows, columns) for x in (mine.state.cpu().numpy(), state))
        if name == "temperature" and update.temperature is not None:
            assert not found.any(), "a fixed temperature is not learnt"
        else:
            check_rows(found, wanted)
        start += rows * columns
