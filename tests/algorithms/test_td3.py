"""TD3: its updates against Stable-Baselines3's, its episodes, and its schedule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import stable_baselines3
import torch
from stable_baselines3.common.logger import Logger

from erlbench.algorithms.gradients.episode_loop import Memory
from erlbench.algorithms.gradients.programs.program import InTurn
from erlbench.algorithms.gradients.programs.td3 import TD3Program
from erlbench.algorithms.gradients.updates import make_updates
from erlbench.algorithms.td3 import TD3, TD3Settings
from erlbench.algorithms.training.critic import critic_spec
from erlbench.algorithms.training.update_settings import TD3Update
from erlbench.policy import PolicySpec
from erlbench.work.rollout import Episode
from erlbench.work.workspace import Workspace
from tests.algorithms.batches import Recorded, TheirBuffer, filled_memory, flat_parameters

from .episodes import check_random_warmup, check_schedule

SMALL = TD3Settings(hidden=(16, 16), critic_hidden=(16, 16), batch_size=8, start_timesteps=250)


def test_td3_keeps_its_schedule_and_ends_on_budget(context):
    algorithm = TD3(SMALL, context)
    check_schedule(algorithm, Workspace(context.store), updates_per_actor_update=2)
    check_random_warmup(context)


def test_updates_of_td3_equal_stable_baselines3(context):
    """Twenty updates of critics, actor and targets, from the same weights on the same batches and noise."""
    updates, batch = 20, 32
    model = stable_baselines3.TD3("MlpPolicy", "Pendulum-v1", policy_kwargs={"net_arch": [24, 16]}, device="cpu")
    model.set_logger(Logger(None, []))
    model.batch_size = batch
    policy = PolicySpec((3, 24, 16, 1), "relu", (-2.0,), (2.0,))
    critic = critic_spec(policy, (24, 16), "relu")
    numbers = model.learning_rate, model.gamma, model.tau, model.target_policy_noise, model.target_noise_clip
    names = ("actor_learning_rate", "discount", "tau", "target_noise", "noise_clip")
    values = dict(zip(names, numbers, strict=True)) | {"critic_learning_rate": numbers[0]}
    update = TD3Update(policy, critic, batch, **values, policy_delay=2)
    mine = TD3Program(update, "cpu")
    actor, q = flat_parameters(model.actor), flat_parameters(model.critic)
    zeros = np.zeros_like
    mine.load(np.concatenate([actor, actor, zeros(actor), zeros(actor), q, q, zeros(q), zeros(q)]), 0, 0)
    random = np.random.default_rng(0)
    drawn = Recorded(random, filled_memory(context, random, 1))
    losses, theirs = torch.zeros(updates), []

    def noise(tensor, mean, std):
        return tensor.copy_(std * drawn.noise[0])

    model.replay_buffer = TheirBuffer(drawn)
    model.logger.record = lambda name, value, **more: theirs.append(value) if "critic" in name else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "normal_", noise)
        for update in range(updates):
            losses[update] = make_updates(mine, drawn.memory, drawn, InTurn(), range(update + 1, update + 2))
            model.train(1, batch)
    assert losses.numpy() == pytest.approx(np.array(theirs), rel=1e-5)
    expected = [model.actor, model.actor_target, model.critic, model.critic_target]
    actors, critics = mine.state[: 4 * policy.size].view(4, -1), mine.critics.state
    for row, module in zip((actors[0], actors[1], critics[0], critics[1]), expected):
        vector = flat_parameters(module)
        assert np.abs(row.numpy() - vector).max() <= 1e-5 * np.abs(vector).max()


def test_memory_joins_past_and_present(context, tmp_path):
    replay = context.replay
    replay.append(np.arange(15.0).reshape(5, 3), np.full((4, 1), 0.5), np.arange(4.0), np.ones(4), [4])
    workspace = Workspace(context.store)
    memory = Memory(replay.view(), workspace, 3, 5)
    algorithm = TD3(replace(SMALL, start_timesteps=0), context)
    (task,) = algorithm.ask()
    result = workspace.run(task)
    assert result.values["critic_updates"] == 200, "the first update has only the step before it and the past"
    episode = Episode(3, 3, 1)
    episode.observations[:] = 100 + np.arange(12).reshape(4, 3)
    episode.actions[:], episode.rewards[:] = -0.5, (7, 8, 9)
    memory.observations[0] = episode.observations[0]
    for episode.length in (1, 2, 3):
        episode.terminated = episode.length == 3
        memory.add(episode)
    assert (memory.start, memory.stop) == (2, 7), "the ring holds five transitions"
    arrays = [np.empty((4, n), np.float32) for n in (3, 3, 3)]
    memory.gather(np.array([6, 3, 4, 0]), *arrays)
    assert arrays[0][:, 0].tolist() == [9, 0, 106, 100]
    assert arrays[1].tolist() == [[0.5, 3, 1], [0.5, 0, 1], [-0.5, 9, 0], [-0.5, 7, 1]]
    assert arrays[2][:, 0].tolist() == [12, 3, 109, 103]
