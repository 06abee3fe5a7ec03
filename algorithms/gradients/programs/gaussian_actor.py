"""The tanh-Gaussian policy of SAC (Haarnoja et al. 2018): samples, their log probabilities, and gradients.

u ~ N(mean(s), std(s)^2) and a = tanh(u), the action in [-1, 1]. The flat vector of its parameters begins with the
deterministic policy tanh(mean(s)), a plain `PolicySpec` vector; behind it stands the head of log std.
"""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from erlbench.algorithms.gradients.programs.networks import ALL, Network
from erlbench.algorithms.gradients.programs.program import Program
from erlbench.policy import PolicySpec, parameter_count

LOG_STD_RANGE = (-20.0, 2.0)  # beyond it log std is clipped, and has no gradient
EPSILON = 1e-6  # within the logarithm of tanh's derivative


class GaussianActor:
    """The policy on one buffer of observations; `backward` wants `gradients`."""

    def __init__(
        self, policy: PolicySpec, parameters: Tensor, observations: Tensor, gradients: Tensor | None = None
    ) -> None:
        """`parameters` and `gradients` `(sac.actor_size(policy),)`, `observations` `(batch, observation)`.

        All are used in place.
        """
        trunk, head = policy.sizes[:-1], policy.sizes[-2:]
        split, activation = parameter_count(trunk), policy.activation

        def network(part: slice, sizes: tuple[int, ...], output: str, inputs: Tensor, columns: slice | None) -> Network:
            wanted = None if gradients is None else gradients[None, part]
            return Network(sizes, activation, output, parameters[None, part], inputs, wanted, columns)

        columns = None if gradients is None else ALL  # of the trunk's outputs
        self._trunk = network(slice(0, split), trunk, activation, observations, None)
        features = self._trunk.outputs[0]
        self._mean = network(slice(split, policy.size), head, "linear", features, columns)
        self._log_std = network(slice(policy.size, None), head, "linear", features, columns)
        shape = self._mean.outputs[0].shape
        self.actions, self._noise, self._clamped, self._std, self._offset, self._slope, self._terms = (
            parameters.new_zeros(7, *shape).unbind()
        )
        self._inside = torch.zeros(shape, dtype=torch.bool, device=parameters.device)
        self.log_probabilities = parameters.new_zeros(len(observations), 1)

    def sample(self, noise: Tensor) -> Program:
        """`actions` = tanh(mean + std * noise), `(batch, action)`; `noise` is standard normal and kept."""
        mean, log_std = self._mean.outputs[0], self._log_std.outputs[0]
        return [
            *self._trunk.forward(),
            *self._mean.forward(),
            *self._log_std.forward(),
            partial(self._noise.copy_, noise),
            partial(torch.clamp, log_std, *LOG_STD_RANGE, out=self._clamped),
            partial(torch.exp, self._clamped, out=self._std),
            partial(torch.mul, self._std, noise, out=self._offset),
            partial(torch.add, mean, self._offset, out=self.actions),
            self.actions.tanh_,
        ]

    def log_probability(self) -> Program:
        """`log_probabilities` of the actions, `(batch, 1)`: sum of log N(u) - log(1 - tanh(u)^2 + epsilon)."""
        slope, terms, noise, total = self._slope, self._terms, self._noise, self.log_probabilities
        return [
            partial(torch.mul, self.actions, self.actions, out=slope),
            slope.neg_,
            partial(slope.add_, 1.0),
            partial(torch.add, slope, EPSILON, out=terms),
            terms.log_,
            partial(terms.add_, self._clamped),
            partial(terms.addcmul_, noise, noise, value=0.5),
            partial(torch.sum, terms, 1, keepdim=True, out=total),
            total.neg_,
            partial(total.sub_, 0.5 * math.log(2.0 * math.pi) * self.actions.shape[1]),
        ]

    def draw(self, noise: Tensor) -> Program:
        """Both `actions` and `log_probabilities`."""
        return [*self.sample(noise), *self.log_probability()]

    def backward(self, weight: Tensor, action_gradient: Tensor) -> Program:
        """The gradients of `weight` * sum of log probabilities + sum of (`action_gradient` * actions).

        The samples are functions of the parameters (reparameterised). After `log_probability`; `weight` has one
        element, `action_gradient` `(batch, action)` is overwritten.
        """
        slope, terms, gradient, trunk = self._slope, self._terms, action_gradient, self._trunk
        mean, log_std = self._mean.output_gradient[0], self._log_std.output_gradient[0]
        heads: Program = [
            partial(torch.add, slope, EPSILON, out=terms),
            partial(torch.div, self.actions, terms, out=terms),
            partial(terms.mul_, 2.0),
            partial(terms.mul_, weight),
            partial(gradient.add_, terms),
            partial(gradient.mul_, slope),  # d / du
            partial(mean.copy_, gradient),
            partial(torch.eq, self._log_std.outputs[0], self._clamped, out=self._inside),
            partial(torch.mul, gradient, self._offset, out=log_std),
            partial(log_std.sub_, weight),
            partial(log_std.mul_, self._inside),
        ]
        for head in (self._mean, self._log_std):
            heads += [*head.backward(), *head.backward_to_inputs(), *head.gradients()]
        sums = self._mean.input_gradient, self._log_std.input_gradient
        heads.append(partial(torch.add, *sums, out=trunk.output_gradient))
        return [*heads, *trunk.backward(), *trunk.gradients()]
