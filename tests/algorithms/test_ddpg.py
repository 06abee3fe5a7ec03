"""DDPG: its updates against Stable-Baselines3's, its noise, its episodes, and its block of updates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import stable_baselines3
import torch
from stable_baselines3.common.logger import Logger

from erlbench.algorithms.ddpg import DDPG, DDPGSettings
from erlbench.algorithms.gradients.episodes import train_ddpg
from erlbench.algorithms.gradients.learners.networks import MLP
from erlbench.algorithms.gradients.programs.program import InTurn
from erlbench.algorithms.gradients.programs.td3 import DDPGProgram
from erlbench.algorithms.gradients.updates import make_updates
from erlbench.algorithms.training.critic import critic_spec, initial_learner
from erlbench.algorithms.training.update_settings import DDPGUpdate
from erlbench.policy import PolicySpec, layer_slices
from erlbench.work.rollout import ExplorationNoise
from erlbench.work.seeding import generator
from erlbench.work.workspace import Workspace

from .batches import Recorded, TheirBuffer, filled_memory, flat_parameters
from .episodes import check_schedule, run

SMALL = DDPGSettings(hidden=(16, 16), critic_hidden=(16, 16), batch_size=8, start_timesteps=250)


@pytest.mark.parametrize(("decay", "clip"), [(0.0, None), (1e-2, None), (1e-2, 0.4)])
def test_updates_of_ddpg_equal_stable_baselines3(decay, clip, context):
    """Twenty updates of critic, actor and targets, from the same weights on the same batches; PyTorch clips theirs."""
    updates, batch = 20, 32
    model = stable_baselines3.DDPG(
        "MlpPolicy", "Pendulum-v1", policy_kwargs={"net_arch": [24, 16]}, seed=0, device="cpu"
    )
    model.set_logger(Logger(None, []))
    for optimiser, rate in ((model.actor.optimizer, 1e-4), (model.critic.optimizer, 1e-3)):
        optimiser.param_groups[0]["lr"] = rate
    model._update_learning_rate = lambda optimisers: None
    model.critic.optimizer.param_groups[0]["weight_decay"] = decay
    norms = []
    if clip is not None:
        model.critic.optimizer.register_step_pre_hook(
            lambda *_: norms.append(float(torch.nn.utils.clip_grad_norm_(model.critic.parameters(), clip)))
        )
    policy = PolicySpec((3, 24, 16, 1), "relu", (-2.0,), (2.0,))
    critic = critic_spec(policy, (24, 16), "relu", 1)
    mine = DDPGProgram(
        DDPGUpdate(
            policy,
            critic,
            batch,
            actor_learning_rate=1e-4,
            critic_learning_rate=1e-3,
            critic_weight_decay=decay,
            critic_gradient_clip=clip,
            discount=model.gamma,
            tau=model.tau,
        ),
        "cpu",
    )
    actor, q = flat_parameters(model.actor), flat_parameters(model.critic)
    zeros = np.zeros_like
    mine.load(np.concatenate([actor, actor, zeros(actor), zeros(actor), q, q, zeros(q), zeros(q)]), 0, 0)
    random = np.random.default_rng(0)
    drawn = Recorded(random, filled_memory(context, random, 1))
    losses, theirs = torch.zeros(updates), []
    model.replay_buffer = TheirBuffer(drawn)
    model.logger.record = lambda name, value, **more: theirs.append(value) if "critic" in name else None
    for update in range(updates):
        losses[update] = make_updates(mine, drawn.memory, drawn, InTurn(), range(1))
        model.train(1, batch)
    assert losses.numpy() == pytest.approx(np.array(theirs), rel=1e-5)
    assert clip is None or min(norms) < clip < max(norms)  # both cases are met
    expected = [model.actor, model.actor_target, model.critic, model.critic_target]
    actors, critics = mine.state[: 4 * policy.size].view(4, -1), mine.critics.state
    for row, module in zip((actors[0], actors[1], critics[0], critics[1]), expected):
        vector = flat_parameters(module)
        assert np.abs(row.numpy() - vector).max() <= 1e-5 * np.abs(vector).max()


def test_ddpg_keeps_its_schedule_and_ends_on_budget(context):
    check_schedule(DDPG(SMALL, context), Workspace(context.store))


@pytest.mark.parametrize("noise", ["ou", "gaussian"])
def test_episodes_are_pure_and_their_noise_is_the_one_asked_for(noise, context):
    """The same task gives the same bits in a used workspace; the steps of the replay less the policy are the noise."""
    settings = replace(SMALL, noise=noise, start_timesteps=0, exploration_noise=0.01, actor_learning_rate=0.0)
    algorithm = DDPG(settings, context)
    policy = context.store.get(algorithm.policy()).copy()
    done = run(algorithm, Workspace(context.store))
    used = Workspace(context.store)
    used.run(done[3][0])
    for workspace in (Workspace(context.store), used):
        task, result = done[1]
        inputs = {name: context.store.load(value) for name, value in task.inputs.items()}
        outcome = train_ddpg(task.settings, inputs, task.key, workspace)
        assert outcome.values == result.values
        for name, ref in result.arrays.items():
            assert outcome.arrays[name].tobytes() == context.store.get(ref).tobytes()
    reader = Workspace(context.store).replay(context.replay.view())
    observations = torch.from_numpy(np.array(reader.observations[reader.rows]))
    means = MLP(algorithm.policy_spec.sizes, "relu", "tanh", torch.from_numpy(policy))(observations).numpy()
    left = (reader.transitions[:, :1] - means)[:600].reshape(3, 200).astype(float)
    theta = 0.15 if noise == "ou" else 1.0
    shocks = (left[:, 1:] - (1 - theta) * left[:, :-1]).ravel()
    assert shocks.std() == pytest.approx(0.01, rel=0.1)
    assert abs(np.corrcoef(shocks[:-1], shocks[1:])[0, 1]) < 0.1
    assert np.abs(left[:, 0]).max() < 0.04, "it starts from zero at each episode"


def test_noise_by_hand():
    random = generator(5)
    drawn = random.standard_normal((3, 2), dtype=np.float32)
    noise, random = ExplorationNoise(2, 0.15, 0.2), generator(5)
    x = np.zeros(2)
    for row in drawn:
        x = 0.85 * x + 0.2 * row
        assert noise.step(random) == pytest.approx(x, rel=1e-5)


@pytest.mark.parametrize("final_init", [None, 3e-3])
def test_where_ddpg_starts(final_init):
    policy = PolicySpec((3, 8, 2), "relu", (-1.0,) * 2, (1.0,) * 2)
    critic = critic_spec(policy, (8,), "relu", 1)
    learner = initial_learner(policy, critic, (1, 2), final_init)
    actors, critics = learner[: 4 * policy.size].reshape(4, -1), learner[4 * policy.size :].reshape(4, critic.size)
    for rows, sizes in ((actors, policy.sizes), (critics, critic.sizes)):
        assert np.array_equal(rows[0], rows[1])
        assert not rows[2:].any()
        weight, bias = layer_slices(sizes)[-1]
        last, first = np.abs(rows[0][weight.start : bias.stop]).max(), np.abs(rows[0][: weight.start]).max()
        assert last <= (final_init or 8**-0.5)
        assert last > 0.8 * (final_init or 8**-0.5)
        assert first > 0.3
    assert not np.array_equal(learner, initial_learner(policy, critic, (1, 3), final_init))
