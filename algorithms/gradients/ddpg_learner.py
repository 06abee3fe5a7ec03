"""DDPG's networks and one joint update of them (Lillicrap et al. 2016, algorithm 1), on preallocated buffers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms.critic import CriticSpec
from erlbench.algorithms.gradients.episode_loop import Memory
from erlbench.algorithms.gradients.learners import (
    ActorAndCritics,
    ActorLearner,
    CriticLearner,
    HostCopy,
    Minibatches,
    load,
)
from erlbench.algorithms.gradients.mlp import Mlp
from erlbench.algorithms.gradients.side_by_side import Work
from erlbench.policy import NumpyPolicy, PolicySpec


class Learner(ActorAndCritics[ActorLearner]):
    """DDPG's networks, optimisers and buffers; `state` is the flat vector of `ddpg.initial_learner`."""

    def __init__(self, policy: PolicySpec, critic: CriticSpec, batch_size: int, device: str) -> None:
        if critic.count != 1:
            raise ValueError(f"DDPG has one critic, not {critic.count}")
        self.state = torch.zeros(4 * policy.size + 4 * critic.size, device=device)
        self._actors = self.state[: 4 * policy.size].view(4, policy.size)  # online, target, Adam's moments
        self.critic = CriticLearner(critic, batch_size, self.state[4 * policy.size :].view(critic.shape))
        self.actor = ActorLearner(
            policy, critic, batch_size, self._actors[0], self._actors[2], self._actors[3], self.critic.state[0]
        )
        self.minibatch = Minibatches(policy, batch_size, 1, device)
        self._target = Mlp(
            policy.sizes, policy.activation, "tanh", self._actors[1][None], self.minibatch.next_observations
        )
        self._acts = [self._target.forward, self.actor.act]
        self.works: list[Work] = [*self.critic.works, *self.actor.works, self._acts[1]]
        self._batch_size = batch_size
        self._shown = HostCopy(self._actors[0])
        self.acting = NumpyPolicy(policy, self._shown.tensor.numpy())

    def load(self, array: np.ndarray, critic_updates: int, actor_updates: int) -> None:
        """Take over a learner that has made so many updates."""
        load(self.state, array)
        self.critic.adam.reset(critic_updates)
        self.actor.adam.reset(actor_updates)
        self._shown.update()

    def update(self, settings: Mapping[str, Any], memory: Memory, random: np.random.Generator, loss: Tensor) -> None:
        """One update of critic, actor and targets on a fresh minibatch; the critic's loss goes to the scalar `loss`.

        `settings` are those of `ddpg.update_values`.
        """
        batch, critic = self.minibatch, self.critic
        batch.gather(memory, random.integers(memory.start, memory.stop, self._batch_size))
        self.actor.observations.copy_(batch.observations)
        self.together(self._acts)
        critic.take(batch, self._target.outputs[0])
        critic.adam.weight_decay = settings["critic_weight_decay"]
        critic.gradient_clip = settings["critic_gradient_clip"]
        critic.update(settings["discount"], settings["critic_learning_rate"], loss)
        self.actor.climb(settings["actor_learning_rate"])
        critic.track(settings["tau"])
        self._actors[1].lerp_(self._actors[0], settings["tau"])
        self._shown.update()
