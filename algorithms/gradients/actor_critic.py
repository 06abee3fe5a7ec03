"""Task functions of TD3's and DDPG's learning: a block of critic updates, and the training of one actor.

Shared by CEM-RL, P-CEM-RL and AES-RL; SAC's are in `soft_actor_critic`. In both the target policy, respectively the
critic, is frozen, so that many actors can be trained beside the chain of critic updates (Pourchot & Sigaud 2019; Lee
et al. 2020).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from erlbench.algorithms.critic import CriticSpec
from erlbench.algorithms.gradients.buffers import scratch, side_by_side
from erlbench.algorithms.gradients.halves import Forward
from erlbench.algorithms.gradients.learners import (
    ActorLearner,
    CriticLearner,
    Minibatches,
    arithmetic,
    check_losses,
    load,
    saved,
    smooth,
)
from erlbench.algorithms.gradients.minibatch_blocks import BLOCK, CriticBlock, Noise, indices
from erlbench.algorithms.gradients.mlp import Mlp
from erlbench.algorithms.gradients.side_by_side import Work
from erlbench.errors import NumericalError
from erlbench.policy import PolicySpec
from erlbench.work.seeding import Key, Purpose, generator
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace


def update_critic(settings: Mapping[str, Any], inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: `updates` updates of the critics towards a frozen target actor: TD3's, or DDPG's with one critic.

    Settings: `policy` (PolicySpec), `critic` (CriticSpec), `updates`, `batch_size`, `discount`, `tau`,
    `learning_rate`, `target_noise` and `noise_clip` (in units of the normalised action), `step` (updates before).
    Inputs: `critic` as in `algorithms.critic`, `target_actor` `(policy.size,)`, `replay` (a view).
    Values: `critic_updates`, `critic_loss` (mean of the sum of the critics' MSE). Arrays: `critic`.
    The target critics follow after every update. A NaN or infinite loss or parameter raises `NumericalError`.
    """
    policy, critic, view = settings["policy"], settings["critic"], inputs["replay"]
    updates, batch_size = settings["updates"], settings["batch_size"]
    block = scratch(workspace, _CriticBlock, policy, critic, batch_size)
    learner = block.learner
    load(learner.state, inputs["critic"])
    load(block.target_actor, inputs["target_actor"])
    learner.adam.reset(settings["step"])
    random = generator(*key, int(Purpose.MINIBATCH))
    reader = workspace.replay(view)
    losses = torch.zeros(updates, device=workspace.device)
    learner.together = side_by_side(workspace, block)
    with arithmetic():
        for first in range(0, updates, BLOCK):
            block.minibatches.gather(reader, indices(random, view.start, view.stop, batch_size))
            block.target_actions(random, settings["target_noise"], settings["noise_clip"])
            for index in range(min(BLOCK, updates - first)):
                block.select(index)
                learner.update(settings["discount"], settings["learning_rate"], losses[first + index])
                learner.track(settings["tau"])
    loss = check_losses(losses, settings["step"])
    return Outcome({"critic_updates": updates, "critic_loss": loss}, {"critic": saved(learner.state, "the critic")})


def train_actor(settings: Mapping[str, Any], inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: `updates` Adam steps, from zero moments, of one actor on -mean Q1(s, pi(s)); Q1 is frozen.

    Settings: `policy` (PolicySpec), `critic` (CriticSpec), `updates`, `batch_size`, `learning_rate`.
    Inputs: `parameters` `(policy.size,)`, `critic`, `replay` (a view).
    Values: `actor_updates`. Arrays: `parameters`. A NaN or infinite parameter raises `NumericalError`.
    """
    policy, critic, view = settings["policy"], settings["critic"], inputs["replay"]
    updates, batch_size = settings["updates"], settings["batch_size"]
    block = scratch(workspace, _ActorBlock, policy, critic, batch_size)
    learner = block.learner
    if not np.isfinite(inputs["critic"][0]).all():
        raise NumericalError("the critic has a NaN or infinite value")
    load(block.q1, inputs["critic"][0, : critic.size])
    load(block.parameters, inputs["parameters"])
    block.moments.zero_()
    learner.adam.reset(0)
    random = generator(*key, int(Purpose.MINIBATCH))
    reader = workspace.replay(view)
    learner.together = side_by_side(workspace, block)
    with arithmetic():
        for first in range(0, updates, BLOCK):
            chosen = indices(random, view.start, view.stop, batch_size)
            block.minibatches.gather(reader, chosen, observations_only=True)
            for index in range(min(BLOCK, updates - first)):
                learner.observations.copy_(block.observations[index])
                learner.update(settings["learning_rate"])
    return Outcome({"actor_updates": updates}, {"parameters": saved(block.parameters, "the actor")})


class _CriticBlock:
    """The buffers of `update_critic`: `BLOCK` minibatches with their target actions, and the learner."""

    def __init__(self, policy: PolicySpec, critic: CriticSpec, batch_size: int, device: str) -> None:
        self.learner = CriticLearner(critic, batch_size, torch.zeros(critic.shape, device=device))
        self.minibatches = Minibatches(policy, batch_size, BLOCK, device)
        self.target_actor = torch.zeros(policy.size, device=device)
        self._policy = Mlp(
            policy.sizes, policy.activation, "tanh", self.target_actor[None], self.minibatches.next_observations
        )
        self._forward = Forward(self._policy)
        self._noise = Noise(batch_size * BLOCK, policy.sizes[-1], device)
        self.select = CriticBlock(self.learner, self.minibatches, self._policy.outputs[0], batch_size).select
        self.works: list[Work] = [*self.learner.works, *self._forward.works]

    def target_actions(self, random: np.random.Generator, scale: float, clip: float) -> None:
        """The smoothed actions of the target actor for all minibatches; without noise (DDPG) where `scale` is 0."""
        actions = self._forward(self.learner.together)[0]
        if scale:
            smooth(actions, self._noise.draw(random), scale, clip)


class _ActorBlock:
    """The buffers of `train_actor`."""

    def __init__(self, policy: PolicySpec, critic: CriticSpec, batch_size: int, device: str) -> None:
        self.parameters = torch.zeros(policy.size, device=device)
        self.moments = torch.zeros(2, policy.size, device=device)
        self.q1 = torch.zeros(critic.size, device=device)
        first, second = self.moments
        self.learner = ActorLearner(policy, critic, batch_size, self.parameters, first, second, self.q1)
        self.minibatches = Minibatches(policy, batch_size, BLOCK, device)
        self.observations = self.minibatches.observations.view(BLOCK, batch_size, -1)
        self.works = self.learner.works
