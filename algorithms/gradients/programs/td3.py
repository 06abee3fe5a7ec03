"""The programs of `learners/td3.py` and `learners/ddpg.py`, and what learners of joint updates share.

TD3's critics and actor also serve other learners.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms.gradients.learners.networks import FlatAdam
from erlbench.algorithms.gradients.minibatches import CriticInputs, Minibatches, Noise, Transitions, load
from erlbench.algorithms.gradients.programs.networks import Network, clipped, polyak_update
from erlbench.algorithms.gradients.programs.program import Operation, Program
from erlbench.algorithms.training.critic import CriticSpec
from erlbench.algorithms.training.update_settings import DDPGUpdate, TD3Update, Update
from erlbench.policy import NumpyPolicy, PolicySpec
from erlbench.work.rollout import ExplorationNoise


class JointLearner:
    """An actor and critics that are updated together; a subclass makes both, and the programs."""

    block = 1  # minibatches drawn at once
    critics: Critics
    actor: Any  # with `adam`
    programs: list[Program]

    def __init__(self, settings: Update, size: int, actor_size: int, noises: int, device: str) -> None:
        """`state` has `size` floats and begins with the online actor; noise is drawn for so many actions each."""
        self._policy = settings.policy
        self.state = torch.zeros(size, device=device)
        self._minibatches = Minibatches(settings.policy, settings.batch_size, 1, device)
        self._batch = self._minibatches[0]
        self._noise = Noise((noises, settings.batch_size, settings.policy.sizes[-1]), device)
        self._host = self.state[:actor_size].cpu()  # where numpy can read it: on a CPU the same memory, else a copy

    def load(self, array: np.ndarray, critic_updates: int, actor_updates: int) -> None:
        """Take over a learner that has made so many updates."""
        load(self.state, array)
        self.critics.reset(critic_updates)
        self.actor.adam.steps.fill_(actor_updates)
        self.renew_acting()

    def renew_acting(self) -> None:
        """The policy that acts becomes the state's: this waits for the device, so no program does it."""
        if self._host.data_ptr() != self.state.data_ptr():
            self._host.copy_(self.state[: len(self._host)])

    def draw(self, source: Transitions, random: np.random.Generator) -> None:
        """A fresh minibatch, and the noise that goes with it, if there is any."""
        self._minibatches.draw(source, random)
        self._noise.draw(random)

    def update(self, number: int) -> list[Program]:
        """The programs of the update `number`."""
        return self.programs

    def deterministic(self, state: np.ndarray) -> np.ndarray:
        """The deterministic policy in a learner's vector."""
        return state[: self._policy.size]


