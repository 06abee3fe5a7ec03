"""SAC's step of an actor: a tanh-Gaussian policy that climbs twin critics (Haarnoja et al. 2018, v2 eq. 7)."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from erlbench.algorithms.critic import CriticSpec
from erlbench.algorithms.gradients.gaussian_actor import GaussianActor
from erlbench.algorithms.gradients.mlp import Adam, Mlp
from erlbench.algorithms.gradients.side_by_side import Together, Work, in_turn
from erlbench.policy import PolicySpec


class StochasticLearner:
    """An actor that climbs mean(min(Q1, Q2)(s, a) - alpha log pi(a|s)), a ~ pi(s); the critics are only read."""

    def __init__(
        self, policy: PolicySpec, critic: CriticSpec, state: Tensor, observations: Tensor, critics: Tensor
    ) -> None:
        """`state`: parameters and Adam's two moments, rows of `sac.actor_size(policy)`; all are used in place.

        `policy` is the deterministic one, tanh(mean); `observations` `(batch, observation)`, `critics` `(2 * n,)`.
        """
        parameters, *moments = state
        gradients = torch.zeros_like(parameters)
        self.policy = GaussianActor(policy, parameters, observations, gradients)
        self.adam = Adam(parameters, gradients, *moments)
        self._observations, self._split = observations, policy.sizes[0]
        self._inputs = parameters.new_zeros(len(observations), critic.sizes[0])
        networks, columns = critics.view(critic.count, -1), slice(self._split, None)
        self._q = Mlp(critic.sizes, critic.activation, "linear", networks, self._inputs, input_columns=columns)
        lanes = range(len(self._q.lanes))
        self._forward_works = [partial(self._q.forward_lane, lane) for lane in lanes]
        self._backward_works = [partial(self._q.backward_lane, lane) for lane in lanes]
        self.works: list[Work] = [self._forward_works[-1], self._backward_works[-1], *self.policy.works]
        self.together: Together = in_turn

    def slope(self) -> Tensor:
        """The critics' values `(2, batch, 1)` of the actions that `policy` has drawn, and the slope there."""
        self._inputs[:, : self._split] = self._observations
        self._inputs[:, self._split :] = self.policy.actions
        q = self._q
        self.together(self._forward_works)
        first, second = q.outputs
        smaller = first <= second
        q.output_gradient[0].copy_(smaller).div_(-len(self._inputs))
        q.output_gradient[1].copy_(~smaller).div_(-len(self._inputs))
        self.together(self._backward_works)
        return q.outputs

    def climb(self, weight: Tensor, learning_rate: float) -> None:
        """One Adam step, after `slope`; `weight` is alpha / batch, one element."""
        self.policy.backward(weight, self._q.input_gradient.sum(0), self.together)
        self.adam.step(learning_rate)
