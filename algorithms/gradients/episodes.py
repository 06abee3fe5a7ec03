"""The task functions of TD3, DDPG and SAC: episodes with an update after every step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from erlbench.algorithms.gradients.episode_loop import Act, Memory, learn_episodes
from erlbench.algorithms.gradients.minibatches import saved
from erlbench.algorithms.gradients.programs.program import Executor
from erlbench.algorithms.gradients.programs.sac import SACProgram
from erlbench.algorithms.gradients.programs.td3 import DDPGProgram, TD3Program
from erlbench.algorithms.gradients.updates import check_reports, checked_means, learner_of, make_updates
from erlbench.algorithms.training.update_settings import DDPGUpdate, Episodes, SACUpdate, TD3Update
from erlbench.work.contract import info_values
from erlbench.work.rollout import ExplorationNoise, transitions
from erlbench.work.seeding import Key
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace


def train_td3(settings: Episodes[TD3Update], inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: episodes with updates of TD3; inputs and outcome as `train` has them."""
    learner, executor = learner_of(workspace, TD3Program, settings.update)

    def act(observation: np.ndarray, random: np.random.Generator, action: np.ndarray) -> None:
        noise = random.standard_normal(len(action), dtype=np.float32)
        action[:] = learner.acting.normalised(observation)
        action += settings.exploration_noise * noise
        np.clip(action, -1.0, 1.0, out=action)

    outcome = train(learner, executor, settings, inputs, key, workspace, act)
    before, delay = settings.critic_updates, settings.update.policy_delay
    actor_updates = (before + outcome.values["critic_updates"]) // delay - before // delay
    return Outcome({**outcome.values, "actor_updates": actor_updates}, outcome.arrays)


def train_ddpg(settings: Episodes[DDPGUpdate], inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: episodes with updates of DDPG; inputs and outcome as `train` has them."""
    learner, executor = learner_of(workspace, DDPGProgram, settings.update)
    noise = ExplorationNoise(settings.update.policy.sizes[-1], settings.noise_decay, settings.exploration_noise)

    def act(observation: np.ndarray, random: np.random.Generator, action: np.ndarray) -> None:
        action[:] = learner.acting.normalised(observation)
        action += noise.step(random)
        np.clip(action, -1.0, 1.0, out=action)

    return train(learner, executor, settings, inputs, key, workspace, act)


def train_sac(settings: Episodes[SACUpdate], inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: episodes with updates of SAC; as `train`, and the values `entropy` and `temperature` (last)."""
    learner, executor = learner_of(workspace, SACProgram, settings.update)
    outcome = train(learner, executor, settings, inputs, key, workspace, learner.act)
    fixed = settings.update.temperature
    temperature = learner.alpha.item() if fixed is None else fixed
    return Outcome({**outcome.values, "temperature": temperature}, outcome.arrays)


def train(
    learner: Any,
    executor: Executor,
    settings: Episodes[Any],
    inputs: Mapping[str, Any],
    key: Key,
    workspace: Workspace,
    act: Act,
) -> Outcome:
    """`settings.episodes` episodes; see `episode_loop.learn_episodes`.

    Inputs: `learner` (`initial_learner` of the algorithm), `replay` (a view of the past). Values: `returns`,
    `lengths`, `critic_updates`, `actor_updates`, `critic_loss`, and for SAC `entropy` (means; 0 without updates).
    Arrays: `learner`, `actor` (the deterministic policy), and what `Replay.append` takes. A NaN or infinite value
    raises `NumericalError`.
    """
    before = settings.critic_updates
    learner.load(inputs["learner"], before, settings.actor_updates)
    reports = torch.zeros(settings.limit * settings.episodes, len(learner.report), device=workspace.device)

    def update(memory: Memory, random: np.random.Generator, index: int) -> None:
        number = before + index + 1
        report = make_updates(learner, memory, random, executor, range(number, number + 1))
        learner.renew_acting()
        check_reports(report, number - 1)
        reports[index] = report[0]

    episodes, updates = learn_episodes(settings, inputs["replay"], key, workspace, act, update)
    means = checked_means(reports[:updates], before)
    values: dict[str, Any] = {
        "returns": [episode.total for episode in episodes],
        "lengths": [episode.length for episode in episodes],
        "critic_updates": updates,
        "actor_updates": updates,
        "critic_loss": means[0],
        **info_values([episode.infos for episode in episodes]),
    }
    if len(means) > 1:
        values["entropy"] = 0.0 - means[1]
    state = saved(learner.state, "the learner")
    return Outcome(values, {"learner": state, "actor": state[: settings.update.policy.size], **transitions(episodes)})
