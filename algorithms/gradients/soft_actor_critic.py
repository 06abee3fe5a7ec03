"""Task functions of SAC's learning: a block of critic updates, and the training of one stochastic actor.

What `actor_critic` is for TD3, with a fixed temperature: CEM-RL, P-CEM-RL and AES-RL whose individuals are stochastic
policies (`PolicySpec.stochastic`). In both the target policy, respectively the critics, are frozen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms.critic import CriticSpec
from erlbench.algorithms.gradients.buffers import scratch, side_by_side
from erlbench.algorithms.gradients.gaussian_actor import GaussianActor, joined, separated
from erlbench.algorithms.gradients.learners import CriticLearner, Minibatches, arithmetic, check_losses, load, saved
from erlbench.algorithms.gradients.minibatch_blocks import BLOCK, CriticBlock, Noise, indices
from erlbench.algorithms.gradients.stochastic_learner import StochasticLearner
from erlbench.errors import NumericalError
from erlbench.policy import PolicySpec
from erlbench.work.seeding import Key, Purpose, generator
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace


def update_critic(settings: Mapping[str, Any], inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: `updates` SAC updates of twin critics towards the soft values of a frozen target actor.

    y = r + discount * continues * (min(Q1', Q2')(s', a') - temperature * log pi(a'|s')), a' ~ pi(s').
    Settings: `policy` (a stochastic PolicySpec), `critic` (CriticSpec), `updates`, `batch_size`, `discount`, `tau`,
    `learning_rate`, `temperature`, `step` (updates before).
    Inputs: `critic` as in `algorithms.critic`, `target_actor` `(policy.size,)`, `replay` (a view).
    Values: `critic_updates`, `critic_loss` (mean of half the sum of the critics' MSE). Arrays: `critic`.
    The target critics follow after every update. A NaN or infinite loss or parameter raises `NumericalError`.
    """
    policy, critic, view = settings["policy"], settings["critic"], inputs["replay"]
    updates, batch_size = settings["updates"], settings["batch_size"]
    block = scratch(workspace, _CriticBlock, policy, critic, batch_size)
    learner = block.learner
    load(learner.state, inputs["critic"])
    load(block.target_actor, separated(policy, inputs["target_actor"]))
    learner.adam.reset(settings["step"])
    random = generator(*key, int(Purpose.MINIBATCH))
    reader = workspace.replay(view)
    losses = torch.zeros(updates, device=workspace.device)
    learner.together = side_by_side(workspace, block)
    with arithmetic():
        for first in range(0, updates, BLOCK):
            block.minibatches.gather(reader, indices(random, view.start, view.stop, batch_size))
            block.target_actions(random)
            for index in range(min(BLOCK, updates - first)):
                block.select(index, settings["temperature"])
                learner.fit(settings["discount"], settings["learning_rate"], losses[first + index])
                learner.track(settings["tau"])
    loss = check_losses(losses, settings["step"])
    return Outcome({"critic_updates": updates, "critic_loss": loss}, {"critic": saved(learner.state, "the critic")})