class Critics:
    """The critics Q_k, their targets Q'_k, and Adam; `fit` reads `next_values` `(batch, 1)`."""

    def __init__(
        self, critic: CriticSpec, batch_size: int, state: Tensor, learning_rate: float, discount: float,
        weight: float = 1.0, weight_decay: float = 0.0, gradient_clip: float | None = None,
    ) -> None:  # fmt: skip
        """`state`: `critic.shape` as in `algorithms.training.critic`, used in place; `weight` multiplies the loss."""
        self.state, self._discount, self._clip, self._rows = state, discount, gradient_clip, batch_size / weight
        self.inputs = CriticInputs(batch_size, critic.sizes[0], state)
        self.next_values = state.new_zeros(batch_size, 1)
        self._gradient = torch.zeros_like(state[0])
        online, target, *_ = state.view(4, critic.count, critic.size)
        gradient, shape = self._gradient.view(critic.count, -1), (critic.sizes, critic.activation, "linear")
        self.online = Network(*shape, online, self.inputs.pairs, gradient)
        self.target = Network(*shape, target, self.inputs.next_pairs)
        tensors = (state[0], self._gradient, state[2], state[3])
        parts = zip(*(tensor.chunk(len(self.online.parts)) for tensor in tensors))
        self._adams = [FlatAdam(p, moments, learning_rate, g, weight_decay=weight_decay) for p, g, *moments in parts]
        self._losses, self.loss = state.new_zeros(len(self.online.parts)), state.new_zeros(())

    def target_values(self) -> Program:
        """`next_values` = min_k Q'_k(s', a'): clipped double Q-learning; with one critic DDPG's value."""
        smallest = partial(torch.amin, self.target.outputs, 0, out=self.next_values)
        return [*chain(*map(self.target.forward, self.target.parts)), smallest]

    def fit(self) -> Program:
        """One Adam step on `weight` * sum_k mean (Q_k(s, a) - y)^2, y = r + discount * continues * `next_values`."""
        y, data = self.next_values, self.inputs
        return [
            partial(y.mul_, data.continues),
            partial(y.mul_, self._discount),
            partial(y.add_, data.rewards),
            *chain(*(self._descend(k, span, y) for k, span in enumerate(self.online.parts))),
            partial(torch.sum, self._losses, 0, out=self.loss),
            partial(self.loss.div_, self._rows),
        ]

    def _descend(self, k: int, span: slice, y: Tensor) -> Program:
        q, error = self.online, self.online.output_gradient[span]
        return [
            *q.forward(span),
            partial(torch.sub, q.outputs[span], y, out=error),
            partial(torch.dot, error.view(-1), error.view(-1), out=self._losses[k]),
            partial(error.mul_, 2.0 / self._rows),
            *q.backward(span),
            *q.gradients(span),
            *clipped(self._gradient, self._clip),
            *self._adams[k].step,
        ]

    def reset(self, updates: int) -> None:
        """Go on after so many updates."""
        for adam in self._adams:
            adam.steps.fill_(updates)

    def polyak_update(self, tau: float) -> Operation:
        """The targets follow."""
        return polyak_update(self.state[1], self.state[0], tau)


class Actor:
    """The actor pi and Adam: the deterministic policy gradient up Q_1, which is only read."""

    def __init__(
        self, policy: PolicySpec, critic: CriticSpec, observations: Tensor, state: Sequence[Tensor], critics: Tensor,
        learning_rate: float,
    ) -> None:  # fmt: skip
        """`state`: rows of parameters and Adam's two moments; `critics` begin with Q_1; all are used in place."""
        parameters, *moments = state
        self.adam, q1 = FlatAdam(parameters, moments, learning_rate), critics[None, : critic.size]
        self._split, columns = policy.sizes[0], slice(policy.sizes[0], None)
        self._observations, self._inputs = observations, parameters.new_zeros(len(observations), critic.sizes[0])
        gradient = self.adam.gradients[None]
        self._pi = Network(policy.sizes, policy.activation, "tanh", parameters[None], observations, gradient)
        self._q1 = Network(critic.sizes, critic.activation, "linear", q1, self._inputs, input_columns=columns)

    def step(self) -> Program:
        """One Adam step on -mean Q_1(s, pi(s))."""
        pi, q1, pairs, split = self._pi, self._q1, self._inputs, self._split
        return [
            *pi.forward(),
            partial(pairs[:, :split].copy_, self._observations),
            partial(pairs[:, split:].copy_, pi.outputs[0]),
            partial(q1.output_gradient.fill_, -1.0 / len(pairs)),
            *q1.forward(),
            *q1.backward(),
            *q1.backward_to_inputs(),
            partial(pi.output_gradient.copy_, q1.input_gradient),
            *pi.backward(),
            *pi.gradients(),
            *self.adam.step,
        ]


def smoothed(actions: Tensor, noise: Tensor, scale: float, clip: float) -> Program:
    """Target policy smoothing: a' = clip(a' + clip(scale * noise, -clip, clip), -1, 1); `noise` is overwritten."""
    return [
        partial(noise.mul_, scale), partial(noise.clamp_, -clip, clip),
        partial(actions.add_, noise), partial(actions.clamp_, -1.0, 1.0),
    ]  # fmt: skip


