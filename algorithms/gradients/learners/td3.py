"""TD3 (Fujimoto, van Hoof and Meger, ICML 2018, algorithm 1), from the minibatch to the targets.

Actions are normalised to [-1, 1] everywhere: in the replay, for the critics, and so for the target policy's noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from erlbench.algorithms.gradients.learners.networks import MLP, FlatAdam, follow
from erlbench.algorithms.gradients.minibatches import Minibatch
from erlbench.algorithms.training.critic import CriticSpec
from erlbench.algorithms.training.update_settings import TD3Update


def smoothed_actions(actor: MLP, observations: Tensor, noise: Tensor, scale: float, clip: float) -> Tensor:
    """Target policy smoothing: a' = clip(pi'(s') + clip(scale * noise, -clip, clip), -1, 1)."""
    return (actor(observations) + (scale * noise).clamp(-clip, clip)).clamp(-1.0, 1.0)


def values(critics: Sequence[MLP], observations: Tensor, actions: Tensor) -> Tensor:
    """min_k Q_k(s, a), `(batch, 1)`: clipped double Q-learning; with one critic DDPG's Q."""
    pairs = torch.cat([observations, actions], 1)
    return torch.stack([critic(pairs) for critic in critics]).amin(0)


def critic_loss(critics: Sequence[MLP], batch: Minibatch, y: Tensor) -> Tensor:
    """sum_k mean (Q_k(s, a) - y)^2."""
    pairs = torch.cat([batch.observations, batch.actions], 1)
    return torch.stack([mse_loss(critic(pairs), y) for critic in critics]).sum()


def actor_loss(actor: MLP, q1: MLP, observations: Tensor) -> Tensor:
    """-mean Q_1(s, pi(s)): the deterministic policy gradient; `q1` is only read."""
    return -q1(torch.cat([observations, actor(observations)], 1)).mean()


def twin_critics(spec: CriticSpec, row: Tensor, gradients: Tensor | None = None) -> list[MLP]:
    """The critics of a row `(count * size,)` of `training/critic.py`."""
    parts = [slice(k * spec.size, (k + 1) * spec.size) for k in range(spec.count)]
    learnt = [None if gradients is None else gradients[part] for part in parts]
    return [MLP(spec.sizes, spec.activation, "linear", row[part], grad) for part, grad in zip(parts, learnt)]


class TD3Learner:
    """Actor, twin critics, their targets, and Adam, on the flat vector of `td3.initial_learner`."""

    def __init__(self, settings: TD3Update, state: Tensor) -> None:
        policy, critic = settings.policy, settings.critic
        self.settings, split = settings, 4 * policy.size
        self.actors, self.critics = state[:split].view(4, -1), state[split:].view(4, -1)  # online, target, moments
        self.actor_adam = FlatAdam(self.actors[0], self.actors[2:], settings.actor_learning_rate)
        self.critic_adam = FlatAdam(self.critics[0], self.critics[2:], settings.critic_learning_rate)
        shape = policy.sizes, policy.activation, "tanh"
        self.actor = MLP(*shape, self.actors[0], self.actor_adam.gradients)
        self.target_actor = MLP(*shape, self.actors[1])
        self.q = twin_critics(critic, self.critics[0], self.critic_adam.gradients)
        self.target_q = twin_critics(critic, self.critics[1])
        self.frozen_q1 = twin_critics(critic, self.critics[0])[0]

    def update(self, number: int, batch: Minibatch, noise: Tensor) -> Tensor:
        """The update `number`, from 0, with `noise` `(1, batch, action)` ~ N(0, 1); the critics' loss."""
        settings, following = self.settings, batch.next_observations
        with torch.no_grad():
            actions = smoothed_actions(
                self.target_actor, following, noise[0], settings.target_noise, settings.noise_clip
            )
            y = batch.rewards + settings.discount * batch.continues * values(self.target_q, following, actions)
        loss = critic_loss(self.q, batch, y)
        self.critic_adam.descend(loss)
        if number % settings.policy_delay == 0:  # the delayed update
            self.actor_adam.descend(actor_loss(self.actor, self.frozen_q1, batch.observations))
            follow(self.critics[1], self.critics[0], settings.tau)
            follow(self.actors[1], self.actors[0], settings.tau)
        return loss.detach()[None]
