"""What the tasks of many gradient steps share: minibatches read several at once."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms.gradients.learners import CriticLearner, Minibatches

BLOCK = 8  # minibatches read at once; a constant, as matrix products depend in the last bit on their shape


class CriticBlock:
    """`BLOCK` minibatches with their target actions, and the learner that takes one at a time."""

    def __init__(self, learner: CriticLearner, data: Minibatches, next_actions: Tensor, batch_size: int) -> None:
        """`next_actions` `(BLOCK * batch_size, action)`: a buffer that the caller fills when `data` is read."""
        split, to, source = data.observation_size, [], []
        for columns, observations, taken in (
            (learner.inputs, data.observations, data.actions),
            (learner.next_inputs, data.next_observations, next_actions),
        ):
            to += [columns[:, :split], columns[:, split:]]
            source += [observations, taken]
        to += [learner.rewards, learner.continues]
        source += [data.rewards, data.continues]
        parts = [tensor.view(BLOCK, batch_size, -1) for tensor in source]
        self._copies = [[(a, part[index]) for a, part in zip(to, parts)] for index in range(BLOCK)]

    def select(self, index: int) -> None:
        """Give the learner the minibatch `index`."""
        for to, source in self._copies[index]:
            to.copy_(source)


class Noise:
    """Standard normal numbers of a numpy generator on the device."""

    def __init__(self, rows: int, columns: int, device: str) -> None:
        noise = torch.zeros(rows, columns)
        self._device, self._host = noise.to(device), noise.numpy()  # on a CPU the same memory

    def draw(self, random: np.random.Generator) -> Tensor:
        """`(rows, columns)` float32; the next call overwrites it."""
        random.standard_normal(out=self._host, dtype=np.float32)
        if self._device.device.type != "cpu":
            self._device.copy_(torch.from_numpy(self._host))
        return self._device


def indices(random: np.random.Generator, start: int, stop: int, batch_size: int) -> np.ndarray:
    """Uniform indices in [start, stop) for `BLOCK` minibatches."""
    if stop <= start:
        raise ValueError(f"the replay holds no transitions from {start} to {stop}")
    return random.integers(start, stop, BLOCK * batch_size)