class DeterministicLearner(JointLearner):
    """An actor with a target, critics with targets, and Adam; `state`: rows of the actor, then of the critics."""

    def __init__(
        self, settings: TD3Update | DDPGUpdate, noises: int, device: str, weight_decay: float = 0.0,
        gradient_clip: float | None = None,
    ) -> None:  # fmt: skip
        """`weight_decay` and `gradient_clip` are the critics'."""
        policy, critic, self._tau = settings.policy, settings.critic, settings.tau
        actor_floats = 4 * policy.size
        super().__init__(settings, actor_floats + math.prod(critic.shape), policy.size, noises, device)
        self._actors = self.state[:actor_floats].view(4, policy.size)  # online, target, Adam's moments
        online, target, *moments = self._actors
        self.critics = Critics(
            critic, settings.batch_size, self.state[actor_floats:].view(critic.shape), settings.critic_learning_rate,
            settings.discount, weight_decay=weight_decay, gradient_clip=gradient_clip,
        )  # fmt: skip
        q = self.critics.state[0]
        rate = settings.actor_learning_rate
        self.actor = Actor(policy, critic, self._batch.observations, [online, *moments], q, rate)
        self._target = Network(policy.sizes, policy.activation, "tanh", target[None], self._batch.next_observations)
        self._acting = NumpyPolicy(policy, self._host.numpy())
        self.report = self.critics.loss[None]

    def act(
        self, observation: np.ndarray, random: np.random.Generator, action: np.ndarray, exploration: ExplorationNoise
    ) -> None:
        """Write the policy's action with exploration noise into `action`."""
        action[:] = self._acting.normalised(observation)
        action += exploration.step(random)
        np.clip(action, -1.0, 1.0, out=action)

    def _actor_step(self) -> Program:
        """A step of the actor up Q_1, then all targets follow."""
        online, target, *_ = self._actors
        targets = self.critics.polyak_update(self._tau), polyak_update(target, online, self._tau)
        return [*self.actor.step(), *targets]


class TD3Program(DeterministicLearner):
    """TD3's networks and its update on one minibatch; `state` is the flat vector of `initial_learner`."""

    def __init__(self, settings: TD3Update, device: str) -> None:
        super().__init__(settings, 1, device)
        self._settings = settings
        self.programs = [self._critic_step(), [*self._critic_step(), *self._actor_step()]]

    def _critic_step(self) -> Program:
        """A step of both critics towards y = r + discount * min_k Q'_k(s', pi'(s') + clipped noise)."""
        settings, actions = self._settings, self._target.outputs[0]
        return [
            *self._target.forward(),
            *smoothed(actions, self._noise.values[0], settings.target_noise, settings.noise_clip),
            *self.critics.inputs.read(self._batch, actions),
            *self.critics.target_values(),
            *self.critics.fit(),
        ]

    def update(self, number: int) -> list[Program]:
        """The programs of the update `number`; every `policy_delay`th also moves the actor and the targets."""
        return [self.programs[number % self._settings.policy_delay == 0]]


class DDPGProgram(DeterministicLearner):
    """DDPG's networks and its update on one minibatch; `state` is the flat vector of `initial_learner`."""

    def __init__(self, settings: DDPGUpdate, device: str) -> None:
        if settings.critic.count != 1:
            raise ValueError(f"DDPG has one critic, not {settings.critic.count}")
        super().__init__(settings, 0, device, settings.critic_weight_decay, settings.critic_gradient_clip)
        self.programs = [self._update()]

    def _update(self) -> Program:
        """A step of the critic towards y = r + discount * Q'(s', pi'(s')), one of the actor up Q; targets follow."""
        return [
            *self._target.forward(),
            *self.critics.inputs.read(self._batch, self._target.outputs[0]),
            *self.critics.target_values(),
            *self.critics.fit(),
            *self._actor_step(),
        ]
