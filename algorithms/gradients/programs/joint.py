"""What the learners of joint updates (TD3, DDPG, SAC) share: state, one minibatch at a time, the policy that acts."""

from __future__ import annotations

import numpy as np
import torch

from erlbench.algorithms.gradients.minibatches import HostCopy, Minibatches, Noise, Transitions, load
from erlbench.algorithms.gradients.programs.adam import Adam
from erlbench.algorithms.gradients.programs.numbers import in_memory
from erlbench.algorithms.gradients.programs.program import Program
from erlbench.algorithms.training.update_settings import Update


class JointLearner:
    """An actor and critics that are updated together; a subclass sets `adams` and gives the programs."""

    block = 1  # minibatches drawn at once
    adams: tuple[Adam, Adam]  # of the critics and of the actor
    programs: list[Program]

    def __init__(self, settings: Update, size: int, actor_size: int, noises: int, device: str) -> None:
        """`state` has `size` floats and begins with the online actor; noise is drawn for so many actions each."""
        self.numbers = in_memory(settings, device)
        self.state = torch.zeros(size, device=device)
        self._minibatches = Minibatches(settings.policy, settings.batch_size, 1, device)
        self._batch = self._minibatches[0]
        self._noise = Noise((noises, settings.batch_size, settings.policy.sizes[-1]), device)
        self._host = HostCopy(self.state[:actor_size])

    def load(self, array: np.ndarray, critic_updates: int, actor_updates: int) -> None:
        """Take over a learner that has made so many updates."""
        load(self.state, array)
        for adam, steps in zip(self.adams, (critic_updates, actor_updates)):
            adam.reset(steps)
        self.renew_acting()

    def renew_acting(self) -> None:
        """The policy that acts becomes that of the state, after programs have changed this."""
        self._host.renew()

    def draw(self, source: Transitions, random: np.random.Generator) -> None:
        """A fresh minibatch, and the noise that goes with it, if there is any."""
        self._minibatches.draw(source, random)
        if len(self._noise.values):
            self._noise.draw(random)

    def update(self, number: int) -> list[Program]:
        """The programs of the update `number`."""
        return self.programs
