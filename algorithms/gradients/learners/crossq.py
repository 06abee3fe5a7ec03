"""CrossQ (Bhatt et al., ICLR 2024): SAC without target networks, its critics normalised over (s, a) and (s', a').

What the paper leaves open is as in github.com/adityab/CrossQ. A network's vector is SAC's, followed by the
rows of its `BatchRenorm`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from erlbench.algorithms.gradients.learners.networks import MLP, FlatAdam, views
from erlbench.algorithms.gradients.learners.sac import GaussianPolicy, soft_values
from erlbench.algorithms.gradients.minibatches import Minibatch
from erlbench.algorithms.training.critic import NORM_EPSILON, CriticSpec, actor_size, learner_parts
from erlbench.algorithms.training.update_settings import CriticUpdate, CrossQUpdate
from erlbench.policy import PolicySpec, parameter_count

BETA1 = 0.5  # of Adam for actors and critics
MOMENTUM, WARM, R_MAX, D_MAX = 0.01, 100_000, 3.0, 5.0


class BatchRenorm:
    """Batch renormalisation (Ioffe 2017) of what enters each layer of a network.

    A call in training normalises by the minibatch's statistics and moves the running ones; other calls use these.
    """

    def __init__(self, widths: Sequence[int], vector: Tensor, gradients: Tensor | None) -> None:
        """`vector` `(4 * sum(widths),)`: scale, bias, running mean, running variance. With `gradients` it trains."""
        self.training, self.warm = gradients is not None, False  # warm: after the updates without r and d
        self._layers = [*zip(*(torch.split(row, list(widths)) for row in vector.view(4, -1)))]
        # autograd must not take the running statistics, which move in a forward pass, for the parameters next to them
        self._layers = [(scale, bias, mean.data, variance.data) for scale, bias, mean, variance in self._layers]
        if gradients is None:
            return
        rows = zip(*(torch.split(row, list(widths)) for row in gradients.view(4, -1)))
        for place, (layer, row) in enumerate(zip(self._layers, rows)):
            learnt = [tensor.detach().requires_grad_() for tensor in layer[:2]]
            for tensor, gradient in zip(learnt, row):
                tensor.grad = gradient
            self._layers[place] = (*learnt, *layer[2:])

    def __len__(self) -> int:
        return len(self._layers)

    def __call__(self, layer: int, x: Tensor) -> Tensor:
        """The inputs of a layer, `(batch, width)`, normalised."""
        scale, bias, running_mean, running_variance = self._layers[layer]
        if not self.training:
            return (x - running_mean) / (running_variance + NORM_EPSILON).sqrt() * scale + bias
        mean = x.mean(0)
        variance = ((x * x).mean(0) - mean * mean).clamp(min=0.0)  # biased
        centre, spread = mean, variance
        if self.warm:
            with torch.no_grad():  # constants, of the statistics before this minibatch
                running = (running_variance + NORM_EPSILON).sqrt()
                r = ((variance + NORM_EPSILON).sqrt() / running).clamp(1.0 / R_MAX, R_MAX)
                d = ((mean - running_mean) / running).clamp(-D_MAX, D_MAX)
            varies = variance > 0.0  # else the root's derivative is infinite
            sigma = torch.where(varies, variance, 1.0).sqrt() * varies  # without epsilon, as in the code
            centre, spread = mean - d * sigma / r, variance / r**2
        with torch.no_grad():
            running_mean.lerp_(mean, MOMENTUM)
            running_variance.lerp_(variance, MOMENTUM)
        return (x - centre) / (spread + NORM_EPSILON).sqrt() * scale + bias


def split(vector: Tensor, gradients: Tensor | None, at: int) -> list[tuple[Tensor, Tensor | None]]:
    """The parts before and behind `at`, and their gradients, if any."""
    parts = (vector[:at], vector[at:])
    return [*zip(parts, (None, None) if gradients is None else (gradients[:at], gradients[at:]))]


class RenormMLP(MLP):
    """A critic with normalised inputs of all layers; with `gradients` it trains."""

    def __init__(self, spec: CriticSpec, vector: Tensor, gradients: Tensor | None) -> None:
        network, norm = split(vector, gradients, parameter_count(spec.sizes))
        super().__init__(spec.sizes, spec.activation, "linear", *network)
        self.normalise = self.norms = BatchRenorm(spec.sizes[:-1], *norm)


def renorm_critics(spec: CriticSpec, row: Tensor, gradients: Tensor | None = None) -> list[RenormMLP]:
    """The critics of a row `(count * size,)` of `training/critic.py`; with `gradients` they train."""
    rows = torch.split(row, spec.size)
    more = [None] * spec.count if gradients is None else torch.split(gradients, spec.size)
    return [RenormMLP(spec, vector, gradient) for vector, gradient in zip(rows, more)]


class RenormPolicy(GaussianPolicy):
    """SAC's policy with normalised inputs of all layers."""

    def __init__(self, policy: PolicySpec, vector: Tensor, gradients: Tensor | None = None) -> None:
        """`vector` `(actor_size(policy) + norm_size(policy.sizes),)`; with `gradients` it trains."""
        network, norm = split(vector, gradients, actor_size(policy))
        super().__init__(policy, *network)
        self._trunk.normalise = self.norms = BatchRenorm(policy.sizes[:-1], *norm)

    def features(self, observations: Tensor) -> Tensor:
        return self.norms(len(self.norms) - 1, super().features(observations))


