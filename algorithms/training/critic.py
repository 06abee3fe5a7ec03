"""Critics as one float32 array, for the driver, which knows no torch.

The array has the shape `(4, count * size)`: rows are the online parameters, the target parameters, and Adam's first
and second moments; each row holds Q1, then Q2 (DDPG has Q1 only). A critic is an MLP of
`[observation, action in [-1, 1]]` with one output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from erlbench.policy import PolicySpec, initial_parameters, parameter_count
from erlbench.work.seeding import Key


@dataclass(frozen=True)
class CriticSpec:
    """The network of each of the critics: layer widths `(observation + action, hidden ..., 1)`."""

    sizes: tuple[int, ...]
    activation: str  # of the hidden layers: tanh, relu or leaky-relu
    count: int = 2

    @cached_property
    def size(self) -> int:
        """Number of parameters of one critic."""
        return parameter_count(self.sizes)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the critics' array."""
        return 4, self.count * self.size


def critic_spec(policy: PolicySpec, hidden: Sequence[int], activation: str, count: int = 2) -> CriticSpec:
    """The critics for actions of `policy`."""
    return CriticSpec((policy.sizes[0] + policy.sizes[-1], *hidden, 1), activation, count)


def initial_critic(spec: CriticSpec, key: Key) -> np.ndarray:
    """Fresh critics: PyTorch's default initialisation, targets equal to the online networks, zero moments."""
    critic = np.zeros(spec.shape, np.float32)
    for index in range(spec.count):
        critic[0, index * spec.size : (index + 1) * spec.size] = initial_parameters(spec.sizes, (*key, index))
    critic[1] = critic[0]
    return critic
