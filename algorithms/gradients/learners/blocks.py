"""The separate updates of CEM-RL, P-CEM-RL and AES-RL: critics towards a frozen actor, an actor up frozen critics.

So many actors can be trained beside the chain of critic updates (Pourchot & Sigaud 2019; Lee et al. 2020). Minibatches
are drawn `BLOCK` at a time, and the target actor's actions computed for all of them at once.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import torch

from erlbench.algorithms.gradients.learners.gaussian_actor import GaussianActor, joined, separated
from erlbench.algorithms.gradients.learners.minibatches import Minibatches, Noise, Transitions, load, saved
from erlbench.algorithms.gradients.learners.numbers import in_memory
from erlbench.algorithms.gradients.learners.sac import SoftActor
from erlbench.algorithms.gradients.learners.td3 import Actor, Critics, smoothed
from erlbench.algorithms.gradients.programs.networks import Network
from erlbench.algorithms.gradients.programs.program import Program, Stage, alone
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate
from erlbench.policy import PolicySpec

BLOCK = 8  # minibatches read at once; a constant, as matrix products depend in the last bit on their shape


class CriticBlock:
    """TD3's critic updates towards a frozen target actor; DDPG's with one critic and no noise."""

    block = BLOCK

    def __init__(self, settings: CriticUpdate, device: str) -> None:
        policy, batch_size = settings.policy, settings.batch_size
        self._settings = settings
        state = torch.zeros(settings.critic.shape, device=device)
        numbers = self.numbers = in_memory(settings, device)
        rate, discount = numbers["learning_rate"], numbers["discount"]
        self.critics = Critics(settings.critic, batch_size, state, rate, discount)
        self._minibatches = Minibatches(policy, batch_size, BLOCK, device)
        self._noise = Noise((BLOCK * batch_size, policy.sizes[-1]), device)
        self.target_actor = torch.zeros(policy.size, device=device)
        target, states = self.target_actor[None], self._minibatches.next_observations
        self._target = Network(policy.sizes, policy.activation, "tanh", target, states)
        self.report = self.critics.loss[None]
        self._actions = Program.build(lambda cores: self._target_actions())
        self._updates = [Program.build(partial(self._update, index)) for index in range(BLOCK)]
        self.programs = [self._actions, *self._updates]

    def _target_actions(self) -> list[Stage]:
        """The smoothed actions of the target actor for all minibatches."""
        settings, actions = self._settings, self._target.outputs[0]
        stages = [alone(*self._target.forward())]
        if settings.target_noise:
            stages.append(alone(*smoothed(actions, self._noise.values, settings.target_noise, settings.noise_clip)))
        return stages

    def _update(self, index: int, cores: int) -> list[Stage]:
        """A step of the critics towards y = r + discount * min_k Q'_k(s', a'), and their targets follow."""
        batch, critics = self._minibatches[index], self.critics
        actions = self._target.outputs[0].view(BLOCK, len(batch.actions), -1)[index]
        return [
            alone(*critics.inputs.read(batch, actions)),
            *critics.target_values(),
            *critics.fit(),
            critics.polyak_update(self.numbers["tau"]),
        ]

    def load(self, critic: np.ndarray, target_actor: np.ndarray, updates: int) -> None:
        """Take over critics that have made so many updates, and the actor of their targets."""
        load(self.critics.state, critic)
        load(self.target_actor, target_actor)
        self.critics.adam.reset(updates)

    def draw(self, source: Transitions, random: np.random.Generator) -> None:
        """`BLOCK` minibatches, and the noise of their target actions, if there is any."""
        self._minibatches.draw(source, random)
        if self._settings.target_noise:
            self._noise.draw(random)

    def update(self, number: int) -> list[Program]:
        """The programs of the update `number`."""
        index = number % BLOCK
        return [self._updates[index]] if index else self.programs[:2]


