"""TD3's update, from the minibatch to the targets (Fujimoto, van Hoof and Meger, ICML 2018, algorithm 1).

`gradients/learners/td3.py` computes the same numbers from the same draws.
`tests/algorithms/gradients/test_reference.py` proves it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from erlbench.algorithms.gradients.reference.networks import Experience, descend, follow, mlp, normal
from erlbench.algorithms.training.update_settings import TD3Update


class TD3Reference:
    """Actor, twin critics, their targets, and Adam."""

    def __init__(self, settings: TD3Update, learner: np.ndarray) -> None:
        """`learner`: the flat vector of `algorithms.td3.initial_learner`."""
        policy, critic = settings.policy, settings.critic
        actor, target_actor, *_ = learner[: 4 * policy.size].reshape(4, -1)
        critics, target_critics, *_ = learner[4 * policy.size :].reshape(4, 2, critic.size)
        self.settings = settings
        self.actor = mlp(policy.sizes, policy.activation, actor, nn.Tanh())
        self.target_actor = mlp(policy.sizes, policy.activation, target_actor, nn.Tanh())
        self.critics = nn.ModuleList(mlp(critic.sizes, critic.activation, q) for q in critics)
        self.target_critics = nn.ModuleList(mlp(critic.sizes, critic.activation, q) for q in target_critics)
        self.actor_adam = torch.optim.Adam(self.actor.parameters(), lr=settings.learning_rate)
        self.critic_adam = torch.optim.Adam(self.critics.parameters(), lr=settings.learning_rate)

    def update(self, number: int, replay: Experience, random: np.random.Generator) -> float:
        """The update `number`, counted from 0; returns the critics' loss."""
        batch = replay.sample(self.settings.batch_size, random)
        loss = self.critic_step(batch, normal(batch.actions, random))
        if number % self.settings.policy_delay == 0:  # the delayed update
            self.actor_step(batch.observations)
            follow(self.target_critics, self.critics, self.settings.tau)
            follow(self.target_actor, self.actor, self.settings.tau)
        return loss

    def critic_step(self, batch: Experience, noise: Tensor) -> float:
        """One step of both critics, with `noise` ~ N(0, 1) for the target actions; returns the loss."""
        settings = self.settings
        with torch.no_grad():
            # target policy smoothing: a' = clip(pi'(s') + clip(noise))
            smoothing = (settings.target_noise * noise).clamp(-settings.noise_clip, settings.noise_clip)
            next_actions = (self.target_actor(batch.next_observations) + smoothing).clamp(-1, 1)
            # clipped double Q-learning: y = r + gamma min(Q'_1(s', a'), Q'_2(s', a'))
            next_pairs = torch.cat([batch.next_observations, next_actions], 1)
            next_values = torch.min(*(target(next_pairs) for target in self.target_critics))
            y = batch.rewards + settings.discount * batch.continues * next_values
        pairs = torch.cat([batch.observations, batch.actions], 1)
        loss: Tensor = mse_loss(self.critics[0](pairs), y) + mse_loss(self.critics[1](pairs), y)
        descend(self.critic_adam, loss)
        return loss.item()

    def actor_step(self, observations: Tensor) -> None:
        """One step of the actor up Q_1: the deterministic policy gradient."""
        pairs = torch.cat([observations, self.actor(observations)], 1)
        descend(self.actor_adam, -self.critics[0](pairs).mean())
