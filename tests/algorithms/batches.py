"""The same minibatches for a learner of the suite and for one of Stable-Baselines3."""

from __future__ import annotations

import numpy as np
import torch
from stable_baselines3.common.type_aliases import ReplayBufferSamples

from erlbench.algorithms.gradients.episode_loop import Memory
from erlbench.work.tasks import ReplayView
from erlbench.work.workspace import Workspace


def filled_memory(context, random, action_size):
    """A hundred random transitions, every seventh of them terminal."""
    memory = Memory(ReplayView("", 3, action_size, 0, 0), Workspace(context.store), 100, 1000)
    memory.observations[:] = random.standard_normal((101, 3))
    actions = random.uniform(-1, 1, (100, action_size))
    memory._transitions[:] = np.c_[actions, random.standard_normal(100), np.arange(100) % 7 > 0]
    memory.stop = 100
    return memory


def flat_parameters(module):
    """All parameters of a module as a flat vector."""
    return torch.nn.utils.parameters_to_vector(module.parameters()).detach().numpy()


class Recorded:
    """Draws what a generator draws, and keeps it for the other side."""

    def __init__(self, random, memory):
        self.random, self.memory = random, memory

    def integers(self, *arguments):
        self.indices = self.random.integers(*arguments)
        return self.indices

    def standard_normal(self, out, dtype):
        self.noise = torch.from_numpy(self.random.standard_normal(out=out, dtype=dtype).copy())

    def batch(self):
        """Observations, transitions, next observations."""
        rows, observations = self.indices, torch.from_numpy(self.memory.observations)
        return observations[rows], torch.from_numpy(self.memory._transitions)[rows], observations[rows + 1]


class TheirBuffer:
    """In place of a replay buffer of Stable-Baselines3: the batch that was drawn last, of tasks with one action."""

    def __init__(self, drawn):
        self.drawn = drawn

    def sample(self, *arguments, **more):
        observations, transitions, following = self.drawn.batch()
        return ReplayBufferSamples(
            observations, transitions[:, :1], following, 1 - transitions[:, 2:], transitions[:, 1:2]
        )
