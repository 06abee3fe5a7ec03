"""Policies by a user's class of PyTorch modules, MODULE:CLASS, for algorithms that need no gradients of them.

The class is called with the number of observations and of outputs; a module maps observations `(1, observation)` to
outputs `(1, outputs)`. If it has a method `reset`, that begins an episode. Only what constructs or runs one imports
torch and the user's module; a specification has the names and shapes of its parameters as text.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.policy.spec import PolicySpec
from erlbench.work.seeding import Key, generator

if TYPE_CHECKING:
    import torch


def new_module(name: str, observations: int, outputs: int) -> torch.nn.Module:
    """A module of the class MODULE:CLASS; `ValueError` for what is none."""
    import torch

    module, _, attribute = name.partition(":")
    kind = getattr(importlib.import_module(module), attribute)
    if not (isinstance(kind, type) and issubclass(kind, torch.nn.Module)):  # a name in a file must call nothing else
        raise ValueError(f"{name} is no class of torch.nn.Module")
    network: torch.nn.Module = kind(observations, outputs)
    if not list(network.parameters()):
        raise ValueError(f"{name} has no parameters")
    return network


def describe_parameters(module: torch.nn.Module) -> tuple[str, ...]:
    """`NAME:8x3` of each parameter, in the module's order, which is that of the flat vector."""
    return tuple(f"{name}:{'x'.join(map(str, each.shape)) or '1'}" for name, each in module.named_parameters())


def initial_vector(spec: PolicySpec, key: Key) -> np.ndarray:
    """The parameters with which a new module starts, float32 `(learnt_size,)`."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(generator(*key).integers(2**63)))
        module = new_module(spec.network, spec.sizes[0], spec.sizes[-1])
    parts = [each.detach().numpy().ravel() for each in module.parameters()]
    return np.concatenate(parts).astype(np.float32)


class ModuleRow:
    """A module with given parameters, and one row of observations and of outputs."""

    def __init__(
        self, spec: PolicySpec, tensors: dict[str, np.ndarray], observation: np.ndarray, output: np.ndarray
    ) -> None:
        import torch

        self._torch, self._output = torch, output
        self._observation = torch.from_numpy(observation.reshape(1, -1))
        self._module: Any = new_module(spec.network, spec.sizes[0], spec.sizes[-1]).eval().requires_grad_(False)
        for name, parameter in self._module.named_parameters():
            parameter.copy_(torch.from_numpy(tensors[name].copy()).view(parameter.shape))

    def reset(self) -> None:
        """Begin an episode."""
        if hasattr(self._module, "reset"):
            self._module.reset()

    def __call__(self) -> None:
        with self._torch.inference_mode():
            self._output[...] = self._module(self._observation).numpy()[0]
