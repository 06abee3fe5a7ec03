"""The tanh-Gaussian policy of SAC (Haarnoja et al. 2018): samples, their log probabilities, and gradients.

u ~ N(mean(s), std(s)^2) and a = tanh(u), the action in [-1, 1]. The flat vector of its parameters begins with the
deterministic policy tanh(mean(s)), a plain `PolicySpec` vector; behind it stands the head of log std.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms.gradients.halves import halves
from erlbench.algorithms.gradients.mlp import Mlp
from erlbench.algorithms.gradients.side_by_side import Together, Work
from erlbench.policy import PolicySpec, parameter_count

LOG_STD_RANGE = (-20.0, 2.0)  # beyond it log std is cut, and has no gradient
EPSILON = 1e-6  # within the logarithm of tanh's derivative


def separated(policy: PolicySpec, vector: np.ndarray) -> np.ndarray:
    """The vector of `GaussianActor` from that of the stochastic `policy`, whose last layer has both heads' outputs."""
    split, weights, outputs = _heads(policy)
    shared, log_std, bias, log_std_bias = np.split(vector, (split, split + weights, split + weights + outputs))
    return np.concatenate([shared, bias, log_std, log_std_bias])


def joined(policy: PolicySpec, vector: np.ndarray) -> np.ndarray:
    """The inverse of `separated`."""
    split, weights, outputs = _heads(policy)
    shared, bias, log_std, log_std_bias = np.split(vector, (split, split + outputs, split + outputs + weights))
    return np.concatenate([shared, log_std, bias, log_std_bias])


def _heads(policy: PolicySpec) -> tuple[int, int, int]:
    """Where the weights of the mean's head end, and how many weights and outputs a head has."""
    inputs, outputs = policy.sizes[-2:]
    return parameter_count(policy.sizes[:-1]) + inputs * outputs, inputs * outputs, outputs


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

        def network(part: slice, sizes: tuple[int, ...], output: str, inputs: Tensor, columns: slice | None) -> Mlp:
            wanted = None if gradients is None else gradients[None, part]
            return Mlp(sizes, activation, output, parameters[None, part], inputs, wanted, columns)

        columns = None if gradients is None else slice(None)  # of the trunk's outputs
        self._trunk = network(slice(0, split), trunk, activation, observations, None)
        features = self._trunk.outputs[0]
        self._mean = network(slice(split, policy.size), head, "linear", features, columns)
        self._log_std = network(slice(policy.size, None), head, "linear", features, columns)
        self.actions = torch.zeros_like(self._mean.outputs[0])
        self._noise = torch.zeros_like(self.actions)
        self._clamped, self._std, self._offset, self._slope, self._terms = self.actions.new_zeros(
            5, *self.actions.shape
        ).unbind()
        self.log_probabilities = self.actions.new_zeros(len(observations), 1)
        divided = halves(self._trunk) if gradients is not None else None
        steps = [divided.backward, divided.gradients] if divided else []
        self._trunk_works: list[list[Work]] = [[partial(step, half) for half in range(2)] for step in steps]
        self.works: list[Work] = [second for _, second in self._trunk_works]

    def sample(self, noise: Tensor) -> Tensor:
        """`actions` = tanh(mean + std * noise), `(batch, action)`; `noise` is standard normal and kept."""
        self._trunk.forward()
        mean, log_std = self._mean.forward()[0], self._log_std.forward()[0]
        self._noise.copy_(noise)
        torch.clamp(log_std, *LOG_STD_RANGE, out=self._clamped)
        torch.exp(self._clamped, out=self._std)
        torch.mul(self._std, noise, out=self._offset)
        return torch.add(mean, self._offset, out=self.actions).tanh_()

    def draw(self, noise: Tensor) -> None:
        """Set both `actions` and `log_probabilities`, by `sample` and `log_probability`."""
        self.sample(noise)
        self.log_probability()

    def log_probability(self) -> Tensor:
        """Of the actions sampled last, `(batch, 1)`: sum of log N(u) - log(1 - tanh(u)^2 + epsilon)."""
        slope, terms, noise = self._slope, self._terms, self._noise
        torch.mul(self.actions, self.actions, out=slope).neg_().add_(1.0)
        torch.add(slope, EPSILON, out=terms).log_().add_(self._clamped).addcmul_(noise, noise, value=0.5)
        torch.sum(terms, 1, keepdim=True, out=self.log_probabilities)
        return self.log_probabilities.neg_().sub_(0.5 * math.log(2.0 * math.pi) * self.actions.shape[1])

    def backward(self, weight: Tensor, action_gradient: Tensor, together: Together) -> None:
        """The gradients of `weight` * sum of log probabilities + sum of (`action_gradient` * actions).

        The samples are functions of the parameters (reparameterised). After `log_probability`; `weight` has one
        element, `action_gradient` `(batch, action)` is overwritten. Two processes share the layers below the heads.
        """
        slope, terms = self._slope, self._terms
        torch.add(slope, EPSILON, out=terms)
        torch.div(self.actions, terms, out=terms).mul_(2.0).mul_(weight)
        gradient = action_gradient.add_(terms).mul_(slope)  # d / du
        self._mean.output_gradient[0].copy_(gradient)
        inside = torch.eq(self._log_std.outputs[0], self._clamped)
        delta = torch.mul(gradient, self._offset, out=self._log_std.output_gradient[0])
        delta.sub_(weight).mul_(inside)
        self._mean.backward()
        self._log_std.backward()
        torch.add(self._mean.input_gradient, self._log_std.input_gradient, out=self._trunk.output_gradient)
        if not self._trunk_works or together.processes == 1:
            self._trunk.backward()
            return
        for works in self._trunk_works:
            together(works)
