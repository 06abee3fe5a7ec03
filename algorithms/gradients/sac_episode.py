"""The task function of SAC: episodes with an update after every step."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms.critic import CriticSpec
from erlbench.algorithms.gradients.buffers import scratch, side_by_side
from erlbench.algorithms.gradients.episode_loop import Memory, learn_episodes
from erlbench.algorithms.gradients.gaussian_actor import GaussianActor
from erlbench.algorithms.gradients.learners import ActorAndCritics, CriticLearner, HostCopy, Minibatches, load, saved
from erlbench.algorithms.gradients.mlp import Adam, Mlp
from erlbench.algorithms.gradients.side_by_side import Work
from erlbench.algorithms.gradients.stochastic_learner import StochasticLearner
from erlbench.algorithms.sac import learner_parts, value_sizes
from erlbench.errors import NumericalError
from erlbench.policy import PolicySpec
from erlbench.work.rollout import transitions
from erlbench.work.seeding import Key
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace


def train_episodes(settings: Mapping[str, Any], inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: `episodes` episodes of at most `limit` steps, with updates; see `episode_loop.learn_episodes`.

    Settings: those of `learn_episodes`, `critic` (CriticSpec), `value_network`, `critic_updates` and `actor_updates`
    (counts before), `temperature` (None: learnt), `target_entropy`, and those of `SACSettings` that the updates need.
    Inputs: `learner` (`sac.initial_learner`), `replay` (a view of the past).
    Values: `returns`, `lengths`, `critic_updates`, `actor_updates`, `critic_loss` and `entropy` (means; 0 without
    updates), `temperature` (at the end). Arrays: `learner`, `actor` (the deterministic policy), and what
    `Replay.append` takes. A NaN or infinite value raises `NumericalError`.
    """
    policy: PolicySpec = settings["policy"]
    shapes = policy, settings["critic"], settings["value_network"], settings["batch_size"]
    learner = scratch(workspace, Learner, *shapes)
    learner.load(inputs["learner"], settings["critic_updates"], settings["actor_updates"], settings["temperature"])
    rows = torch.zeros(settings["limit"] * settings["episodes"], 2, device=workspace.device)

    def update(memory: Memory, random: np.random.Generator, index: int) -> None:
        row = rows[index]
        learner.update(settings, memory, random, row)
        loss, log_probability = row.tolist()
        number = settings["critic_updates"] + index + 1
        if not np.isfinite(loss):
            raise NumericalError(f"the critic's loss of update {number} is {loss:g}")
        if not np.isfinite(log_probability):
            raise NumericalError(f"the actions' mean log probability of update {number} is {log_probability:g}")

    learner.together = side_by_side(workspace, learner)
    episodes, updates = learn_episodes(settings, inputs["replay"], key, workspace, learner.act, update)
    loss, log_probability = rows[:updates].double().mean(0).tolist() if updates else (0.0, 0.0)
    values = {
        "returns": [episode.total for episode in episodes],
        "lengths": [episode.length for episode in episodes],
        "critic_updates": updates,
        "actor_updates": updates,
        "critic_loss": loss,
        "entropy": 0.0 - log_probability,
        "temperature": learner.alpha.item() if settings["temperature"] is None else settings["temperature"],
    }
    state = saved(learner.state, "the learner")
    return Outcome(values, {"learner": state, "actor": state[: policy.size], **transitions(episodes)})


