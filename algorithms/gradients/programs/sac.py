"""The program of `learners/sac.py`, whose equation numbers these are, and its tanh-Gaussian policy.

u ~ N(mean(s), std(s)^2) and a = tanh(u), the action in [-1, 1] (Haarnoja et al. 2018). The flat vector of the policy
begins with the deterministic policy tanh(mean(s)), a plain `PolicySpec` vector; behind it stands the head of log std.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms.gradients.learners.networks import FlatAdam, views
from erlbench.algorithms.gradients.minibatches import Minibatch
from erlbench.algorithms.gradients.programs.networks import ALL, Network, polyak_update
from erlbench.algorithms.gradients.programs.program import Program
from erlbench.algorithms.gradients.programs.td3 import Critics, JointLearner
from erlbench.algorithms.training.critic import CriticSpec, actor_size, learner_parts, value_sizes
from erlbench.algorithms.training.update_settings import SACUpdate
from erlbench.policy import PolicySpec, parameter_count
from erlbench.work.rollout import ExplorationNoise

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

        def network(span: slice, sizes: tuple[int, ...], output: str, inputs: Tensor, columns: slice | None) -> Network:
            wanted = None if gradients is None else gradients[None, span]
            return Network(sizes, activation, output, parameters[None, span], inputs, wanted, columns)

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


class SoftActor:
    """The stochastic actor pi and Adam, climbing min_k Q_k(s, a) - alpha log pi(a|s); the critics are only read."""

    def __init__(
        self, policy: PolicySpec, critic: CriticSpec, observations: Tensor, state: Sequence[Tensor], critics: Tensor,
        learning_rate: float,
    ) -> None:  # fmt: skip
        """`state`: parameters and Adam's two moments, rows of `actor_size(policy)`; all are used in place.

        `policy` is the deterministic one, tanh(mean); `observations` `(batch, observation)`, `critics` `(2 * n,)`.
        """
        parameters, *moments = state
        self.adam = FlatAdam(parameters, moments, learning_rate)
        self.pi = GaussianActor(policy, parameters, observations, self.adam.gradients)
        self._observations, self._split, columns = observations, policy.sizes[0], slice(policy.sizes[0], None)
        self._inputs = parameters.new_zeros(len(observations), critic.sizes[0])
        networks = critics.view(critic.count, -1)
        self.q = Network(critic.sizes, critic.activation, "linear", networks, self._inputs, input_columns=columns)
        self._smaller = torch.zeros(self.q.outputs.shape, dtype=torch.bool, device=parameters.device)
        self._slope = torch.zeros_like(self.pi.actions)

    def slope(self) -> Program:
        """Q_k(s, a) of the actions that `pi` has drawn, and d(-mean min_k Q_k) / da."""
        q, smaller = self.q, self._smaller
        first, second = q.outputs
        return [
            partial(self._inputs[:, : self._split].copy_, self._observations),
            partial(self._inputs[:, self._split :].copy_, self.pi.actions),
            *chain(*map(q.forward, q.parts)),
            partial(torch.le, first, second, out=smaller[0]),
            partial(torch.logical_not, smaller[0], out=smaller[1]),
            partial(q.output_gradient.copy_, smaller),
            partial(q.output_gradient.div_, -len(self._inputs)),
            *chain(*([*q.backward(span), *q.backward_to_inputs(span)] for span in q.parts)),
        ]

    def step(self, weight: Tensor) -> Program:
        """After `slope`, eq. 7: one Adam step on mean(alpha log pi(a|s) - min_k Q_k(s, a)); `weight`: alpha / batch."""
        slope = partial(torch.sum, self.q.input_gradient, 0, out=self._slope)
        return [slope, *self.pi.backward(weight, self._slope), *self.adam.step]


class SACProgram(JointLearner):
    """SAC's networks and its update on one minibatch; `state` is the flat vector of `sac.initial_learner`."""

    def __init__(self, settings: SACUpdate, device: str) -> None:
        policy, critic, batch_size = settings.policy, settings.critic, settings.batch_size
        self._settings = settings
        shapes = learner_parts(policy, critic, settings.value_network)
        floats = sum(map(math.prod, shapes.values()))
        super().__init__(settings, floats, actor_size(policy), 2, device)  # noise: of next actions, of actor's actions
        parts = views(self.state, shapes)
        batch, rate, critic_rate = self._batch, settings.actor_learning_rate, settings.critic_learning_rate
        self.critics = Critics(critic, batch_size, parts["critic"], critic_rate, settings.discount, 0.5)
        critics = self.critics.state[0]
        self.actor = SoftActor(policy, critic, batch.observations, list(parts["actor"]), critics, rate)
        self._next_actor = GaussianActor(policy, parts["actor"][0], batch.next_observations)
        self._temperature = Temperature(parts["temperature"], rate, settings.temperature, settings.target_entropy)
        self.alpha, self._weight = self._temperature.alpha, self.state.new_zeros(1)
        self._value = Value(settings, parts["value"], batch, critic_rate) if settings.value_network else None
        self._observation = torch.zeros(1, policy.sizes[0])
        self._acting_noise = torch.zeros(1, policy.sizes[-1])
        self._acting = GaussianActor(policy, self._host, self._observation)
        self._act = self._acting.sample(self._acting_noise)
        self.report = torch.zeros(2, device=device)  # the critics' loss, and the mean log probability of the actions
        self.programs = [self._update()]

    def _update(self) -> Program:
        """One gradient step of critics, actor, temperature and targets (v2, algorithm 1)."""
        log_probability = partial(torch.mean, self.actor.pi.log_probabilities, dim=(0, 1), out=self.report[1])
        value = self._value.polyak_update(self._settings.tau) if self._value else []
        return [
            *self._critic_step(),
            partial(self.report[0].copy_, self.critics.loss),
            *self._actor_step(),
            log_probability,
            *self._temperature.step(self.report[1]),
            *value,
        ]

    def _critic_step(self) -> Program:
        """Eq. 5 with V(s') of eq. 3: y = r + discount * (min_k Q'_k(s', a') - alpha log pi(a'|s')), a' ~ pi(s').

        With a value network V is its target (v1, eq. 8). The actor also draws actions.
        """
        critics, following = self.critics, self._next_actor
        next_noise, noise = self._noise.values
        y, split = critics.next_values, self._batch.observations.shape[1]
        scale = partial(torch.mul, self._batch.rewards, self._settings.reward_scale, out=critics.inputs.rewards)
        read: Program = [*critics.inputs.read(self._batch), scale]
        actor = self.actor.pi.draw(noise)
        if self._value is not None:
            value = partial(y.copy_, self._value.target.outputs[0])
            return [*read, *self._value.target.forward(), *actor, value, *critics.fit()]
        return [
            *read,
            *following.draw(next_noise),
            *actor,
            partial(critics.inputs.next_pairs[:, split:].copy_, following.actions),
            *critics.target_values(),
            partial(y.addcmul_, following.log_probabilities, self.alpha, value=-1.0),
            *critics.fit(),
        ]

    def _actor_step(self) -> Program:
        """The actor's step (eq. 7). v2: the target critics follow; v1: V steps towards the same term, negated."""
        program = self.actor.slope()
        if self._value is not None:
            program += self._value.step(self.actor.q.outputs, self.actor.pi.log_probabilities, self.alpha)
        program.append(partial(torch.div, self.alpha, self._settings.batch_size, out=self._weight))
        program += self.actor.step(self._weight)
        return program if self._value is not None else [*program, self.critics.polyak_update(self._settings.tau)]

    def load(self, array: np.ndarray, critic_updates: int, actor_updates: int) -> None:
        """Take over a learner that has made so many updates."""
        super().load(array, critic_updates, actor_updates)
        self._temperature.reset(actor_updates)
        if self._value is not None:
            self._value.adam.steps.fill_(critic_updates)

    def act(
        self, observation: np.ndarray, random: np.random.Generator, action: np.ndarray, exploration: ExplorationNoise
    ) -> None:
        """Write a sample of the policy into `action`."""
        self._observation.numpy()[0] = observation
        random.standard_normal(out=self._acting_noise.numpy(), dtype=np.float32)
        for operation in self._act:
            operation()
        action[:] = self._acting.actions.numpy()[0]

    @property
    def temperature(self) -> float:
        """The temperature after the last update."""
        fixed = self._settings.temperature
        return self.alpha.item() if fixed is None else fixed


