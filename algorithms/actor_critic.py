"""Task functions of gradient learning: a block of critic updates, and the training of one actor.

Shared by CEM-RL, P-CEM-RL and AES-RL. In both the target policy, respectively the critic, is frozen, so that many
actors can be trained beside the chain of critic updates (Pourchot & Sigaud 2019; Lee et al. 2020).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import torch

from erlbench.algorithms.critic import CriticSpec
from erlbench.algorithms.learners import (
    ActorLearner,
    CriticLearner,
    Minibatches,
    arithmetic,
    check_losses,
    load,
    saved,
    smooth,
)
from erlbench.algorithms.mlp import Mlp
from erlbench.errors import NumericalError
from erlbench.policy import PolicySpec
from erlbench.seeding import Key, Purpose, generator
from erlbench.tasks import Outcome
from erlbench.workspace import Workspace

BLOCK = 8  # minibatches read at once; a constant, as matrix products depend in the last bit on their shape


def update_critic(settings: Mapping[str, Any], inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: `updates` TD3 updates of twin critics towards a frozen target actor.

    Settings: `policy` (PolicySpec), `critic` (CriticSpec), `updates`, `batch_size`, `discount`, `tau`,
    `learning_rate`, `target_noise` and `noise_clip` (in units of the normalised action), `step` (updates before).
    Inputs: `critic` `(4, 2 * size)` as in `algorithms.critic`, `target_actor` `(policy.size,)`, `replay` (a view).
    Values: `critic_updates`, `critic_loss` (mean of MSE(Q1) + MSE(Q2)). Arrays: `critic`.
    The target critics follow after every update. A NaN or infinite loss or parameter raises `NumericalError`.
    """
    policy, critic, view = settings["policy"], settings["critic"], inputs["replay"]
    updates, batch_size = settings["updates"], settings["batch_size"]
    block = _scratch(workspace, _CriticBlock, policy, critic, batch_size)
    learner = block.learner
    load(learner.state, inputs["critic"])
    load(block.target_actor, inputs["target_actor"])
    learner.adam.reset(settings["step"])
    random = generator(*key, int(Purpose.MINIBATCH))
    reader = workspace.replay(view)
    losses = torch.zeros(updates, device=workspace.device)
    with arithmetic():
        for first in range(0, updates, BLOCK):
            block.minibatches.gather(reader, _indices(random, view.start, view.stop, batch_size))
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
    Inputs: `parameters` `(policy.size,)`, `critic` `(4, 2 * size)`, `replay` (a view).
    Values: `actor_updates`. Arrays: `parameters`. A NaN or infinite parameter raises `NumericalError`.
    """
    policy, critic, view = settings["policy"], settings["critic"], inputs["replay"]
    updates, batch_size = settings["updates"], settings["batch_size"]
    block = _scratch(workspace, _ActorBlock, policy, critic, batch_size)
    learner = block.learner
    if not np.isfinite(inputs["critic"][0]).all():
        raise NumericalError("the critic has a NaN or infinite value")
    load(block.q1, inputs["critic"][0, : critic.size])
    load(block.parameters, inputs["parameters"])
    block.moments.zero_()
    learner.adam.reset(0)
    random = generator(*key, int(Purpose.MINIBATCH))
    reader = workspace.replay(view)
    with arithmetic():
        for first in range(0, updates, BLOCK):
            indices = _indices(random, view.start, view.stop, batch_size)
            block.minibatches.gather(reader, indices, observations_only=True)
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
        rows, split = batch_size * BLOCK, policy.sizes[0]
        noise = torch.zeros(rows, policy.sizes[-1])
        self._noise, self._host_noise = noise.to(device), noise.numpy()
        learner, data = self.learner, self.minibatches
        actions = self._policy.outputs[0]
        to, source = [], []
        for columns, observations, taken in (
            (learner.inputs, data.observations, data.actions),
            (learner.next_inputs, data.next_observations, actions),
        ):
            to += [columns[:, :split], columns[:, split:]]
            source += [observations, taken]
        to += [learner.rewards, learner.continues]
        source += [data.rewards, data.continues]
        parts = [tensor.view(BLOCK, batch_size, -1) for tensor in source]
        self._copies = [[(a, part[index]) for a, part in zip(to, parts)] for index in range(BLOCK)]

    def target_actions(self, random: np.random.Generator, scale: float, clip: float) -> None:
        """The smoothed actions of the target actor for all minibatches."""
        random.standard_normal(out=self._host_noise, dtype=np.float32)
        if self._noise.device.type != "cpu":
            self._noise.copy_(torch.from_numpy(self._host_noise))
        smooth(self._policy.forward()[0], self._noise, scale, clip)

    def select(self, index: int) -> None:
        """Give the learner the minibatch `index`."""
        for to, source in self._copies[index]:
            to.copy_(source)


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


Block = TypeVar("Block", _CriticBlock, _ActorBlock)


def _scratch(workspace: Workspace, kind: type[Block], policy: PolicySpec, critic: CriticSpec, batch_size: int) -> Block:
    """The workspace's buffers of this kind and these shapes; contents never outlive a task."""
    name = (kind, policy, critic, batch_size)
    if name not in workspace.scratch:
        workspace.scratch[name] = kind(policy, critic, batch_size, workspace.device)
    found: Block = workspace.scratch[name]
    return found


def _indices(random: np.random.Generator, start: int, stop: int, batch_size: int) -> np.ndarray:
    """Uniform indices in [start, stop) for `BLOCK` minibatches."""
    if stop <= start:
        raise ValueError(f"the replay holds no transitions from {start} to {stop}")
    return random.integers(start, stop, BLOCK * batch_size)
