"""The task functions of learners that learn while they act: episodes with an update after every step."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from erlbench.algorithms.gradients.episode_loop import Memory, learn_episodes
from erlbench.algorithms.gradients.minibatches import saved
from erlbench.algorithms.gradients.programs.sac import SACProgram
from erlbench.algorithms.gradients.programs.td3 import DDPGProgram, TD3Program
from erlbench.algorithms.gradients.updates import MakeProgram, check_reports, checked_means, load_learner, make_updates
from erlbench.algorithms.training.update_settings import Episodes
from erlbench.work.contract import info_values
from erlbench.work.rollout import ExplorationNoise, transitions
from erlbench.work.seeding import Key
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace


def train(
    kind: MakeProgram, settings: Episodes[Any], inputs: Mapping[str, Any], key: Key, workspace: Workspace
) -> Outcome:
    """`settings.episodes` episodes; see `episode_loop.learn_episodes`.

    Inputs: `learner` (`initial_learner` of the algorithm), `replay` (a view of the past). Values: `returns`,
    `lengths`, `critic_updates`, `actor_updates`, `critic_loss`, and of a learner that draws its actions `entropy`
    (means; 0 without updates) and `temperature` (last). Arrays: `learner`, `actor` (the deterministic policy), and
    what `Replay.append` takes. A NaN or infinite value raises `NumericalError`.
    """
    update, before = settings.update, settings.critic_updates
    learner, executor = load_learner(workspace, kind, update)
    learner.load(inputs["learner"], before, settings.actor_updates)
    reports = torch.zeros(settings.limit * settings.episodes, len(learner.report), device=workspace.device)
    noise = ExplorationNoise(update.policy.sizes[-1], settings.noise_decay, settings.exploration_noise)

    def act(observation: np.ndarray, random: np.random.Generator, action: np.ndarray) -> None:
        learner.act(observation, random, action, noise)

    def learn(memory: Memory, random: np.random.Generator, index: int) -> None:
        number = before + index + 1
        report = make_updates(learner, memory, random, executor, range(number, number + 1))
        learner.renew_acting()
        check_reports(report, number - 1)
        reports[index] = report[0]

    episodes, updates = learn_episodes(settings, inputs["replay"], key, workspace, act, learn)
    means, delay = checked_means(reports[:updates], before), getattr(update, "policy_delay", 1)
    values: dict[str, Any] = {
        "returns": [episode.total for episode in episodes],
        "lengths": [episode.length for episode in episodes],
        "critic_updates": updates,
        "actor_updates": (before + updates) // delay - before // delay,
        "critic_loss": means[0],
        **info_values([episode.infos for episode in episodes]),
    }
    if update.stochastic:
        values |= {"entropy": 0.0 - means[1], "temperature": learner.temperature}
    state = saved(learner.state, "the learner")
    return Outcome(values, {"learner": state, "actor": learner.deterministic(state), **transitions(episodes)})


train_td3 = partial(train, TD3Program)
train_ddpg = partial(train, DDPGProgram)
train_sac = partial(train, SACProgram)