class Learner(ActorAndCritics[StochasticLearner]):
    """SAC's networks, optimisers and buffers; `state` is the flat vector of `sac.initial_learner`."""

    def __init__(
        self, policy: PolicySpec, critic: CriticSpec, value_network: bool, batch_size: int, device: str
    ) -> None:
        shapes = learner_parts(policy, critic, value_network)
        sizes = [rows * columns for rows, columns in shapes.values()]
        self.state = torch.zeros(sum(sizes), device=device)
        parts = {name: part.view(shapes[name]) for name, part in zip(shapes, torch.split(self.state, sizes))}
        self.minibatch = Minibatches(policy, batch_size, 1, device)
        parameters = parts["actor"][0]
        self._temperature = _Temperature(parts["temperature"])
        self.alpha = self._temperature.alpha
        self.critic = CriticLearner(critic, batch_size, parts["critic"], 0.5)
        observations, critics = self.minibatch.observations, self.critic.state[0]
        self.actor = StochasticLearner(policy, critic, parts["actor"], observations, critics)
        self._value = _ValueLearner(policy, critic, parts["value"], self.minibatch) if value_network else None
        self._next_actor = GaussianActor(policy, parameters, self.minibatch.next_observations)
        self._batch_size = batch_size
        self._host_noise = torch.zeros(2, batch_size, policy.sizes[-1])  # of the next actions, and of the actor's
        self._noise = self._host_noise.to(device)
        next_draw, draw = (
            partial(actor.draw, noise) for actor, noise in zip((self._next_actor, self.actor.policy), self._noise)
        )
        self._draws: list[Work] = [self._value.target.forward if self._value else next_draw, draw]
        self.works: list[Work] = [*self.critic.works, *self.actor.works, draw]
        self._shown = HostCopy(parameters)
        self._observation = torch.zeros(1, policy.sizes[0])
        self._acting = GaussianActor(policy, self._shown.tensor, self._observation)

    def load(self, array: np.ndarray, critic_updates: int, actor_updates: int, temperature: float | None) -> None:
        """Take over a learner that has made so many updates; a `temperature` is kept, None is learnt."""
        load(self.state, array)
        self.critic.adam.reset(critic_updates)
        self.actor.adam.reset(actor_updates)
        self._temperature.reset(actor_updates, temperature)
        if self._value is not None:
            self._value.adam.reset(critic_updates)
        self._shown.update()

    def act(self, observation: np.ndarray, random: np.random.Generator, action: np.ndarray) -> None:
        """Write a sample of the policy into `action`."""
        self._observation.numpy()[0] = observation
        noise = torch.from_numpy(random.standard_normal((1, len(action)), dtype=np.float32))
        action[:] = self._acting.sample(noise).numpy()[0]

    def update(self, settings: Mapping[str, Any], memory: Memory, random: np.random.Generator, row: Tensor) -> None:
        """One update of everything on a fresh minibatch: critics, actor, temperature, targets.

        The critics' loss and the mean log probability of the actor's actions go to `row` `(2,)`.
        """
        self.minibatch.gather(memory, random.integers(memory.start, memory.stop, self._batch_size))
        random.standard_normal(out=self._host_noise.numpy(), dtype=np.float32)
        if self._noise is not self._host_noise:
            self._noise.copy_(self._host_noise)
        self._update_critic(settings, row[0])
        log_probability = self._update_actor(settings)
        torch.mean(log_probability, dim=(0, 1), out=row[1])
        if settings["temperature"] is None:
            self._temperature.update(row[1], settings["target_entropy"], settings["learning_rate"])
        if self._value is not None:
            self._value.track(settings["tau"])
        self._shown.update()

    def _update_critic(self, settings: Mapping[str, Any], loss: Tensor) -> None:
        """Eq. 5 of v2 (with V from Eq. 3), eq. 7 of v1; and, beside the next state's value, the actor's actions."""
        batch, critic, split = self.minibatch, self.critic, self.minibatch.observation_size
        critic.inputs[:, :split] = batch.observations
        critic.inputs[:, split:] = batch.actions
        torch.mul(batch.rewards, settings["reward_scale"], out=critic.rewards)
        critic.continues.copy_(batch.continues)
        if self._value is None:
            critic.next_inputs[:, :split] = batch.next_observations
            self.together(self._draws)
            critic.next_inputs[:, split:] = self._next_actor.actions
            torch.amin(critic.target_values(), 0, out=critic.next_values)
            critic.next_values.addcmul_(self._next_actor.log_probabilities, self.alpha, value=-1.0)
        else:
            self.together(self._draws)
            critic.next_values.copy_(self._value.target.outputs[0])
        critic.fit(settings["discount"], settings["learning_rate"], loss)

    def _update_actor(self, settings: Mapping[str, Any]) -> Tensor:
        """One Adam step on mean(alpha log pi(a|s) - min Q(s, a)), a from the policy; the log probabilities.

        With a value network that is updated, too: its target is the negative of the term in brackets. Without one
        the target critics move.
        """
        rate, log_probability = settings["learning_rate"], self.actor.policy.log_probabilities
        first, second = self.actor.slope()
        if self._value is not None:
            values = torch.minimum(first, second).addcmul_(log_probability, self.alpha, value=-1.0)
            self._value.update(values, rate)
        self.actor.climb(self.alpha / self._batch_size, rate)
        if self._value is None:
            self.critic.track(settings["tau"])
        return log_probability


class _Temperature:
    """The temperature alpha, a fixed number or exp of a parameter."""

    def __init__(self, state: Tensor) -> None:
        """`state` `(3, 1)`: log alpha and Adam's moments, used in place."""
        self._log, *moments = state
        self._gradient = torch.zeros_like(self._log)
        self._adam = Adam(self._log, self._gradient, *moments)
        self.alpha = torch.ones_like(self._log)

    def reset(self, steps: int, fixed: float | None) -> None:
        """Go on after so many steps, or with a fixed number."""
        self._adam.reset(steps)
        if fixed is None:
            torch.exp(self._log, out=self.alpha)
        else:
            self.alpha.fill_(fixed)

    def update(self, log_probability: Tensor, target_entropy: float, learning_rate: float) -> None:
        """One Adam step on -log(alpha) * (mean log probability + target entropy); eq. 18 with log alpha for alpha."""
        torch.add(log_probability, target_entropy, out=self._gradient[0]).neg_()
        self._adam.step(learning_rate)
        torch.exp(self._log, out=self.alpha)


class _ValueLearner:
    """v1's state-value network with its target."""

    def __init__(self, policy: PolicySpec, critic: CriticSpec, state: Tensor, batch: Minibatches) -> None:
        """`state`: online, target, Adam's moments, `(4, n)`, used in place."""
        sizes, activation = value_sizes(policy, critic), critic.activation
        self._online, self._target, *moments = state
        gradients = torch.zeros_like(self._online)
        self.online = Mlp(
            sizes, activation, "linear", self._online[None], batch.observations, gradients=gradients[None]
        )
        self.target = Mlp(sizes, activation, "linear", self._target[None], batch.next_observations)
        self.adam = Adam(self._online, gradients, *moments)

    def update(self, values: Tensor, learning_rate: float) -> None:
        """One Adam step on half the mean squared error to `values` `(batch, 1)`; eq. 5 of v1."""
        torch.sub(self.online.forward()[0], values, out=self.online.output_gradient[0]).div_(len(values))
        self.online.backward()
        self.adam.step(learning_rate)

    def track(self, tau: float) -> None:
        """Move the target: target += tau * (online - target)."""
        self._target.lerp_(self._online, tau)
