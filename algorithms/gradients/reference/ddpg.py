"""DDPG's update, from the minibatch to the targets (Lillicrap et al., ICLR 2016, algorithm 1).

Beside TD3 (`td3.py`): one critic, target actions without noise, and no delay. `gradients/learners/ddpg.py` computes the
same numbers from the same draws; `tests/algorithms/gradients/test_reference.py` proves it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from erlbench.algorithms.gradients.reference.networks import Experience, descend, follow, mlp
from erlbench.algorithms.training.update_settings import DDPGUpdate


class DDPGReference:
    """Actor, critic, their targets, and Adam."""

    def __init__(self, settings: DDPGUpdate, learner: np.ndarray) -> None:
        """`learner`: the flat vector of `algorithms.ddpg.initial_learner`."""
        policy, critic = settings.policy, settings.critic
        actor, target_actor, *_ = learner[: 4 * policy.size].reshape(4, -1)
        q, target_q, *_ = learner[4 * policy.size :].reshape(4, -1)
        self.settings = settings
        self.actor = mlp(policy.sizes, policy.activation, actor, nn.Tanh())
        self.target_actor = mlp(policy.sizes, policy.activation, target_actor, nn.Tanh())
        self.critic = mlp(critic.sizes, critic.activation, q)
        self.target_critic = mlp(critic.sizes, critic.activation, target_q)
        self.actor_adam = torch.optim.Adam(self.actor.parameters(), lr=settings.actor_learning_rate)
        self.critic_adam = torch.optim.Adam(
            self.critic.parameters(), lr=settings.critic_learning_rate, weight_decay=settings.critic_weight_decay
        )

    def update(self, replay: Experience, random: np.random.Generator) -> float:
        """One update of everything; returns the critic's loss."""
        batch = replay.sample(self.settings.batch_size, random)
        loss = self.critic_step(batch)
        self.actor_step(batch.observations)
        follow(self.target_critic, self.critic, self.settings.tau)
        follow(self.target_actor, self.actor, self.settings.tau)
        return loss

    def critic_step(self, batch: Experience) -> float:
        """One step of the critic towards y = r + gamma Q'(s', pi'(s')); returns the loss."""
        settings, following = self.settings, batch.next_observations
        with torch.no_grad():
            next_values = self.target_critic(torch.cat([following, self.target_actor(following)], 1))
            y = batch.rewards + settings.discount * batch.continues * next_values
        loss: Tensor = mse_loss(self.critic(torch.cat([batch.observations, batch.actions], 1)), y)
        self.critic_adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if settings.critic_gradient_clip is not None:
            nn.utils.clip_grad_norm_(self.critic.parameters(), settings.critic_gradient_clip)
        self.critic_adam.step()
        return loss.item()

    def actor_step(self, observations: Tensor) -> None:
        """One step of the actor up Q: the deterministic policy gradient."""
        pairs = torch.cat([observations, self.actor(observations)], 1)
        descend(self.actor_adam, -self.critic(pairs).mean())
