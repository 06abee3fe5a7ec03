"""The task functions of CrossQ, whose losses in `learners/crossq.py` autograd executes."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from erlbench.algorithms.gradients.autograd import Autograd
from erlbench.algorithms.gradients.episodes import train
from erlbench.algorithms.gradients.learners.crossq import BETA1, CrossQCriticBlock, CrossQLearner, renorm_critics
from erlbench.algorithms.gradients.learners.sac import SoftActorBlock
from erlbench.algorithms.gradients.minibatches import load, saved
from erlbench.algorithms.gradients.updates import climb_critics, fit_critics, update_joint
from erlbench.algorithms.training.critic import fold_norm, joined, separated
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate, CrossQUpdate
from erlbench.work.rollout import ExplorationNoise


class CrossQCritics(Autograd):
    """Critics towards a frozen actor; the members of `programs.blocks.CriticProgram`."""

    def __init__(self, settings: CriticUpdate, device: str) -> None:
        self.learner = CrossQCriticBlock(settings, device)
        super().__init__(self.learner, 1, device)
        self.state = self.learner.critics

    def load(self, critic: np.ndarray, target_actor: np.ndarray, updates: int) -> None:
        """Take over critics that have made so many updates, and the actor of their targets."""
        load(self.state, critic)
        load(self.learner.target_actor, separated(self.learner.settings.policy, target_actor))
        self.learner.begin(updates)

    def kind(self, number: int) -> bool:
        return self.learner.count()


class CrossQActor(Autograd):
    """An actor up frozen critics, by their running statistics; the members of `programs.blocks.ActorProgram`."""

    def __init__(self, settings: ActorUpdate, device: str) -> None:
        policy, critic = settings.policy, settings.critic
        self._state, self._critics = (
            torch.zeros(3, policy.size, device=device),
            torch.zeros(critic.shape[1], device=device),
        )
        q = renorm_critics(critic, self._critics)
        self.learner = SoftActorBlock(settings, self._state[0], self._state[1:], q, beta1=BETA1)
        super().__init__(self.learner, 0, device)

    def load(self, parameters: np.ndarray, critic: np.ndarray) -> None:
        """Take over an actor and the critics that it climbs."""
        load(self._critics, critic[0])
        self._state.zero_()
        load(self._state[0], separated(self.learner.settings.policy, parameters))
        self.learner.adam.steps.zero_()

    def parameters(self) -> np.ndarray:
        """The actor; a NaN or infinite value raises `NumericalError`."""
        return joined(self.learner.settings.policy, saved(self._state[0], "the actor"))


class CrossQJoint(Autograd):
    """Actor, critics and temperature, and the policy that acts; the members of `programs.td3.JointLearner`."""

    def __init__(self, settings: CrossQUpdate, device: str) -> None:
        self.learner = CrossQLearner(settings, device)
        super().__init__(self.learner, 2, device)
        self.state = self.learner.state

    def load(self, array: np.ndarray, critic_updates: int, actor_updates: int) -> None:
        """Take over a learner that has made so many updates."""
        load(self.state, array)
        self.learner.begin(critic_updates, actor_updates)

    def kind(self, number: int) -> tuple[bool, ...]:
        return self.learner.count(number)

    def renew_acting(self) -> None:
        """The policy that acts is the learner's."""

    def act(
        self, observation: np.ndarray, random: np.random.Generator, action: np.ndarray, exploration: ExplorationNoise
    ) -> None:
        """Write a sample of the policy into `action`."""
        noise = random.standard_normal((1, len(action)), dtype=np.float32)
        inputs = (self.state.new_tensor(array) for array in (observation[None], noise))
        with torch.no_grad():
            actions, _ = self.learner.frozen_actor.sample(*inputs)
        action[:] = actions[0].cpu().numpy()

    @property
    def temperature(self) -> float:
        """The temperature after the last update."""
        return self.learner.alpha.item()

    def deterministic(self, state: np.ndarray) -> np.ndarray:
        """The deterministic policy in a learner's vector, with the running statistics in its weights."""
        settings = self.learner.settings
        if settings.actor_norm:
            return fold_norm(settings.policy, state[: self.learner.actor_size])
        return state[: settings.policy.size]


update_critics = partial(fit_critics, CrossQCritics)
train_actor = partial(climb_critics, CrossQActor)
update_crossq = partial(update_joint, CrossQJoint)
train_crossq = partial(train, CrossQJoint)
