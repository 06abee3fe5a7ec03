"""SAC's update, from the minibatch to the targets: v2 (arXiv:1812.05905, algorithm 1), and v1 with a value network.

`gradients/learners/sac.py` computes the same numbers from the same draws.
`tests/algorithms/gradients/test_reference.py` proves it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Normal
from torch.nn.functional import mse_loss

from erlbench.algorithms.gradients.reference.networks import (
    ACTIVATIONS,
    Experience,
    descend,
    follow,
    mlp,
    normal,
    set_parameters,
)
from erlbench.algorithms.training.update_settings import SACUpdate, learner_parts, value_sizes
from erlbench.policy import PolicySpec


class TanhGaussian(nn.Module):
    """SAC's actor: a = tanh(u), u ~ N(mean(s), std(s)); `parameters` end with the head of log std."""

    def __init__(self, policy: PolicySpec, parameters: np.ndarray) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs, outputs in zip(policy.sizes[:-1], policy.sizes[1:-1]):
            layers += [nn.Linear(inputs, outputs), ACTIVATIONS[policy.activation]()]
        self.body, (width, actions) = nn.Sequential(*layers), policy.sizes[-2:]
        self.mean, self.log_std = nn.Linear(width, actions), nn.Linear(width, actions)
        set_parameters(self, parameters)

    def sample(self, observations: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Actions, reparameterised with `noise` ~ N(0, 1), and their log probabilities `(batch, 1)` (appendix C)."""
        features = self.body(observations)
        gaussian = Normal(self.mean(features), self.log_std(features).clamp(-20, 2).exp())
        u = gaussian.mean + gaussian.stddev * noise
        actions = torch.tanh(u)
        density: Tensor = gaussian.log_prob(u)  # type: ignore[no-untyped-call]
        log_probabilities = density - torch.log(1 - actions**2 + 1e-6)
        return actions, log_probabilities.sum(1, keepdim=True)


class SACReference:
    """Actor, twin critics, temperature, with v1 the value network; their targets, and Adam."""

    def __init__(self, settings: SACUpdate, learner: np.ndarray) -> None:
        """`learner`: the flat vector of `algorithms.sac.initial_learner`."""
        policy, critic, parts, start = settings.policy, settings.critic, {}, 0
        for name, (rows, columns) in learner_parts(policy, critic, settings.value_network).items():
            parts[name] = learner[start : start + rows * columns].reshape(rows, columns)
            start += rows * columns
        online, target, *_ = parts["critic"].reshape(4, 2, -1)
        self.settings = settings
        self.actor = TanhGaussian(policy, parts["actor"][0])
        self.critics = nn.ModuleList(mlp(critic.sizes, critic.activation, q) for q in online)
        self.target_critics = nn.ModuleList(mlp(critic.sizes, critic.activation, q) for q in target)
        self.log_alpha = nn.Parameter(torch.tensor(parts["temperature"][0]))
        learnt = [*self.actor.parameters()], [*self.critics.parameters()], [self.log_alpha]
        self.actor_adam, self.critic_adam, self.alpha_adam = (
            torch.optim.Adam(parameters, lr=settings.learning_rate) for parameters in learnt
        )
        if settings.value_network:
            sizes = value_sizes(policy, critic)
            self.value, self.target_value = (mlp(sizes, critic.activation, parts["value"][row]) for row in (0, 1))
            self.value_adam = torch.optim.Adam(self.value.parameters(), lr=settings.learning_rate)

    @property
    def alpha(self) -> float:
        """The temperature: fixed, or learnt."""
        fixed = self.settings.temperature
        return self.log_alpha.exp().item() if fixed is None else fixed

    def update(self, replay: Experience, random: np.random.Generator) -> tuple[float, float]:
        """One update of everything; returns the critics' loss and the mean log probability of the actions."""
        settings = self.settings
        batch = replay.sample(settings.batch_size, random)
        next_noise, noise = normal(batch.actions, random), normal(batch.actions, random)
        loss = self.critic_step(batch, next_noise)
        soft_values, mean_log_probability = self.actor_step(batch.observations, noise)
        if settings.value_network:  # v1, eq. 5
            error = mse_loss(self.value(batch.observations), soft_values)
            descend(self.value_adam, 0.5 * error)
        if settings.temperature is None:  # v2, eq. 18: towards the target entropy
            descend(self.alpha_adam, -(self.log_alpha * (mean_log_probability + settings.target_entropy)).sum())
        if settings.value_network:
            follow(self.target_value, self.value, settings.tau)
        else:
            follow(self.target_critics, self.critics, settings.tau)
        return loss, mean_log_probability

    def critic_step(self, batch: Experience, noise: Tensor) -> float:
        """One step of both critics (v2, eq. 5 with 3; v1, eq. 8), with `noise` for the next actions; their loss."""
        settings, following = self.settings, batch.next_observations
        with torch.no_grad():
            if settings.value_network:
                next_values = self.target_value(following)
            else:
                next_actions, log_probabilities = self.actor.sample(following, noise)
                smaller = self.smaller(self.target_critics, following, next_actions)
                next_values = smaller - self.alpha * log_probabilities
            y = settings.reward_scale * batch.rewards + settings.discount * batch.continues * next_values
        pairs = torch.cat([batch.observations, batch.actions], 1)
        loss = 0.5 * (mse_loss(self.critics[0](pairs), y) + mse_loss(self.critics[1](pairs), y))
        descend(self.critic_adam, loss)
        return loss.item()

    def actor_step(self, observations: Tensor, noise: Tensor) -> tuple[Tensor, float]:
        """One step of the actor (v2, eq. 7); min Q - alpha log pi `(batch, 1)` before it, and the mean log pi."""
        actions, log_probabilities = self.actor.sample(observations, noise)
        soft_values = self.smaller(self.critics, observations, actions) - self.alpha * log_probabilities
        descend(self.actor_adam, -soft_values.mean())
        return soft_values.detach(), log_probabilities.mean().item()

    @staticmethod
    def smaller(critics: nn.ModuleList, observations: Tensor, actions: Tensor) -> Tensor:
        """The smaller one of both critics' values, `(batch, 1)`."""
        pairs = torch.cat([observations, actions], 1)
        return torch.min(critics[0](pairs), critics[1](pairs))
