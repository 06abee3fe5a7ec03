"""What learners read: minibatches and noise on the device; and what they give: parameters as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms.gradients.programs.program import Program
from erlbench.errors import NumericalError
from erlbench.policy import PolicySpec


class Transitions(Protocol):
    """Transitions `start` to `stop - 1`, such as `Memory` has."""

    start: int
    stop: int

    def gather(
        self,
        indices: np.ndarray,
        observations: np.ndarray,
        transitions: np.ndarray | None = None,
        next_observations: np.ndarray | None = None,
    ) -> None:
        """Copy the transitions `indices` into the given arrays."""


class Minibatch(NamedTuple):
    """Views of one minibatch, all `(batch, columns)`."""

    observations: Tensor
    actions: Tensor
    rewards: Tensor
    continues: Tensor
    next_observations: Tensor


class CriticInputs:
    """What critics read of a minibatch: `pairs` (s, a) and `next_pairs` (s', a'), `rewards` and `continues`."""

    def __init__(self, batch_size: int, columns: int, like: Tensor) -> None:
        self.pairs, self.next_pairs = like.new_zeros(batch_size, columns), like.new_zeros(batch_size, columns)
        self.rewards, self.continues = like.new_zeros(batch_size, 1), like.new_zeros(batch_size, 1)

    def read(self, batch: Minibatch, next_actions: Tensor | None = None) -> Program:
        """Take over a minibatch: (s, a), r, whether the episode went on, and s' with a' where that is given."""
        split = batch.observations.shape[1]
        copies = [
            (self.pairs[:, :split], batch.observations),
            (self.pairs[:, split:], batch.actions),
            (self.rewards, batch.rewards),
            (self.continues, batch.continues),
            (self.next_pairs[:, :split], batch.next_observations),
        ]
        if next_actions is not None:
            copies.append((self.next_pairs[:, split:], next_actions))
        return [partial(to.copy_, source) for to, source in copies]


class Minibatches:
    """`count` minibatches of transitions, side by side on the device; `[index]` is one of them."""

    def __init__(self, policy: PolicySpec, batch_size: int, count: int, device: str) -> None:
        self._batch_size, action_size = batch_size, policy.sizes[-1]
        self.rows = batch_size * count
        pinned = device.startswith("cuda")
        self._host = [
            torch.zeros(self.rows, columns, pin_memory=pinned)
            for columns in (policy.sizes[0], action_size + 2, policy.sizes[0])
        ]
        self._device = [tensor.to(device) for tensor in self._host]  # on a CPU the same tensors
        self._arrays = [tensor.numpy() for tensor in self._host]
        self.observations, transitions, self.next_observations = self._device
        actions, rewards, continues = torch.split(transitions, [action_size, 1, 1], 1)
        self._all = Minibatch(self.observations, actions, rewards, continues, self.next_observations)

    def __getitem__(self, index: int) -> Minibatch:
        rows = slice(index * self._batch_size, (index + 1) * self._batch_size)
        return Minibatch(*(tensor[rows] for tensor in self._all))

    def draw(self, source: Transitions, random: np.random.Generator, observations_only: bool = False) -> None:
        """Read all minibatches anew, each transition with the same probability."""
        indices = random.integers(source.start, source.stop, self.rows)
        used = 1 if observations_only else 3
        source.gather(indices, *self._arrays[:used])
        for host, device in zip(self._host[:used], self._device):
            if host is not device:
                device.copy_(host)


class Noise:
    """Standard normal numbers of a numpy generator on the device: `values` of `shape`, float32."""

    def __init__(self, shape: tuple[int, ...], device: str) -> None:
        self._host = torch.zeros(shape)
        self.values = self._host.to(device)  # on a CPU the same memory

    def draw(self, random: np.random.Generator) -> None:
        """Draw all anew."""
        random.standard_normal(out=self._host.numpy(), dtype=np.float32)
        if self.values is not self._host:
            self.values.copy_(self._host)


def load(tensor: Tensor, array: np.ndarray) -> None:
    """Copy an array into a tensor of the same shape."""
    if tuple(tensor.shape) != array.shape:
        raise ValueError(f"expected an array of shape {tuple(tensor.shape)}, not {array.shape}")
    tensor.copy_(torch.from_numpy(np.array(array, np.float32)))


def saved(tensor: Tensor, what: str) -> np.ndarray:
    """A copy of a tensor as an array; a NaN or infinite value raises `NumericalError`."""
    array = tensor.to("cpu", copy=True).numpy()
    if not np.isfinite(array).all():
        raise NumericalError(f"{what} has a NaN or infinite value")
    return array


@contextmanager
def arithmetic() -> Iterator[None]:
    """Inside, denormal numbers are zero, and numpy does not warn.

    The moments of dead units decay into denormal numbers, which are slow; and NaN and infinity are found in the
    losses and parameters.
    """
    torch.set_flush_denormal(True)
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        torch.set_flush_denormal(False)
