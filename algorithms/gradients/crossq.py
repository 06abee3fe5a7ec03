"""The task functions of CrossQ, whose losses in `learners/crossq.py` autograd executes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from erlbench.algorithms.gradients.autograd import Autograd
from erlbench.algorithms.gradients.episodes import train
from erlbench.algorithms.gradients.learners.crossq import CrossQActorBlock, CrossQCriticBlock, CrossQLearner
from erlbench.algorithms.gradients.minibatches import load, saved
from erlbench.algorithms.gradients.updates import from_replay, learner_of, update_joint
from erlbench.algorithms.training.critic import fold_norm, joined, separated
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate, CrossQUpdate, Episodes, Updates
from erlbench.work.seeding import Key
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace


class CriticsByAutograd(Autograd[CrossQCriticBlock]):
    """Critics towards a frozen actor."""

    def __init__(self, settings: CriticUpdate, device: str) -> None:
        super().__init__(CrossQCriticBlock(settings, device), 1, device)


class ActorByAutograd(Autograd[CrossQActorBlock]):
    """An actor up frozen critics."""

    def __init__(self, settings: ActorUpdate, device: str) -> None:
        super().__init__(CrossQActorBlock(settings, device), 0, device)


class CrossQByAutograd(Autograd[CrossQLearner]):
    """Actor, critics and temperature, and the policy that acts."""

    def __init__(self, settings: CrossQUpdate, device: str) -> None:
        super().__init__(CrossQLearner(settings, device), 2, device)
        self.state = self.learner.state

    def load(self, array: np.ndarray, critic_updates: int, actor_updates: int) -> None:
        """Take over a learner that has made so many updates."""
        load(self.state, array)
        self.learner.begin(critic_updates, actor_updates)

    def renew_acting(self) -> None:
        """The policy that acts is the learner's own."""

    def act(self, observation: np.ndarray, random: np.random.Generator, action: np.ndarray) -> None:
        """Write a sample of the policy into `action`."""
        noise = random.standard_normal((1, len(action)), dtype=np.float32)
        inputs = (self.state.new_tensor(array) for array in (observation[None], noise))
        with torch.no_grad():
            actions, _ = self.learner.frozen_actor.sample(*inputs)
        action[:] = actions[0].cpu().numpy()


def update_critics(
    settings: Updates[CriticUpdate], inputs: Mapping[str, Any], key: Key, workspace: Workspace
) -> Outcome:
    """Task function: updates of the critics towards a frozen actor; inputs and outcome as `updates.update_critic`."""
    learner, executor = learner_of(workspace, CriticsByAutograd, settings.update)
    block = learner.learner
    load(block.critics, inputs["critic"])
    load(block.target_actor, separated(settings.update.policy, inputs["target_actor"]))
    block.begin(settings.critic_updates)
    loss = from_replay(learner, settings, inputs, key, workspace, executor)
    values = {"critic_updates": settings.updates, "critic_loss": loss}
    return Outcome(values, {"critic": saved(block.critics, "the critic")})


def train_actor(settings: Updates[ActorUpdate], inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: steps of one actor up frozen critics; inputs and outcome as `updates.train_actor`."""
    learner, executor = learner_of(workspace, ActorByAutograd, settings.update)
    block, policy = learner.learner, settings.update.policy
    load(block.critics, inputs["critic"][0])
    load(block.parameters, separated(policy, inputs["parameters"]))
    block.begin()
    from_replay(learner, settings, inputs, key, workspace, executor)
    return Outcome(
        {"actor_updates": settings.updates}, {"parameters": joined(policy, saved(block.parameters, "the actor"))}
    )


def update_crossq(
    settings: Updates[CrossQUpdate], inputs: Mapping[str, Any], key: Key, workspace: Workspace
) -> Outcome:
    """Task function: joint updates, as `updates.update_joint`; `actor` is the vector of the stochastic policy."""
    return update_joint(CrossQByAutograd, settings, inputs, key, workspace)


def train_crossq(
    settings: Episodes[CrossQUpdate], inputs: Mapping[str, Any], key: Key, workspace: Workspace
) -> Outcome:
    """Task function: episodes with an update after each step, as `episodes.train_sac`."""
    update, before = settings.update, settings.critic_updates
    learner, executor = learner_of(workspace, CrossQByAutograd, update)
    outcome = train(learner, executor, settings, inputs, key, workspace, learner.act)
    steps = (before + outcome.values["critic_updates"]) // update.policy_delay - before // update.policy_delay
    temperature = learner.learner.alpha.item()
    arrays = dict(outcome.arrays)
    if update.actor_norm:
        arrays["actor"] = fold_norm(update.policy, outcome.arrays["learner"][: learner.learner.actor_size])
    return Outcome({**outcome.values, "actor_updates": steps, "temperature": temperature}, arrays)
