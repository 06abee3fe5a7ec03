"""The programs of the blocks in `learners/td3.py` and `learners/sac.py`, whose target actors are frozen.

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
from erlbench.algorithms.gradients.programs.program import Program
from erlbench.algorithms.gradients.programs.sac import GaussianActor, SoftActor
from erlbench.algorithms.gradients.programs.td3 import Actor, Critics, smoothed
from erlbench.algorithms.training.critic import joined, separated
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate
from erlbench.policy import PolicySpec


class FrozenActor:
    """`actions` at next states: pi'(s') with TD3's clipped noise, DDPG's without; or drawn from SAC's policy.

    `act` computes them. SAC's have `log_probabilities`, `(states, 1)`.
    """

    log_probabilities: Tensor | None = None

    def __init__(self, settings: CriticUpdate, states: Tensor, device: str) -> None:
        policy = self._policy = settings.policy
        self._parameters = torch.zeros(policy.size, device=device)
        self._is_noisy = policy.stochastic or settings.target_noise > 0
        self._noise = Noise((len(states), policy.sizes[-1]), device)
        if policy.stochastic:
            actor = GaussianActor(mean_policy(policy), self._parameters, states)
            self.actions, self.log_probabilities = actor.actions, actor.log_probabilities
            self.act = actor.draw(self._noise.values)
        else:
            network = Network(policy.sizes, policy.activation, "tanh", self._parameters[None], states)
            self.actions, self.act = network.outputs[0], network.forward()
            if settings.target_noise:
                self.act += smoothed(self.actions, self._noise.values, settings.target_noise, settings.noise_clip)

    def load(self, actor: np.ndarray) -> None:
        """Take over an actor, `(policy.size,)`."""
        load(self._parameters, separated(self._policy, actor) if self._policy.stochastic else actor)

    def draw(self, random: np.random.Generator) -> None:
        """Draw the noise of the next actions, if there is any."""
        if self._is_noisy:
            self._noise.draw(random)


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
        self.state, weight = torch.zeros(critic.shape, device=device), 0.5 if policy.stochastic else 1.0  # SAC's 1/2
        self.critics = Critics(critic, batch_size, self.state, settings.learning_rate, settings.discount, weight)
        self._minibatches = Minibatches(policy, batch_size, MINIBATCHES, device)
        self._target = FrozenActor(settings, self._minibatches.next_observations, device)
        self.report = self.critics.loss[None]
        self._updates = [self._update(index) for index in range(MINIBATCHES)]
        self.programs = [self._target.act, *self._updates]

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
        return [*program, *critics.fit(), critics.polyak_update(self._settings.tau)]

    def load(self, critic: np.ndarray, target_actor: np.ndarray, updates: int) -> None:
        """Take over critics that have made so many updates, and the actor of their targets."""
        load(self.state, critic)
        self._target.load(target_actor)
        self.critics.reset(updates)

    def draw(self, source: Transitions, random: np.random.Generator) -> None:
        """`MINIBATCHES` minibatches, and the noise of their next actions, if there is any."""
        self._minibatches.draw(source, random)
        self._target.draw(random)

    def update(self, number: int) -> list[Program]:
        """The programs of the update `number`."""
        index = number % MINIBATCHES
        return [self._updates[index]] if index else self.programs[:2]


class ActorProgram:
    """Steps of one actor, with a fresh Adam, up frozen critics: TD3's and DDPG's up Q_1, or SAC's if it is stochastic.

    SAC's has a fixed temperature.
    """

    block = MINIBATCHES
    actor: Actor | SoftActor

    def __init__(self, settings: ActorUpdate, device: str) -> None:
        policy, critic, batch_size = settings.policy, settings.critic, settings.batch_size
        self._policy = policy
        self._state = torch.zeros(3, policy.size, device=device)
        self._critics = torch.zeros(critic.count * critic.size, device=device)
        self._minibatches = Minibatches(policy, batch_size, MINIBATCHES, device)
        self._noise = Noise((MINIBATCHES if policy.stochastic else 0, batch_size, policy.sizes[-1]), device)
        self._observations = torch.zeros(batch_size, policy.sizes[0], device=device)
        self._weight = torch.zeros(1, device=device).fill_(settings.temperature / batch_size)
        kind, rate, mean = SoftActor if policy.stochastic else Actor, settings.learning_rate, mean_policy(policy)
        self.actor = kind(mean, critic, self._observations, list(self._state), self._critics, rate)
        self.report = torch.zeros(0, device=device)
        self.programs = [self._update(index) for index in range(MINIBATCHES)]

    def _update(self, index: int) -> Program:
        """A step on -mean Q_1(s, pi(s)), or on mean(temperature * log pi(a|s) - min_k Q_k(s, a)), a ~ pi(s)."""
        read, actor = partial(self._observations.copy_, self._minibatches[index].observations), self.actor
        if isinstance(actor, Actor):
            return [read, *actor.step()]
        return [read, *actor.pi.draw(self._noise.values[index]), *actor.slope(), *actor.step(self._weight)]

    def load(self, parameters: np.ndarray, critic: np.ndarray) -> None:
        """Take over an actor and the critics that it climbs."""
        load(self._critics, critic[0])
        self._state.zero_()
        load(self._state[0], separated(self._policy, parameters) if self._policy.stochastic else parameters)
        self.actor.adam.steps.zero_()

    def parameters(self) -> np.ndarray:
        """The actor; a NaN or infinite value raises `NumericalError`."""
        parameters = saved(self._state[0], "the actor")
        return joined(self._policy, parameters) if self._policy.stochastic else parameters

    def draw(self, source: Transitions, random: np.random.Generator) -> None:
        """`MINIBATCHES` minibatches of observations, and the noise of the actions that are drawn there."""
        self._minibatches.draw(source, random, observations_only=True)
        self._noise.draw(random)

    def update(self, number: int) -> list[Program]:
        """The programs of the update `number`."""
        return [self.programs[number % MINIBATCHES]]
