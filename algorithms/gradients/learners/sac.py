"""SAC: v2 (Haarnoja et al., arXiv:1812.05905, algorithm 1), and v1 with a state-value network (ICML 2018).

Equation numbers are v2's unless noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.distributions import Normal
from torch.nn.functional import mse_loss

from erlbench.algorithms.gradients.learners.networks import MLP, FlatAdam, follow, views
from erlbench.algorithms.gradients.learners.td3 import Critics, critic_loss, values
from erlbench.algorithms.gradients.minibatches import Minibatch
from erlbench.algorithms.training.critic import learner_parts, value_sizes
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate, SACUpdate
from erlbench.policy import PolicySpec, parameter_count


class GaussianPolicy:
    """a = tanh(u), u ~ N(mean(s), std(s)^2): the deterministic policy's vector, and behind it the head of log std."""

    def __init__(self, policy: PolicySpec, parameters: Tensor, gradients: Tensor | None = None) -> None:
        """`parameters` `(actor_size(policy),)`; see `MLP`."""
        trunk, head, activation = policy.sizes[:-1], policy.sizes[-2:], policy.activation
        split = parameter_count(trunk)

        def network(span: slice, sizes: tuple[int, ...], output: str) -> MLP:
            return MLP(sizes, activation, output, parameters[span], None if gradients is None else gradients[span])

        self._trunk = network(slice(0, split), trunk, activation)
        self._mean = network(slice(split, policy.size), head, "linear")
        self._log_std = network(slice(policy.size, None), head, "linear")

    def features(self, observations: Tensor) -> Tensor:
        """What both heads get, `(batch, policy.sizes[-2])`."""
        return self._trunk(observations)

    def sample(self, observations: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Actions, reparameterised with `noise` ~ N(0, 1), and their log probabilities `(batch, 1)` (appendix C)."""
        features = self.features(observations)
        std = self._log_std(features).clamp(-20, 2).exp()
        gaussian = Normal(self._mean(features), std, validate_args=False)  # a check would wait for a GPU
        u = gaussian.mean + gaussian.stddev * noise
        actions = torch.tanh(u)
        density: Tensor = gaussian.log_prob(u)  # type: ignore[no-untyped-call]
        return actions, (density - torch.log(1 - actions**2 + 1e-6)).sum(1, keepdim=True)


def soft_values(
    policy: GaussianPolicy, critics: Sequence[MLP], observations: Tensor, noise: Tensor, alpha: Tensor | float
) -> tuple[Tensor, Tensor]:
    """min_k Q_k(s, a) - alpha log pi(a|s), a ~ pi(s), `(batch, 1)`, and the log probabilities."""
    actions, log_probabilities = policy.sample(observations, noise)
    return values(critics, observations, actions) - alpha * log_probabilities, log_probabilities


class SACLearner:
    """Actor, twin critics, temperature, with v1 the value network; their targets, and Adam; on one flat vector."""

    def __init__(self, settings: SACUpdate, state: Tensor) -> None:
        """`state`: the flat vector of `sac.initial_learner`."""
        policy, critic, rate = settings.policy, settings.critic, settings.actor_learning_rate
        rows = views(state, learner_parts(policy, critic, settings.value_network))
        self.settings, self.critics = settings, Critics(critic, rows["critic"], settings.critic_learning_rate)
        self.actor_adam = FlatAdam(rows["actor"][0], rows["actor"][1:], rate)
        self.actor = GaussianPolicy(policy, rows["actor"][0], self.actor_adam.gradients)
        self.log_alpha = rows["temperature"][0].detach().requires_grad_()
        self.alpha_adam = FlatAdam(rows["temperature"][0], rows["temperature"][1:], rate)
        self.log_alpha.grad = self.alpha_adam.gradients
        if settings.value_network:
            self.values, shape = rows["value"], (value_sizes(policy, critic),)
            self.value_adam = FlatAdam(self.values[0], self.values[2:], settings.critic_learning_rate)
            self.v = MLP(*shape, critic.activation, "linear", self.values[0], self.value_adam.gradients)
            self.target_v = MLP(*shape, critic.activation, "linear", self.values[1])

    @property
    def alpha(self) -> Tensor:
        """The temperature: fixed, or learnt."""
        fixed = self.settings.temperature
        return self.log_alpha.detach().exp() if fixed is None else torch.full_like(self.log_alpha, fixed)

    def update(self, number: int, batch: Minibatch, noise: Tensor) -> Tensor:
        """One update (eq. 5 and 7 and 18; v1's eq. 5 and 8) with `noise` `(2, batch, action)`: of a', and of a.

        The critics' loss, and the mean log probability of the actions.
        """
        settings, alpha, observations = self.settings, self.alpha, batch.observations
        loss = 0.5 * critic_loss(self.critics.q, batch, self.targets(batch, noise[0], alpha))  # eq. 5; v1, eq. 8
        self.critics.adam.descend(loss)
        climbed, log_probabilities = soft_values(self.actor, self.critics.frozen_q, observations, noise[1], alpha)
        self.actor_adam.descend(-climbed.mean())  # eq. 7
        if settings.value_network:
            self.value_adam.descend(0.5 * mse_loss(self.v(observations), climbed.detach()))  # v1, eq. 5
        entropy = log_probabilities.detach().mean()
        if settings.temperature is None:  # eq. 18, with log alpha for alpha: towards the target entropy
            self.alpha_adam.descend(-(self.log_alpha * (entropy + settings.target_entropy)).sum())
        online, target, *_ = self.values if settings.value_network else self.critics.rows
        follow(target, online, settings.tau)
        return torch.stack([loss.detach(), entropy])

    def targets(self, batch: Minibatch, noise: Tensor, alpha: Tensor) -> Tensor:
        """Y = r + discount * V(s'), V(s') = min_k Q'_k(s', a') - alpha log pi(a'|s') (eq. 3), or v1's target."""
        settings, following = self.settings, batch.next_observations
        with torch.no_grad():
            if settings.value_network:
                next_values = self.target_v(following)
            else:
                next_values, _ = soft_values(self.actor, self.critics.target_q, following, noise, alpha)
            return settings.reward_scale * batch.rewards + settings.discount * batch.continues * next_values


class SoftCriticBlock:
    """CEM-RL's critics with SAC's losses: targets of one frozen stochastic actor, and a fixed temperature."""

    def __init__(self, settings: CriticUpdate, critics: Tensor, target_actor: Tensor) -> None:
        """`critics`: rows of `training/critic.py`; `target_actor` as `GaussianPolicy` has it."""
        self.settings, self.critics = settings, Critics(settings.critic, critics, settings.learning_rate)
        self.policy = GaussianPolicy(replace(settings.policy, stochastic=False), target_actor)

    def update(self, number: int, batch: Minibatch, noise: Tensor) -> Tensor:
        """One update, `noise` `(1, batch, action)`; the critics' loss."""
        settings, following = self.settings, batch.next_observations
        with torch.no_grad():
            v, _ = soft_values(self.policy, self.critics.target_q, following, noise[0], settings.temperature)
            y = batch.rewards + settings.discount * batch.continues * v
        loss = 0.5 * critic_loss(self.critics.q, batch, y)
        self.critics.adam.descend(loss)
        self.critics.follow(settings.tau)
        return loss.detach()


class SoftActorBlock:
    """CEM-RL's actor with SAC's loss: one stochastic actor, with a fixed temperature, up frozen critics."""

    noises = 1

    def __init__(
        self, settings: ActorUpdate, parameters: Tensor, moments: Tensor, critics: Sequence[MLP], beta1: float = 0.9
    ) -> None:
        """`parameters` as `GaussianPolicy` has them; `beta1` is Adam's."""
        self.settings, self.q = settings, critics
        self.adam = FlatAdam(parameters, moments, settings.learning_rate, beta1=beta1)
        self.policy = GaussianPolicy(replace(settings.policy, stochastic=False), parameters, self.adam.gradients)

    def update(self, number: int, batch: Minibatch, noise: Tensor) -> Tensor:
        """A step on -mean(min_k Q_k(s, a) - temperature * log pi(a|s)), a ~ pi(s); it reports nothing."""
        v, _ = soft_values(self.policy, self.q, batch.observations, noise[0], self.settings.temperature)
        self.adam.descend(-v.mean())
        return v.new_zeros(0)
