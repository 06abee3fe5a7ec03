"""What the references share: transitions, networks with the parameters of a flat vector, and targets that follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU, "leaky-relu": nn.LeakyReLU}


class Experience(NamedTuple):
    """Transitions, all or a minibatch: float32 `(n, columns)`; actions are normalised to [-1, 1]."""

    observations: Tensor
    actions: Tensor
    rewards: Tensor  # (n, 1)
    continues: Tensor  # (n, 1): 0 where the episode ended by a terminal state, else 1
    next_observations: Tensor

    def sample(self, size: int, random: np.random.Generator) -> Experience:
        """A minibatch; each transition has the same probability, and may come more than once."""
        rows = random.integers(len(self.rewards), size=size)
        return Experience(*(column[rows] for column in self))


def normal(like: Tensor, random: np.random.Generator) -> Tensor:
    """Standard normal numbers of the shape of `like`."""
    return torch.from_numpy(random.standard_normal(like.shape, dtype=np.float32))


def mlp(sizes: Sequence[int], activation: str, parameters: np.ndarray, *output: nn.Module) -> nn.Sequential:
    """Linear layers of these widths with activations between them, then `output`; `parameters` are copied."""
    layers: list[nn.Module] = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inputs, outputs), ACTIVATIONS[activation]()]
    module = nn.Sequential(*layers[:-1], *output)
    set_parameters(module, parameters)
    return module


def set_parameters(module: nn.Module, parameters: np.ndarray) -> None:
    """Copy a flat vector into a module."""
    vector_to_parameters(torch.from_numpy(np.array(parameters, np.float32)), module.parameters())


def flat_parameters(module: nn.Module) -> np.ndarray:
    """All parameters of a module as a flat vector."""
    return parameters_to_vector(module.parameters()).detach().numpy()


def descend(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    """One step of the optimiser down the gradient of `loss`."""
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()


@torch.no_grad()
def follow(target: nn.Module, online: nn.Module, tau: float) -> None:
    """Targets: theta' <- tau theta + (1 - tau) theta'."""
    for slow, fast in zip(target.parameters(), online.parameters()):
        slow.lerp_(fast, tau)
