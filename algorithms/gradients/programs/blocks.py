"""The programs of `learners/blocks.py`, whose target actors are frozen.

Minibatches are drawn `MINIBATCHES` at a time, and the target actor's actions computed for all of them at once.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms.gradients.minibatches import Minibatches, Noise, Transitions, load, saved
from erlbench.algorithms.gradients.programs.networks import Network
from erlbench.algorithms.gradients.programs.program import Program, in_memory
from erlbench.algorithms.gradients.programs.sac import GaussianActor, SoftActor
from erlbench.algorithms.gradients.programs.td3 import Actor, Critics, smoothed
from erlbench.algorithms.training.critic import joined, separated
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate
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


MINIBATCHES = 8  # minibatches read at once; a constant, as matrix products depend in the last bit on their shape


class CriticProgram:
    """Critic updates towards a frozen target actor: TD3's, or SAC's with a fixed temperature if it is stochastic.

    With one critic and no noise TD3's are DDPG's.
    """

    block = MINIBATCHES

    def __init__(self, settings: CriticUpdate, device: str) -> None:
        policy, critic, batch_size = settings.policy, settings.critic, settings.batch_size
        self._settings = settings
        numbers = self.numbers = in_memory(settings, device)
        self.state, weight = torch.zeros(critic.shape, device=device), 0.5 if policy.stochastic else 1.0  # SAC's 1/2
        self.critics = Critics(critic, batch_size, self.state, numbers["learning_rate"], numbers["discount"], weight)
        self._minibatches = Minibatches(policy, batch_size, MINIBATCHES, device)
        kind = StochasticTarget if policy.stochastic else DeterministicTarget
        self._target: StochasticTarget | DeterministicTarget
        self._target = kind(settings, self._minibatches.next_observations, device)
        self.report = self.critics.loss[None]
        self._updates = [self._update(index) for index in range(MINIBATCHES)]
        self.programs = [self._target.act(), *self._updates]

    def _update(self, index: int) -> Program:
        """A step of the critics towards y = r + discount * next value, and their targets follow.

        The next value is min_k Q'_k(s', a'), and with SAC's actor less by temperature * log pi(a'|s').
        """
        batch, critics = self._minibatches[index], self.critics
        rows = slice(index * len(batch.actions), (index + 1) * len(batch.actions))
        program = [*critics.inputs.read(batch, self._target.actions[rows]), *critics.target_values()]
        if self._target.log_probabilities is not None:
            entropy = self._target.log_probabilities[rows]
            program.append(partial(critics.next_values.add_, entropy, alpha=-self._settings.temperature))
        return [*program, *critics.fit(), critics.polyak_update(self.numbers["tau"])]

    def load(self, critic: np.ndarray, target_actor: np.ndarray, updates: int) -> None:
        """Take over critics that have made so many updates, and the actor of their targets."""
        load(self.state, critic)
        self._target.load(target_actor)
        self.critics.adam.reset(updates)

    def draw(self, source: Transitions, random: np.random.Generator) -> None:
        """`MINIBATCHES` minibatches, and the noise of their next actions, if there is any."""
        self._minibatches.draw(source, random)
        self._target.draw(random)

    def update(self, number: int) -> list[Program]:
        """The programs of the update `number`."""
        index = number % MINIBATCHES
        return [self._updates[index]] if index else self.programs[:2]


class ActorProgram:
    """The deterministic policy gradient of one actor, with a fresh Adam, up a frozen Q_1."""

    block = MINIBATCHES

    def __init__(self, settings: ActorUpdate, device: str) -> None:
        policy, critic, batch_size = settings.policy, settings.critic, settings.batch_size
        self._state = torch.zeros(3, policy.size, device=device)
        self._q1 = torch.zeros(critic.size, device=device)
        self._minibatches = Minibatches(policy, batch_size, MINIBATCHES, device)
        self._observations = torch.zeros(batch_size, policy.sizes[0], device=device)
        self.numbers = in_memory(settings, device)
        rate = self.numbers["learning_rate"]
        self.actor = Actor(policy, critic, self._observations, list(self._state), self._q1, rate)
        self.report = torch.zeros(0, device=device)
        self.programs = [self._update(index) for index in range(MINIBATCHES)]

    def _update(self, index: int) -> Program:
        """A step on -mean Q_1(s, pi(s))."""
        read = partial(self._observations.copy_, self._minibatches[index].observations)
        return [read, *self.actor.step()]

    def load(self, parameters: np.ndarray, critic: np.ndarray) -> None:
        """Take over an actor and the critic that it climbs."""
        load(self._q1, critic[0, : len(self._q1)])
        self._state.zero_()
        load(self._state[0], parameters)
        self.actor.adam.reset(0)

    def parameters(self) -> np.ndarray:
        """The actor; a NaN or infinite value raises `NumericalError`."""
        return saved(self._state[0], "the actor")

    def draw(self, source: Transitions, random: np.random.Generator) -> None:
        """`MINIBATCHES` minibatches of observations."""
        self._minibatches.draw(source, random, observations_only=True)

    def update(self, number: int) -> list[Program]:
        """The programs of the update `number`."""
        return [self.programs[number % MINIBATCHES]]


class SoftActorProgram:
    """SAC's steps of one actor, with a fresh Adam and a fixed temperature, up frozen critics."""

    block = MINIBATCHES

    def __init__(self, settings: ActorUpdate, device: str) -> None:
        policy, critic, batch_size = settings.policy, settings.critic, settings.batch_size
        self._policy = policy
        self._state = torch.zeros(3, policy.size, device=device)
        self._critics = torch.zeros(critic.count * critic.size, device=device)
        self._minibatches = Minibatches(policy, batch_size, MINIBATCHES, device)
        self._noise = Noise((MINIBATCHES, batch_size, policy.sizes[-1]), device)
        self._observations = torch.zeros(batch_size, policy.sizes[0], device=device)
        self._weight = torch.zeros(1, device=device).fill_(settings.temperature / batch_size)
        self.numbers = in_memory(settings, device)
        rate, mean = self.numbers["learning_rate"], mean_policy(policy)
        self.actor = SoftActor(mean, critic, list(self._state), self._observations, self._critics, rate)
        self.report = torch.zeros(0, device=device)
        self.programs = [self._update(index) for index in range(MINIBATCHES)]

    def _update(self, index: int) -> Program:
        """A step on mean(temperature * log pi(a|s) - min_k Q_k(s, a)), a ~ pi(s)."""
        read = partial(self._observations.copy_, self._minibatches[index].observations)
        draw = self.actor.pi.draw(self._noise.values[index])
        return [read, *draw, *self.actor.slope(), *self.actor.step(self._weight)]

    def load(self, parameters: np.ndarray, critic: np.ndarray) -> None:
        """Take over an actor and the critics that it climbs."""
        load(self._critics, critic[0])
        self._state.zero_()
        load(self._state[0], separated(self._policy, parameters))
        self.actor.adam.reset(0)

    def parameters(self) -> np.ndarray:
        """The actor; a NaN or infinite value raises `NumericalError`."""
        return joined(self._policy, saved(self._state[0], "the actor"))

    def draw(self, source: Transitions, random: np.random.Generator) -> None:
        """`MINIBATCHES` minibatches of observations, and the noise of the actions there."""
        self._minibatches.draw(source, random, observations_only=True)
        self._noise.draw(random)

    def update(self, number: int) -> list[Program]:
        """The programs of the update `number`."""
        return [self.programs[number % MINIBATCHES]]