class SoftCriticBlock:
    """SAC's critic updates towards the soft values of a frozen target actor, with a fixed temperature."""

    block = BLOCK

    def __init__(self, settings: CriticUpdate, device: str) -> None:
        policy, batch_size = settings.policy, settings.batch_size
        self._settings = settings
        state = torch.zeros(settings.critic.shape, device=device)
        numbers = self.numbers = in_memory(settings, device)
        rate, discount = numbers["learning_rate"], numbers["discount"]
        self.critics = Critics(settings.critic, batch_size, state, rate, discount, 0.5)
        self._minibatches = Minibatches(policy, batch_size, BLOCK, device)
        self._noise = Noise((BLOCK * batch_size, policy.sizes[-1]), device)
        self.target_actor = torch.zeros(policy.size, device=device)
        states = self._minibatches.next_observations
        self._actor = GaussianActor(mean_policy(policy), self.target_actor, states)
        self.report = self.critics.loss[None]
        samples = [self._actor.draw(self._noise.values)]
        self._updates = [Program.build(partial(self._update, index)) for index in range(BLOCK)]
        self.programs = [Program.build(lambda cores: [samples]), *self._updates]

    def _update(self, index: int, cores: int) -> list[Stage]:
        """A step towards y = r + discount * (min_k Q'_k(s', a') - temperature * log pi(a'|s')), a' ~ pi(s')."""
        batch, critics = self._minibatches[index], self.critics
        actions, log_probabilities = (
            tensor.view(BLOCK, len(batch.actions), -1)[index]
            for tensor in (self._actor.actions, self._actor.log_probabilities)
        )
        entropy = partial(critics.next_values.add_, log_probabilities, alpha=-self._settings.temperature)
        return [
            alone(*critics.inputs.read(batch, actions)),
            *critics.target_values(),
            alone(entropy),
            *critics.fit(),
            critics.polyak_update(self.numbers["tau"]),
        ]

    def load(self, critic: np.ndarray, target_actor: np.ndarray, updates: int) -> None:
        """Take over critics that have made so many updates, and the actor of their targets."""
        load(self.critics.state, critic)
        load(self.target_actor, separated(self._settings.policy, target_actor))
        self.critics.adam.reset(updates)

    def draw(self, source: Transitions, random: np.random.Generator) -> None:
        """`BLOCK` minibatches, and the noise of their next actions."""
        self._minibatches.draw(source, random)
        self._noise.draw(random)

    def update(self, number: int) -> list[Program]:
        """The programs of the update `number`."""
        index = number % BLOCK
        return [self._updates[index]] if index else self.programs[:2]


class ActorBlock:
    """The deterministic policy gradient of one actor, with a fresh Adam, up a frozen Q_1."""

    block = BLOCK

    def __init__(self, settings: ActorUpdate, device: str) -> None:
        policy, critic, batch_size = settings.policy, settings.critic, settings.batch_size
        self._state = torch.zeros(3, policy.size, device=device)
        self._q1 = torch.zeros(critic.size, device=device)
        self._minibatches = Minibatches(policy, batch_size, BLOCK, device)
        self._observations = torch.zeros(batch_size, policy.sizes[0], device=device)
        self.numbers = in_memory(settings, device)
        rate = self.numbers["learning_rate"]
        self.actor = Actor(policy, critic, self._observations, list(self._state), self._q1, rate)
        self.report = torch.zeros(0, device=device)
        self.programs = [Program.build(partial(self._update, index)) for index in range(BLOCK)]

    def _update(self, index: int, cores: int) -> list[Stage]:
        """A step on -mean Q_1(s, pi(s))."""
        read = partial(self._observations.copy_, self._minibatches[index].observations)
        return [alone(read), *self.actor.step(cores)]

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
        """`BLOCK` minibatches of observations."""
        self._minibatches.draw(source, random, observations_only=True)

    def update(self, number: int) -> list[Program]:
        """The programs of the update `number`."""
        return [self.programs[number % BLOCK]]


class SoftActorBlock:
    """SAC's steps of one actor, with a fresh Adam and a fixed temperature, up frozen critics."""

    block = BLOCK

    def __init__(self, settings: ActorUpdate, device: str) -> None:
        policy, critic, batch_size = settings.policy, settings.critic, settings.batch_size
        self._policy = policy
        self._state = torch.zeros(3, policy.size, device=device)
        self._critics = torch.zeros(critic.count * critic.size, device=device)
        self._minibatches = Minibatches(policy, batch_size, BLOCK, device)
        self._noise = Noise((BLOCK, batch_size, policy.sizes[-1]), device)
        self._observations = torch.zeros(batch_size, policy.sizes[0], device=device)
        self._weight = torch.zeros(1, device=device).fill_(settings.temperature / batch_size)
        self.numbers = in_memory(settings, device)
        rate, mean = self.numbers["learning_rate"], mean_policy(policy)
        self.actor = SoftActor(mean, critic, list(self._state), self._observations, self._critics, rate)
        self.report = torch.zeros(0, device=device)
        self.programs = [Program.build(partial(self._update, index)) for index in range(BLOCK)]

    def _update(self, index: int, cores: int) -> list[Stage]:
        """A step on mean(temperature * log pi(a|s) - min_k Q_k(s, a)), a ~ pi(s)."""
        read = partial(self._observations.copy_, self._minibatches[index].observations)
        draw = self.actor.pi.draw(self._noise.values[index])
        return [alone(read, *draw), *self.actor.slope(), self.actor.step(self._weight)]

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
        """`BLOCK` minibatches of observations, and the noise of the actions there."""
        self._minibatches.draw(source, random, observations_only=True)
        self._noise.draw(random)

    def update(self, number: int) -> list[Program]:
        """The programs of the update `number`."""
        return [self.programs[number % BLOCK]]


def mean_policy(policy: PolicySpec) -> PolicySpec:
    """The deterministic policy tanh(mean) of a stochastic one."""
    return replace(policy, stochastic=False)
