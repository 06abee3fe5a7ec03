"""The task functions of DDPG: one episode with an update after every step, and a block of updates without acting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from erlbench.algorithms.gradients.buffers import scratch, side_by_side
from erlbench.algorithms.gradients.ddpg_learner import Learner
from erlbench.algorithms.gradients.episode_loop import Memory, learn
from erlbench.algorithms.gradients.learners import arithmetic, check_losses, saved
from erlbench.errors import NumericalError
from erlbench.policy import PolicySpec
from erlbench.work.exploration import Noise
from erlbench.work.rollout import transitions
from erlbench.work.seeding import Key, Purpose, generator
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace


def train_episode(settings: Mapping[str, Any], inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: one episode of at most `limit` steps, with updates; see `episode_loop.learn`.

    Settings: those of `learn`, those of `ddpg.update_values`, `critic_updates` and `actor_updates` (counts before),
    `exploration_noise` and `theta` (see `Noise`). Inputs: `learner` (`ddpg.initial_learner`), `replay` (a view).
    Values: `returns`, `lengths`, `critic_updates`, `actor_updates`, `critic_loss` (mean; 0 without updates).
    Arrays: `learner`, `actor`, and what `Replay.append` takes. A NaN or infinite value raises `NumericalError`.
    """
    policy: PolicySpec = settings["policy"]
    learner = scratch(workspace, Learner, policy, settings["critic"], settings["batch_size"])
    learner.load(inputs["learner"], settings["critic_updates"], settings["actor_updates"])
    losses = torch.zeros(settings["limit"], device=workspace.device)
    noise = Noise(policy.sizes[-1], settings["theta"], settings["exploration_noise"])

    def act(observation: np.ndarray, random: np.random.Generator, action: np.ndarray) -> None:
        action[:] = learner.acting.normalised(observation)
        action += noise.step(random)
        np.clip(action, -1.0, 1.0, out=action)

    def update(memory: Memory, random: np.random.Generator, index: int) -> None:
        learner.update(settings, memory, random, losses[index])
        if not math.isfinite(losses[index]):
            number = settings["critic_updates"] + index + 1
            raise NumericalError(f"the critic's loss of update {number} is {losses[index]:g}")

    learner.together = side_by_side(workspace, learner)
    episode, updates = learn(settings, inputs["replay"], key, workspace, act, update)
    values = {
        "returns": [episode.total],
        "lengths": [episode.length],
        "critic_updates": updates,
        "actor_updates": updates,
        "critic_loss": float(losses[:updates].double().mean()) if updates else 0.0,
    }
    state = saved(learner.state, "the learner")
    return Outcome(values, {"learner": state, "actor": state[: policy.size], **transitions([episode])})


def update_ddpg(settings: Mapping[str, Any], inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: `updates` joint updates of critic, actor and targets from the replay, for ERL.

    Settings: `policy` (PolicySpec), `updates`, `critic_updates` and `actor_updates` (counts before), and those of
    `ddpg.update_values`. Inputs: `learner` (`ddpg.initial_learner`), `replay` (a view, not empty).
    Values: `critic_updates`, `actor_updates`, `critic_loss` (mean; 0 without updates). Arrays: `learner`, `actor`.
    A NaN or infinite loss or parameter raises `NumericalError`.
    """
    policy, updates, view = settings["policy"], settings["updates"], inputs["replay"]
    if view.stop <= view.start:
        raise ValueError(f"the replay holds no transitions from {view.start} to {view.stop}")
    learner = scratch(workspace, Learner, policy, settings["critic"], settings["batch_size"])
    learner.load(inputs["learner"], settings["critic_updates"], settings["actor_updates"])
    memory, random = Memory.of(view, workspace), generator(*key, int(Purpose.MINIBATCH))
    losses = torch.zeros(updates, device=workspace.device)
    learner.together = side_by_side(workspace, learner)
    with arithmetic():
        for index in range(updates):
            learner.update(settings, memory, random, losses[index])
    values = {
        "critic_updates": updates,
        "actor_updates": updates,
        "critic_loss": check_losses(losses, settings["critic_updates"]),
    }
    state = saved(learner.state, "the learner")
    return Outcome(values, {"learner": state, "actor": state[: policy.size]})
