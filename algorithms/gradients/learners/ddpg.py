"""DDPG (Lillicrap et al., ICLR 2016, algorithm 1): TD3 with one critic, without noise on target actions and delay."""

from __future__ import annotations

import torch
from torch import Tensor

from erlbench.algorithms.gradients.learners.networks import MLP, FlatAdam, follow
from erlbench.algorithms.gradients.learners.td3 import actor_loss, critic_loss, twin_critics, values
from erlbench.algorithms.gradients.minibatches import Minibatch
from erlbench.algorithms.training.update_settings import DDPGUpdate


class DDPGLearner:
    """Actor, critic, their targets, and Adam, on the flat vector of `ddpg.initial_learner`."""

    def __init__(self, settings: DDPGUpdate, state: Tensor) -> None:
        policy, critic = settings.policy, settings.critic
        self.settings, split = settings, 4 * policy.size
        self.actors, self.critics = state[:split].view(4, -1), state[split:].view(4, -1)  # online, target, moments
        self.actor_adam = FlatAdam(self.actors[0], self.actors[2:], settings.actor_learning_rate)
        self.critic_adam = FlatAdam(
            self.critics[0], self.critics[2:], settings.critic_learning_rate, weight_decay=settings.critic_weight_decay
        )
        shape = policy.sizes, policy.activation, "tanh"
        self.actor = MLP(*shape, self.actors[0], self.actor_adam.gradients)
        self.target_actor = MLP(*shape, self.actors[1])
        self.q = twin_critics(critic, self.critics[0], self.critic_adam.gradients)
        self.target_q = twin_critics(critic, self.critics[1])
        self.frozen_q = twin_critics(critic, self.critics[0])[0]

    def update(self, number: int, batch: Minibatch, noise: Tensor) -> Tensor:
        """One update of everything, without noise; the critic's loss."""
        settings, following = self.settings, batch.next_observations
        with torch.no_grad():
            next_values = values(self.target_q, following, self.target_actor(following))
            y = batch.rewards + settings.discount * batch.continues * next_values
        loss = critic_loss(self.q, batch, y)
        self.critic_adam.descend(loss, settings.critic_gradient_clip)
        self.actor_adam.descend(actor_loss(self.actor, self.frozen_q, batch.observations))
        follow(self.critics[1], self.critics[0], settings.tau)
        follow(self.actors[1], self.actors[0], settings.tau)
        return loss.detach()[None]