class Temperature:
    """The temperature alpha, a fixed number or exp of a parameter."""

    def __init__(self, state: Tensor, learning_rate: float, fixed: float | None, target_entropy: float) -> None:
        """`state` `(3, 1)`: log alpha and Adam's moments, used in place; `fixed` None: it is learnt."""
        self._log, *moments = state
        self._adam = FlatAdam(self._log, moments, learning_rate)
        self._fixed, self._target = fixed, target_entropy
        self.alpha = torch.ones_like(self._log)

    def reset(self, steps: int) -> None:
        """Go on after so many steps."""
        self._adam.steps.fill_(steps)
        if self._fixed is None:
            torch.exp(self._log, out=self.alpha)
        else:
            self.alpha.fill_(self._fixed)

    def step(self, log_probability: Tensor) -> Program:
        """One Adam step on -log(alpha) * (mean log probability + target entropy); eq. 18 with log alpha for alpha."""
        if self._fixed is not None:
            return []
        gradient = self._adam.gradients[0]
        slope: Program = [partial(torch.add, log_probability, self._target, out=gradient), gradient.neg_]
        return [*slope, *self._adam.step, partial(torch.exp, self._log, out=self.alpha)]


class Value:
    """v1's state-value network V with its target."""

    def __init__(self, settings: SACUpdate, state: Tensor, batch: Minibatch, learning_rate: float) -> None:
        """`state`: online, target, Adam's moments, `(4, n)`, used in place."""
        sizes, activation = value_sizes(settings.policy, settings.critic), settings.critic.activation
        self._parameters, self._target, *moments = state
        self.adam = FlatAdam(self._parameters, moments, learning_rate)
        online, observations = self._parameters[None], batch.observations
        self._online = Network(sizes, activation, "linear", online, observations, self.adam.gradients[None])
        self.target = Network(sizes, activation, "linear", self._target[None], batch.next_observations)
        self._values = torch.zeros_like(self._online.outputs[0])

    def step(self, q: Tensor, log_probability: Tensor, alpha: Tensor) -> Program:
        """One Adam step on half the mean squared error to min_k Q_k(s, a) - alpha log pi(a|s); v1, eq. 5."""
        online, values, error = self._online, self._values, self._online.output_gradient[0]
        return [
            partial(torch.minimum, *q, out=values),
            partial(values.addcmul_, log_probability, alpha, value=-1.0),
            *online.forward(),
            partial(torch.sub, online.outputs[0], values, out=error),
            partial(error.div_, len(values)),
            *online.backward(),
            *online.gradients(),
            *self.adam.step,
        ]

    def polyak_update(self, tau: float) -> Program:
        """The target follows."""
        return [polyak_update(self._target, self._parameters, tau)]