def train_actor(settings: Mapping[str, Any], inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: `updates` Adam steps, from zero moments, of one stochastic actor up the frozen twin critics.

    Its loss is mean(temperature * log pi(a|s) - min(Q1, Q2)(s, a)), a ~ pi(s) reparameterised.
    Settings: `policy` (a stochastic PolicySpec), `critic` (CriticSpec), `updates`, `batch_size`, `learning_rate`,
    `temperature`. Inputs: `parameters` `(policy.size,)`, `critic`, `replay` (a view).
    Values: `actor_updates`. Arrays: `parameters`. A NaN or infinite parameter raises `NumericalError`.
    """
    policy, critic, view = settings["policy"], settings["critic"], inputs["replay"]
    updates, batch_size = settings["updates"], settings["batch_size"]
    block = scratch(workspace, _ActorBlock, policy, critic, batch_size)
    if not np.isfinite(inputs["critic"][0]).all():
        raise NumericalError("the critic has a NaN or infinite value")
    load(block.q, inputs["critic"][0])
    load(block.parameters, separated(policy, inputs["parameters"]))
    block.moments.zero_()
    block.learner.adam.reset(0)
    random = generator(*key, int(Purpose.MINIBATCH))
    reader = workspace.replay(view)
    block.learner.together = side_by_side(workspace, block)
    with arithmetic():
        for first in range(0, updates, BLOCK):
            chosen = indices(random, view.start, view.stop, batch_size)
            block.minibatches.gather(reader, chosen, observations_only=True)
            block.draw(random)
            for index in range(min(BLOCK, updates - first)):
                block.update(index, settings["temperature"], settings["learning_rate"])
    parameters = joined(policy, saved(block.parameters, "the actor"))
    return Outcome({"actor_updates": updates}, {"parameters": parameters})


class _CriticBlock:
    """The buffers of `update_critic`: `BLOCK` minibatches with the target actor's samples, and the learner."""

    def __init__(self, policy: PolicySpec, critic: CriticSpec, batch_size: int, device: str) -> None:
        self.learner = CriticLearner(critic, batch_size, torch.zeros(critic.shape, device=device), 0.5)
        self.minibatches = Minibatches(policy, batch_size, BLOCK, device)
        self.target_actor = torch.zeros(policy.size, device=device)
        self._actor = GaussianActor(_mean(policy), self.target_actor, self.minibatches.next_observations)
        self._noise = Noise(batch_size * BLOCK, policy.sizes[-1], device)
        self._block = CriticBlock(self.learner, self.minibatches, self._actor.actions, batch_size)
        self._log_probability = torch.zeros(BLOCK, batch_size, 1, device=device)
        self.works = self.learner.works

    def target_actions(self, random: np.random.Generator) -> None:
        """Samples of the target actor for all minibatches."""
        self._actor.sample(self._noise.draw(random))
        self._log_probability.view(-1, 1).copy_(self._actor.log_probability())

    def select(self, index: int, temperature: float) -> None:
        """Give the learner the minibatch `index` and the soft values of its next states."""
        self._block.select(index)
        values = self.learner.next_values
        torch.amin(self.learner.target_values(), 0, out=values)
        values.add_(self._log_probability[index], alpha=-temperature)


class _ActorBlock:
    """The buffers of `train_actor`: `BLOCK` minibatches of observations, the actor, and the critics it climbs."""

    def __init__(self, policy: PolicySpec, critic: CriticSpec, batch_size: int, device: str) -> None:
        state = torch.zeros(3, policy.size, device=device)
        self.parameters, self.moments = state[0], state[1:]
        self.minibatches = Minibatches(policy, batch_size, BLOCK, device)
        self._batches = self.minibatches.observations.view(BLOCK, batch_size, -1)
        self._observations = torch.zeros_like(self._batches[0])
        self._noise = Noise(batch_size * BLOCK, policy.sizes[-1], device)
        self._drawn: Tensor
        self._batch_size = batch_size
        self._weight = torch.zeros(1, device=device)
        self.q = torch.zeros(critic.count * critic.size, device=device)
        self.learner = StochasticLearner(_mean(policy), critic, state, self._observations, self.q)
        self.works = self.learner.works

    def draw(self, random: np.random.Generator) -> None:
        """The noise of the samples of all minibatches."""
        self._drawn = self._noise.draw(random).view(BLOCK, self._batch_size, -1)

    def update(self, index: int, temperature: float, learning_rate: float) -> None:
        """One Adam step on the minibatch `index`."""
        self._observations.copy_(self._batches[index])
        self.learner.policy.draw(self._drawn[index])
        self.learner.slope()
        self.learner.climb(self._weight.fill_(temperature / self._batch_size), learning_rate)


def _mean(policy: PolicySpec) -> PolicySpec:
    """The deterministic policy tanh(mean) of a stochastic one."""
    return replace(policy, stochastic=False)
