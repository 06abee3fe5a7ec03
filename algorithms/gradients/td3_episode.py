"""The task function of TD3: one episode with an update after every step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms.critic import CriticSpec
from erlbench.algorithms.gradients.buffers import scratch, side_by_side
from erlbench.algorithms.gradients.episode_loop import Memory, learn
from erlbench.algorithms.gradients.halves import Forward
from erlbench.algorithms.gradients.learners import (
    ActorAndCritics,
    ActorLearner,
    CriticLearner,
    HostCopy,
    Minibatches,
    load,
    saved,
    smooth,
)
from erlbench.algorithms.gradients.mlp import Mlp
from erlbench.algorithms.gradients.side_by_side import Work
from erlbench.errors import NumericalError
from erlbench.policy import NumpyPolicy, PolicySpec
from erlbench.work.rollout import transitions
from erlbench.work.seeding import Key
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace


def train_episode(settings: Mapping[str, Any], inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: one episode of at most `limit` steps, with updates; see `episode_loop.learn`.

    Settings: those of `learn`, `critic` (CriticSpec), `critic_updates` and `actor_updates` (counts before), and those
    of `TD3Settings` that the updates need. Inputs: `learner` (`td3.initial_learner`), `replay` (a view of the past).
    Values: `returns`, `lengths`, `critic_updates`, `actor_updates`, `critic_loss` (mean; 0 without updates).
    Arrays: `learner`, `actor`, and what `Replay.append` takes. A NaN or infinite value raises `NumericalError`.
    """
    policy: PolicySpec = settings["policy"]
    learner = scratch(workspace, Learner, policy, settings["critic"], settings["batch_size"])
    learner.load(inputs["learner"], settings["critic_updates"], settings["actor_updates"])
    losses, delay = torch.zeros(settings["limit"], device=workspace.device), settings["policy_delay"]

    def act(observation: np.ndarray, random: np.random.Generator, action: np.ndarray) -> None:
        noise = random.standard_normal(len(action), dtype=np.float32)
        action[:] = learner.acting.normalised(observation)
        action += settings["exploration_noise"] * noise
        np.clip(action, -1.0, 1.0, out=action)

    def update(memory: Memory, random: np.random.Generator, index: int) -> None:
        number = settings["critic_updates"] + index + 1
        learner.update(settings, memory, random, losses[index], number % delay == 0)
        if not math.isfinite(losses[index]):
            raise NumericalError(f"the critic's loss of update {number} is {losses[index]:g}")

    learner.together = side_by_side(workspace, learner)
    episode, updates = learn(settings, inputs["replay"], key, workspace, act, update)
    values = {
        "returns": [episode.total],
        "lengths": [episode.length],
        "critic_updates": updates,
        "actor_updates": (settings["critic_updates"] + updates) // delay - settings["critic_updates"] // delay,
        "critic_loss": float(losses[:updates].double().mean()) if updates else 0.0,
    }
    state = saved(learner.state, "the learner")
    return Outcome(values, {"learner": state, "actor": state[: policy.size], **transitions([episode])})


class Learner(ActorAndCritics[ActorLearner]):
    """TD3's networks, optimisers and buffers; `state` is the flat vector of `td3.initial_learner`."""

    def __init__(self, policy: PolicySpec, critic: CriticSpec, batch_size: int, device: str) -> None:
        self.state = torch.zeros(4 * policy.size + 8 * critic.size, device=device)
        self._actors = self.state[: 4 * policy.size].view(4, policy.size)  # online, target, Adam's moments
        self.critic = CriticLearner(critic, batch_size, self.state[4 * policy.size :].view(critic.shape))
        q1 = self.critic.state[0, : critic.size]
        self.actor = ActorLearner(policy, critic, batch_size, self._actors[0], self._actors[2], self._actors[3], q1)
        self.minibatch = Minibatches(policy, batch_size, 1, device)
        self._target = Mlp(
            policy.sizes, policy.activation, "tanh", self._actors[1][None], self.minibatch.next_observations
        )
        self._forward_target = Forward(self._target)
        self._acts = [self._target.forward, self.actor.act]
        self.works: list[Work] = [*self.critic.works, *self.actor.works, *self._forward_target.works, self._acts[1]]
        self._batch_size = batch_size
        self._host_noise = torch.zeros(batch_size, policy.sizes[-1])
        self._noise = self._host_noise.to(device)
        self._shown = HostCopy(self._actors[0])
        self.acting = NumpyPolicy(policy, self._shown.tensor.numpy())

    def load(self, array: np.ndarray, critic_updates: int, actor_updates: int) -> None:
        """Take over a learner that has made so many updates."""
        load(self.state, array)
        self.critic.adam.reset(critic_updates)
        self.actor.adam.reset(actor_updates)
        self._shown.update()

    def update(
        self, settings: Mapping[str, Any], memory: Memory, random: np.random.Generator, loss: Tensor, delayed: bool
    ) -> None:
        """One critic update on a fresh minibatch; with `delayed` also one of the actor and of all targets."""
        batch, critic = self.minibatch, self.critic
        batch.gather(memory, random.integers(memory.start, memory.stop, self._batch_size))
        random.standard_normal(out=self._host_noise.numpy(), dtype=np.float32)
        if self._noise is not self._host_noise:
            self._noise.copy_(self._host_noise)
        if delayed:
            self.actor.observations.copy_(batch.observations)
            self.together(self._acts)
        else:
            self._forward_target(self.together)
        actions = self._target.outputs[0]
        smooth(actions, self._noise, settings["target_noise"], settings["noise_clip"])
        critic.take(batch, actions)
        critic.update(settings["discount"], settings["learning_rate"], loss)
        if delayed:
            self.actor.climb(settings["learning_rate"])
            critic.track(settings["tau"])
            self._actors[1].lerp_(self._actors[0], settings["tau"])
            self._shown.update()
