"""Deterministic multi-layer perceptron policies as flat float32 vectors, and their numpy inference.

Layout of the vector: for each layer the weight `(outputs, inputs)` row by row, then the bias, as
`torch.nn.utils.parameters_to_vector` gives it for a stack of `torch.nn.Linear`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from erlbench.seeding import Key, generator

ACTIVATIONS = ("tanh", "relu", "leaky-relu")


def layer_slices(sizes: Sequence[int]) -> list[tuple[slice, slice]]:
    """Weight and bias slices of each layer of an MLP with layer widths `sizes` in its flat vector."""
    slices, start = [], 0
    for inputs, outputs in zip(sizes, sizes[1:]):
        weight = slice(start, start + inputs * outputs)
        bias = slice(weight.stop, weight.stop + outputs)
        slices.append((weight, bias))
        start = bias.stop
    return slices


def parameter_count(sizes: Sequence[int]) -> int:
    """Number of weights and biases of an MLP with layer widths `sizes`."""
    return sum((inputs + 1) * outputs for inputs, outputs in zip(sizes, sizes[1:]))


def initial_parameters(sizes: Sequence[int], key: Key) -> np.ndarray:
    """PyTorch's default initialisation of Linear layers: U(-1/sqrt(inputs), 1/sqrt(inputs)), float32."""
    random = generator(*key)
    parts = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        bound = 1.0 / math.sqrt(inputs)
        parts.append(random.uniform(-bound, bound, (inputs + 1) * outputs))
    return np.concatenate(parts).astype(np.float32)


@dataclass(frozen=True)
class PolicySpec:
    """An MLP policy: `action = centre + half_range * tanh(output)` for actions in [low, high]."""

    sizes: tuple[int, ...]  # observation, hidden widths, action
    activation: str
    action_low: tuple[float, ...]
    action_high: tuple[float, ...]

    @property
    def size(self) -> int:
        """Number of parameters."""
        return parameter_count(self.sizes)

    @property
    def half_range(self) -> np.ndarray:
        """Half the width of the action interval, float32 `(action,)`."""
        return (np.array(self.action_high, np.float32) - np.array(self.action_low, np.float32)) / 2

    @property
    def centre(self) -> np.ndarray:
        """The middle of the action interval, float32 `(action,)`."""
        return (np.array(self.action_high, np.float32) + np.array(self.action_low, np.float32)) / 2


class NumpyPolicy:
    """Inference at batch size one without allocations; equal to torch's forward to 1e-6."""

    def __init__(self, spec: PolicySpec, parameters: np.ndarray) -> None:
        """`parameters`: float32 `(spec.size,)`, not copied."""
        if parameters.shape != (spec.size,):
            raise ValueError(f"a policy with layers {spec.sizes} has {spec.size} parameters, not {parameters.shape}")
        self.spec = spec
        self._half_range = spec.half_range
        self._centre = spec.centre if spec.centre.any() else None  # mostly zero, and then not worth an addition
        self._observation = layer = np.empty(spec.sizes[0], np.float32)
        self._operations: list[Callable[[], object]] = []  # their arguments bound once
        for (weight, bias), inputs, outputs in zip(layer_slices(spec.sizes), spec.sizes, spec.sizes[1:]):
            matrix, below, layer = parameters[weight].reshape(outputs, inputs), layer, np.empty(outputs, np.float32)
            self._operations += [partial(matrix.dot, below, layer), partial(np.add, layer, parameters[bias], layer)]
            self._operations += _activate("tanh" if bias.stop == spec.size else spec.activation, layer)
        self._action = layer

    def normalised(self, observation: np.ndarray) -> np.ndarray:
        """Action in [-1, 1] `(action,)` for an observation `(observation,)`; the next call overwrites it."""
        self._observation[:] = observation
        for operation in self._operations:
            operation()
        return self._action

    def denormalise(self, normalised: np.ndarray) -> np.ndarray:
        """The environment's action for an action in [-1, 1], a new float32 array."""
        scaled = self._half_range * normalised
        return scaled if self._centre is None else scaled + self._centre


def _activate(activation: str, layer: np.ndarray) -> list[Callable[[], object]]:
    """The operations of an activation in place."""
    if activation == "tanh":
        return [partial(np.tanh, layer, layer)]
    if activation == "relu":
        return [partial(np.maximum, layer, np.float32(0), out=layer)]
    scaled = np.empty_like(layer)
    return [partial(np.multiply, layer, np.float32(0.01), scaled), partial(np.maximum, layer, scaled, out=layer)]


def save_policy(path: Path, parameters: np.ndarray, spec: PolicySpec) -> None:
    """Write a policy as safetensors: `layer.N.weight (outputs, inputs)`, `layer.N.bias`, and the spec as metadata."""
    tensors = {}
    for index, (weight, bias) in enumerate(layer_slices(spec.sizes)):
        inputs, outputs = spec.sizes[index : index + 2]
        tensors[f"layer.{index}.weight"] = np.array(parameters[weight]).reshape(outputs, inputs)
        tensors[f"layer.{index}.bias"] = np.array(parameters[bias])
    save_file(tensors, path, {"policy": json.dumps(asdict(spec))})