def joint_critic_loss(
    critics: Sequence[MLP], batch: Minibatch, next_actions: Tensor, bonus: Tensor, discount: float
) -> Tensor:
    """sum_k mean 1/2 (Q_k(s, a) - y)^2, y = r + discount * continues * (min_k Q_k(s', a') + bonus), a constant.

    One pass of both halves: their statistics are common, and (s', a') has a gradient through these alone.
    """
    now = torch.cat([batch.observations, batch.actions], 1)
    pairs = torch.cat([now, torch.cat([batch.next_observations, next_actions], 1)])
    q, next_q = torch.stack([critic(pairs) for critic in critics]).chunk(2, 1)
    y = batch.rewards + discount * batch.continues * (next_q.amin(0) + bonus)
    return 0.5 * ((q - y.detach()) ** 2).mean(1).sum()


class CrossQLearner:
    """Actor, twin critics and temperature, and Adam, on one flat vector; there are no targets.

    `count` comes before each `update`.
    """

    noises = 2  # of a', and of a

    def __init__(self, settings: CrossQUpdate, device: str) -> None:
        policy, critic, rate = settings.policy, settings.critic, settings.actor_learning_rate
        shapes = learner_parts(policy, critic, False, settings.actor_norm)
        self.settings = settings
        self.state = torch.zeros(sum(map(math.prod, shapes.values())), device=device)
        actor, temperature, critics = views(self.state, shapes).values()
        self.actor_adam = FlatAdam(actor[0], actor[1:], rate, beta1=BETA1)
        self.critic_adam = FlatAdam(critics[0], critics[1:], settings.critic_learning_rate, beta1=BETA1)
        self.alpha_adam = FlatAdam(temperature[0], temperature[1:], rate)
        self.actor_size = actor.shape[1]
        kind = RenormPolicy if settings.actor_norm else GaussianPolicy
        self.actor, self.frozen_actor = kind(policy, actor[0], self.actor_adam.gradients), kind(policy, actor[0])
        self.q = renorm_critics(critic, critics[0], self.critic_adam.gradients)
        self.frozen_q = renorm_critics(critic, critics[0])
        self.log_alpha = temperature[0].detach().requires_grad_()
        self.log_alpha.grad = self.alpha_adam.gradients

    def begin(self, critic_updates: int, actor_updates: int) -> None:
        """Go on after so many updates."""
        self.critic_adam.steps.fill_(critic_updates)
        for adam in (self.actor_adam, self.alpha_adam):
            adam.steps.fill_(actor_updates)
        self._updates = critic_updates, actor_updates

    def count(self, number: int) -> tuple[bool, ...]:
        """Begin the update `number`: whether it moves the actor, and whether critics and actor are warm."""
        moves, (critics, actor) = number % self.settings.policy_delay == 0, self._updates
        self._updates = critics + 1, actor + moves
        for critic in self.q:
            critic.norms.warm = critics >= WARM
        if isinstance(self.actor, RenormPolicy):
            self.actor.norms.warm = actor >= WARM
        return moves, critics >= WARM, actor >= WARM

    @property
    def alpha(self) -> Tensor:
        """The temperature: fixed, or learnt."""
        fixed = self.settings.temperature
        return self.log_alpha.detach().exp() if fixed is None else torch.full_like(self.log_alpha, fixed)

    def update(self, number: int, batch: Minibatch, noise: Tensor) -> Tensor:
        """The update `number`; of `policy_delay` one moves the actor, up the critics' running statistics, and alpha.

        The critics' loss, and the mean log probability of a'.
        """
        settings, alpha, observations = self.settings, self.alpha, batch.observations
        with torch.no_grad():
            next_actions, next_log = self.frozen_actor.sample(batch.next_observations, noise[0])
        loss = joint_critic_loss(self.q, batch, next_actions, -alpha * next_log, settings.discount)
        self.critic_adam.descend(loss)
        if number % settings.policy_delay == 0:
            climbed, log_probabilities = soft_values(self.actor, self.frozen_q, observations, noise[1], alpha)
            self.actor_adam.descend(-climbed.mean())
            if settings.temperature is None:  # towards the target entropy
                entropy = -log_probabilities.detach().mean()
                self.alpha_adam.descend((self.log_alpha.exp() * (entropy - settings.target_entropy)).sum())
        return torch.stack([loss.detach(), next_log.mean()])


class CrossQCriticBlock:
    """The critics of a population, whose next actions come from one actor, as in `learners/sac.py`.

    `count` comes before each `update`.
    """

    noises = 1

    def __init__(self, settings: CriticUpdate, device: str) -> None:
        policy, critic = settings.policy, settings.critic
        self.settings, self.critics = settings, torch.zeros(critic.shape, device=device)
        self.target_actor = torch.zeros(policy.size, device=device)
        self.adam = FlatAdam(self.critics[0], self.critics[1:], settings.learning_rate, beta1=BETA1)
        self.q = renorm_critics(critic, self.critics[0], self.adam.gradients)
        self.policy = GaussianPolicy(replace(policy, stochastic=False), self.target_actor)

    def begin(self, critic_updates: int) -> None:
        """Go on after so many updates."""
        self.adam.steps.fill_(critic_updates)
        self._updates = critic_updates

    def count(self) -> bool:
        """Begin an update: whether the critics are warm."""
        warm, self._updates = self._updates >= WARM, self._updates + 1
        for critic in self.q:
            critic.norms.warm = warm
        return warm

    def update(self, number: int, batch: Minibatch, noise: Tensor) -> Tensor:
        """The critics' loss."""
        settings = self.settings
        with torch.no_grad():
            next_actions, next_log = self.policy.sample(batch.next_observations, noise[0])
        loss = joint_critic_loss(self.q, batch, next_actions, -settings.temperature * next_log, settings.discount)
        self.adam.descend(loss)
        return loss.detach()[None]
