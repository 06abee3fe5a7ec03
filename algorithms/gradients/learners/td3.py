"""TD3 (Fujimoto, van Hoof and Meger, ICML 2018, algorithm 1), and its two halves in CEM-RL and its kin.

Actions are normalised to [-1, 1] everywhere: in the replay, for the critics, and so for the target policy's noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from erlbench.algorithms.gradients.learners.networks import MLP, FlatAdam, follow
from erlbench.algorithms.gradients.minibatches import Minibatch
from erlbench.algorithms.training.critic import CriticSpec
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate, DDPGUpdate, TD3Update


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
    spans = [slice(k * spec.size, (k + 1) * spec.size) for k in range(spec.count)]
    learnt = [None if gradients is None else gradients[span] for span in spans]
    return [MLP(spec.sizes, spec.activation, "linear", row[span], grad) for span, grad in zip(spans, learnt)]


class Critics:
    """The critics Q_k, their targets Q'_k, and Adam, on the rows of `training/critic.py`."""

    def __init__(self, spec: CriticSpec, rows: Tensor, learning_rate: float, weight_decay: float = 0.0) -> None:
        self.rows, self.adam = rows, FlatAdam(rows[0], rows[2:], learning_rate, weight_decay=weight_decay)
        self.q, self.target_q = twin_critics(spec, rows[0], self.adam.gradients), twin_critics(spec, rows[1])
        self.frozen_q = twin_critics(spec, rows[0])

    def follow(self, tau: float) -> None:
        """The targets follow."""
        follow(self.rows[1], self.rows[0], tau)


def targets(
    settings: TD3Update | CriticUpdate, actor: MLP, critics: Sequence[MLP], batch: Minibatch, noise: Tensor
) -> Tensor:
    """Y = r + discount * continues * min_k Q'_k(s', a') with the smoothed a' of the target `actor`; a constant."""
    following = batch.next_observations
    with torch.no_grad():
        actions = smoothed_actions(actor, following, noise, settings.target_noise, settings.noise_clip)
        return batch.rewards + settings.discount * batch.continues * values(critics, following, actions)


class TD3Learner:
    """Actor, twin critics, their targets, and Adam, on the flat vector of `initial_learner`."""

    def __init__(self, settings: TD3Update | DDPGUpdate, state: Tensor, weight_decay: float = 0.0) -> None:
        policy, split = settings.policy, 4 * settings.policy.size
        self.settings: Any = settings
        self.actors = state[:split].view(4, -1)  # online, target, moments
        self.critics = Critics(settings.critic, state[split:].view(4, -1), settings.critic_learning_rate, weight_decay)
        self.actor_adam = FlatAdam(self.actors[0], self.actors[2:], settings.actor_learning_rate)
        shape = policy.sizes, policy.activation, "tanh"
        self.actor = MLP(*shape, self.actors[0], self.actor_adam.gradients)
        self.target_actor = MLP(*shape, self.actors[1])

    def update(self, number: int, batch: Minibatch, noise: Tensor) -> Tensor:
        """The update `number`, from 0, with `noise` `(1, batch, action)` ~ N(0, 1); the critics' loss."""
        y = targets(self.settings, self.target_actor, self.critics.target_q, batch, noise[0])
        loss = critic_loss(self.critics.q, batch, y)
        self.critics.adam.descend(loss)
        if number % self.settings.policy_delay == 0:  # the delayed update
            self.improve(batch)
        return loss.detach()[None]

    def improve(self, batch: Minibatch) -> None:
        """A step of the actor up Q_1, then all targets follow."""
        self.actor_adam.descend(actor_loss(self.actor, self.critics.frozen_q[0], batch.observations))
        self.critics.follow(self.settings.tau)
        follow(self.actors[1], self.actors[0], self.settings.tau)


class CriticBlock:
    """CEM-RL, algorithm 1: critics, whose targets use one frozen actor; with one critic and no noise DDPG's.

    So many actors can be trained parallel to the chain of critic updates.
    """

    def __init__(self, settings: CriticUpdate, critics: Tensor, target_actor: Tensor) -> None:
        """`critics`: rows of `training/critic.py`; `target_actor`: the vector of the policy."""
        policy = settings.policy
        self.settings, self.critics = settings, Critics(settings.critic, critics, settings.learning_rate)
        self.actor = MLP(policy.sizes, policy.activation, "tanh", target_actor)

    def update(self, number: int, batch: Minibatch, noise: Tensor) -> Tensor:
        """One update, `noise` `(1, batch, action)`; the critics' loss."""
        y = targets(self.settings, self.actor, self.critics.target_q, batch, noise[0])
        loss = critic_loss(self.critics.q, batch, y)
        self.critics.adam.descend(loss)
        self.critics.follow(self.settings.tau)
        return loss.detach()


class ActorBlock:
    """CEM-RL, algorithm 1: one actor, with a fresh Adam, up a frozen Q_1."""

    def __init__(self, settings: ActorUpdate, parameters: Tensor, critics: Sequence[MLP]) -> None:
        policy = settings.policy
        self.adam = FlatAdam(parameters, torch.zeros(2, len(parameters)), settings.learning_rate)
        self.actor = MLP(policy.sizes, policy.activation, "tanh", parameters, self.adam.gradients)
        self.q1 = critics[0]

    def update(self, number: int, batch: Minibatch, noise: Tensor) -> None:
        """One step, without noise."""
        self.adam.descend(actor_loss(self.actor, self.q1, batch.observations))
