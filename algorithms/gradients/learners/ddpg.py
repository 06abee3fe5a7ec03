"""DDPG (Lillicrap et al., ICLR 2016, algorithm 1): TD3 with one critic, without noise on target actions and delay."""

from __future__ import annotations

import torch
from torch import Tensor

from erlbench.algorithms.gradients.learners.td3 import TD3Learner, critic_loss, values
from erlbench.algorithms.gradients.minibatches import Minibatch
from erlbench.algorithms.training.update_settings import DDPGUpdate


class DDPGLearner(TD3Learner):
    """Actor, critic, their targets, and Adam, on the flat vector of `initial_learner`."""

    def __init__(self, settings: DDPGUpdate, state: Tensor) -> None:
        super().__init__(settings, state, settings.critic_weight_decay)

    def update(self, number: int, batch: Minibatch, noise: Tensor) -> Tensor:
        """One update of everything, without noise; the critic's loss."""
        settings, critics, following = self.settings, self.critics, batch.next_observations
        with torch.no_grad():
            next_values = values(critics.target_q, following, self.target_actor(following))
            y = batch.rewards + settings.discount * batch.continues * next_values
        loss = critic_loss(critics.q, batch, y)
        critics.adam.descend(loss, settings.critic_gradient_clip)
        self.improve(batch)
        return loss.detach()[None]
