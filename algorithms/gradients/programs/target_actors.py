"""Frozen target actors of critic updates: next actions for many states at once, and noise that is drawn before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms.gradients.minibatches import Noise, load
from erlbench.algorithms.gradients.programs.gaussian_actor import GaussianActor
from erlbench.algorithms.gradients.programs.networks import Network
from erlbench.algorithms.gradients.programs.program import Program
from erlbench.algorithms.gradients.programs.td3 import smoothed
from erlbench.algorithms.training.critic import separated
from erlbench.algorithms.training.update_settings import CriticUpdate
from erlbench.policy import PolicySpec


class DeterministicTarget:
    """`actions` = pi'(s') with TD3's clipped noise; DDPG's have none."""

    log_probabilities: Tensor | None = None

    def __init__(self, settings: CriticUpdate, states: Tensor, device: str) -> None:
        policy = settings.policy
        self._settings = settings
        self._parameters = torch.zeros(policy.size, device=device)
        self._network = Network(policy.sizes, policy.activation, "tanh", self._parameters[None], states)
        self.actions = self._network.outputs[0]
        self._noise = Noise(tuple(self.actions.shape), device)

    def load(self, actor: np.ndarray) -> None:
        """Take over an actor, `(policy.size,)`."""
        load(self._parameters, actor)

    def draw(self, random: np.random.Generator) -> None:
        """Draw the noise of the next actions, if there is any."""
        if self._settings.target_noise:
            self._noise.draw(random)

    def act(self) -> Program:
        """What computes `actions`."""
        settings, act = self._settings, self._network.forward()
        if settings.target_noise:
            act += smoothed(self.actions, self._noise.values, settings.target_noise, settings.noise_clip)
        return act


class StochasticTarget:
    """`actions` ~ pi(s') of SAC's tanh-Gaussian policy, and their `log_probabilities`, `(states, 1)`."""

    def __init__(self, settings: CriticUpdate, states: Tensor, device: str) -> None:
        policy = self._policy = settings.policy
        self._parameters = torch.zeros(policy.size, device=device)
        self._actor = GaussianActor(mean_policy(policy), self._parameters, states)
        self.actions = self._actor.actions
        self.log_probabilities: Tensor | None = self._actor.log_probabilities
        self._noise = Noise(tuple(self.actions.shape), device)

    def load(self, actor: np.ndarray) -> None:
        """Take over an actor, `(policy.size,)`."""
        load(self._parameters, separated(self._policy, actor))

    def draw(self, random: np.random.Generator) -> None:
        """Draw the noise of the next actions."""
        self._noise.draw(random)

    def act(self) -> Program:
        """What computes `actions` and `log_probabilities`."""
        return self._actor.draw(self._noise.values)


def mean_policy(policy: PolicySpec) -> PolicySpec:
    """The deterministic policy tanh(mean) of a stochastic one."""
    return replace(policy, stochastic=False)
