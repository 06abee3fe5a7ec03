"""SAC: its actor against autograd, its updates against Stable-Baselines3's, its episodes, and its schedule."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import stable_baselines3
import torch
from stable_baselines3.common.logger import Logger

from erlbench.algorithms.gradients.episodes import train_sac
from erlbench.algorithms.gradients.learners.sac import GaussianPolicy
from erlbench.algorithms.gradients.programs import networks
from erlbench.algorithms.gradients.programs.program import InTurn
from erlbench.algorithms.gradients.programs.sac import GaussianActor, SACProgram
from erlbench.algorithms.gradients.updates import make_updates
from erlbench.algorithms.sac import SAC, SACSettings
from erlbench.algorithms.training.critic import actor_size, critic_spec, initial_soft_learner
from erlbench.algorithms.training.update_settings import SACUpdate, both_rates
from erlbench.errors import NumericalError
from erlbench.policy import ACTIVATIONS, NumpyPolicy, PolicySpec
from erlbench.work.workspace import Workspace
from tests.algorithms.batches import Recorded, TheirBuffer, filled_memory, flat_parameters

from .episodes import check_random_warmup, check_schedule

SMALL = SACSettings(hidden=(16, 16), critic_hidden=(16, 16), batch_size=8, start_timesteps=250)
POLICY = PolicySpec((3, 24, 16, 2), "relu", (-2.0, -1.0), (2.0, 1.0))
CRITIC = critic_spec(POLICY, (20, 12), "relu")


def update_of(policy, critic, batch, **changes):
    values = {name: getattr(SACSettings(), name) for name in ("discount", "tau", "reward_scale")}
    values |= (
        both_rates(SACSettings().learning_rate)
        | {"target_entropy": -2.0, "temperature": None, "value_network": False}
        | changes
    )
    return SACUpdate(policy, critic, batch, **values)


def run_all(*stages):
    for stage in stages:
        for lane in stage:
            for operation in lane:
                operation()


def close(found, expected, relative=1e-5):
    found, expected = np.asarray(found), np.asarray(expected)
    assert np.abs(found - expected).max() <= relative * max(np.abs(expected).max(), 1e-3)


@pytest.mark.parametrize("numpy_operations", [True, False], ids=["numpy", "torch"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_samples_and_gradients_equal_autograd(activation, numpy_operations, monkeypatch):
    """Also where log std is clipped at 2 and has no gradient; noise and so actions stay where tanh is not flat."""
    if not numpy_operations:  # what a GPU runs
        monkeypatch.setattr(networks, "on_cpu", lambda tensor: False)
    policy = replace(POLICY, activation=activation)
    random = torch.Generator().manual_seed(1)
    parameters = 0.2 * torch.randn(actor_size(policy), generator=random)
    parameters[-1] = 2.0
    observations = torch.randn(50, 3, generator=random)
    noise, weights = 0.1 * torch.randn(2, 50, 2, generator=random)
    gradients = torch.full_like(parameters, torch.nan)
    actor = GaussianActor(policy, parameters, observations, gradients)
    for _ in range(2):  # the second pass finds used buffers
        run_all([actor.draw(noise)])
        actions, log_probability = actor.actions.clone(), actor.log_probabilities.clone()
        run_all([actor.backward(torch.tensor([0.3]), weights.clone())])
    wanted = torch.zeros(len(parameters)).double()
    theirs = GaussianPolicy(policy, parameters.double(), wanted)
    expected, expected_log = theirs.sample(observations.double(), noise.double())
    (0.3 * expected_log.sum() + (weights * expected).sum()).backward()
    close(actions, expected.detach())
    close(log_probability, expected_log.detach())
    close(gradients, wanted)
    raw = actor._log_std.outputs[0]
    assert (raw > 2).any()
    assert (raw < 2).any()


def test_updates_of_sac_equal_stable_baselines3(context):
    """Twenty updates of critics, actor, temperature and targets from the same weights, batches and noise.

    Its correction for tanh is the same formula with the same epsilon. It steps the temperature first, but uses the
    old one in the losses.
    """
    updates, batch = 20, 32
    model = stable_baselines3.SAC("MlpPolicy", "Pendulum-v1", policy_kwargs={"net_arch": [24, 16]}, device="cpu")
    model.set_logger(Logger(None, []))
    policy = PolicySpec((3, 24, 16, 1), "relu", (-2.0,), (2.0,))
    critic = critic_spec(policy, (24, 16), "relu")
    array = initial_soft_learner(policy, critic, False, (1,))
    actor, q = flat_parameters(model.actor), flat_parameters(model.critic)
    array[: len(actor)] = actor
    start = 3 * len(actor) + 3
    array[start : start + 2 * len(q)] = np.concatenate([q, q])
    mine = SACProgram(update_of(policy, critic, batch, target_entropy=-1.0), "cpu")
    mine.load(array, 0, 0)
    assert (model.target_entropy, model.learning_rate, model.gamma, model.tau) == (-1.0, 3e-4, 0.99, 0.005)
    random = np.random.default_rng(0)
    drawn = Recorded(random, filled_memory(context, random, 1))
    noises, theirs = [], {}

    model.replay_buffer = TheirBuffer(drawn)
    model.logger.record = lambda name, value, **more: theirs.__setitem__(name, value)
    rows = torch.zeros(updates, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.distributions.normal, "_standard_normal", lambda *arguments, **more: noises.pop(0))
        for row in rows:
            alpha = mine.alpha.item()
            row[:] = make_updates(mine, drawn.memory, drawn, InTurn(), range(1))[0]
            noises[:] = drawn.noise.flip(0)  # it samples for the actor first
            model.train(1, batch)
            assert not noises
            assert row[0].item() == pytest.approx(theirs["train/critic_loss"], rel=1e-5)
            assert alpha == pytest.approx(theirs["train/ent_coef"], rel=1e-6)
            found = [mine._host.tensor, mine.critics.state[0], mine.critics.state[1]]
            for vector, module in zip(found, (model.actor, model.critic, model.critic_target)):
                expected = flat_parameters(module)
                assert np.abs(vector.numpy() - expected).max() <= 1e-5 * np.abs(expected).max()
            assert mine.alpha.item() == pytest.approx(model.log_ent_coef.exp().item(), rel=1e-6)
    assert abs(math.log(mine.alpha.item())) == pytest.approx(20 * 3e-4, rel=0.05)


def test_sac_keeps_its_schedule_and_ends_on_budget(context):
    algorithm = SAC(SMALL, context)
    check_schedule(algorithm, Workspace(context.store))
    check_random_warmup(context)
    learner = context.store.get(algorithm.state.learner)
    assert 0.8 < algorithm.metrics()["temperature"] < 1.0, "400 steps of at most 3e-4 in log alpha"
    assert math.exp(learner[3 * actor_size(algorithm.policy_spec)]) == pytest.approx(algorithm.state.temperature)
    assert -2.0 < algorithm.metrics()["entropy"] < math.log(2.0), "of the uniform distribution on [-1, 1]"


def test_reported_policy_is_the_mean_and_samples_spread_around_it():
    """`NumpyPolicy` of the vector's beginning equals the sample without noise; `act` draws tanh(N(mean, std))."""
    array = initial_soft_learner(POLICY, CRITIC, False, (4,))
    learner = SACProgram(update_of(POLICY, CRITIC, 8), "cpu")
    learner.load(array, 0, 0)
    reported, observation = NumpyPolicy(POLICY, array[: POLICY.size]), np.array([0.5, -1.0, 2.0])

    class Still:
        def standard_normal(self, out, dtype):
            out[:] = 0.0

    action = np.empty(2, np.float32)
    learner.act(observation, Still(), action)
    assert action == pytest.approx(reported.normalised(observation), abs=1e-6)
    random, drawn = np.random.default_rng(0), np.empty((4000, 2), np.float32)
    for row in drawn:
        learner.act(observation, random, row)
    u = np.arctanh(drawn.astype(float).clip(-1 + 1e-7, 1 - 1e-7))
    std = np.exp(learner._acting._log_std.outputs[0][0].numpy())
    assert u.mean(0) == pytest.approx(np.arctanh(action), abs=0.06)
    assert u.std(0) == pytest.approx(std, rel=0.05)


@pytest.mark.parametrize("wrong", ["critic", "actor"])
def test_not_a_number_is_an_error_of_sac(wrong, context):
    algorithm = SAC(replace(SMALL, start_timesteps=0), context)
    (task,) = algorithm.ask()
    inputs = {name: context.store.load(value) for name, value in task.inputs.items()}
    inputs["learner"] = inputs["learner"].copy()
    if wrong == "critic":
        inputs["learner"][-3 * algorithm._critic.size * 2 - 1] = np.inf  # the last parameter of the online Q2
        message = "loss of update 1 is"
    else:
        inputs["learner"][algorithm.policy_spec.size - 1] = np.nan  # the mean's bias
        message = "the action of step 1 has a NaN"
    with pytest.raises(NumericalError, match=message):
        train_sac(task.settings, inputs, task.key, Workspace(context.store))


def test_target_entropy(context):
    for given, expected in ((None, -1.0), (-0.5, -0.5)):
        (task,) = SAC(replace(SMALL, target_entropy=given), context).ask()
        assert task.settings.update.target_entropy == expected
