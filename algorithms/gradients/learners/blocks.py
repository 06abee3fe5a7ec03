"""The separate updates of CEM-RL, P-CEM-RL and AES-RL: critics towards a frozen actor, an actor up frozen critics.

So many actors can be trained beside the chain of critic updates (Pourchot and Sigaud, ICLR 2019, algorithm 1; Lee et
al., NeurIPS 2020). The losses are TD3's, with one critic and no noise DDPG's; with a stochastic policy they are SAC's
with a fixed temperature.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from erlbench.algorithms.gradients.learners.networks import MLP, FlatAdam, follow
from erlbench.algorithms.gradients.learners.sac import GaussianPolicy
from erlbench.algorithms.gradients.learners.td3 import actor_loss, critic_loss, smoothed_actions, twin_critics, values
from erlbench.algorithms.gradients.minibatches import Minibatch
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate


class CriticBlock:
    """Critics `(4, count * size)` of `training/critic.py`, whose targets are those of one actor."""

    def __init__(self, settings: CriticUpdate, critics: Tensor, target_actor: Tensor) -> None:
        """`target_actor`: the vector of the policy; of a stochastic one as `GaussianPolicy` has it."""
        policy, critic = settings.policy, settings.critic
        self.settings, self.critics, self.soft = settings, critics, policy.stochastic
        self.adam = FlatAdam(critics[0], critics[2:], settings.learning_rate)
        self.q, self.target_q = twin_critics(critic, critics[0], self.adam.gradients), twin_critics(critic, critics[1])
        self.gaussian = GaussianPolicy(replace(policy, stochastic=False), target_actor) if self.soft else None
        self.actor = MLP(policy.sizes, policy.activation, "tanh", target_actor) if not self.soft else None

    def update(self, batch: Minibatch, noise: Tensor) -> Tensor:
        """One step towards y = r + discount * V(s'), `noise` `(batch, action)`; the critics' loss."""
        settings, following = self.settings, batch.next_observations
        with torch.no_grad():
            if self.gaussian is not None:
                actions, log_probabilities = self.gaussian.sample(following, noise)
                next_values = values(self.target_q, following, actions) - settings.temperature * log_probabilities
            else:
                assert self.actor is not None
                scale, clip = settings.target_noise, settings.noise_clip
                next_values = values(
                    self.target_q, following, smoothed_actions(self.actor, following, noise, scale, clip)
                )
            y = batch.rewards + settings.discount * batch.continues * next_values
        loss = (0.5 if self.soft else 1.0) * critic_loss(self.q, batch, y)
        self.adam.descend(loss)
        follow(self.critics[1], self.critics[0], settings.tau)
        return loss.detach()


class ActorBlock:
    """One actor, with a fresh Adam, up frozen critics."""

    def __init__(self, settings: ActorUpdate, parameters: Tensor, critics: Tensor) -> None:
        """`parameters`: as `CriticBlock`'s `target_actor`; `critics` `(count * size,)`."""
        policy = settings.policy
        self.settings, self.q = settings, twin_critics(settings.critic, critics)
        self.adam = FlatAdam(parameters, torch.zeros(2, len(parameters)), settings.learning_rate)
        gradients = self.adam.gradients
        mean = replace(policy, stochastic=False)
        self.gaussian = GaussianPolicy(mean, parameters, gradients) if policy.stochastic else None
        self.actor = MLP(policy.sizes, policy.activation, "tanh", parameters, gradients)

    def update(self, batch: Minibatch, noise: Tensor) -> None:
        """One step on -mean Q_1(s, pi(s)), or on mean(temperature * log pi(a|s) - min_k Q_k(s, a)), a ~ pi(s)."""
        observations = batch.observations
        if self.gaussian is None:
            self.adam.descend(actor_loss(self.actor, self.q[0], observations))
            return
        actions, log_probabilities = self.gaussian.sample(observations, noise)
        soft_values = values(self.q, observations, actions) - self.settings.temperature * log_probabilities
        self.adam.descend(-soft_values.mean())
