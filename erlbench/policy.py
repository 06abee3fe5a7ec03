"""Deterministic multi-layer perceptron policies as flat float32 vectors, and their numpy inference.

Layout of the vector: for each layer the weight `(outputs, inputs)` row by row, then the bias, as
`torch.nn.utils.parameters_to_vector` gives it for a stack of `torch.nn.Linear`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
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
        self._centre, self._half_range = spec.centre, spec.half_range
        self._layers = []
        for (weight, bias), inputs, outputs in zip(layer_slices(spec.sizes), spec.sizes, spec.sizes[1:]):
            matrix = parameters[weight].reshape(outputs, inputs)
            self._layers.append((matrix, parameters[bias], np.empty(outputs, np.float32)))
        self._observation = np.empty(spec.sizes[0], np.float32)

    def normalised(self, observation: np.ndarray) -> np.ndarray:
        """Action in [-1, 1] `(action,)` for an observation `(observation,)`; the next call overwrites it."""
        hidden = self._observation
        hidden[:] = observation
        last = len(self._layers) - 1
        for index, (matrix, bias, out) in enumerate(self._layers):
            np.dot(matrix, hidden, out=out)
            out += bias
            if index == last or self.spec.activation == "tanh":
                np.tanh(out, out=out)
            elif self.spec.activation == "relu":
                np.maximum(out, 0, out=out)
            else:
                np.maximum(out, out * np.float32(0.01), out=out)
            hidden = out
        return hidden

    def denormalise(self, normalised: np.ndarray) -> np.ndarray:
        """The environment's action for an action in [-1, 1], a new float32 array."""
        return self._centre + self._half_range * normalised


def save_policy(path: Path, parameters: np.ndarray, spec: PolicySpec) -> None:
    """Write a policy as safetensors: `layer.N.weight (outputs, inputs)`, `layer.N.bias`, and the spec as metadata."""
    tensors = {}
    for index, (weight, bias) in enumerate(layer_slices(spec.sizes)):
        inputs, outputs = spec.sizes[index : index + 2]
        tensors[f"layer.{index}.weight"] = np.array(parameters[weight]).reshape(outputs, inputs)
        tensors[f"layer.{index}.bias"] = np.array(parameters[bias])
    save_file(tensors, path, {"policy": json.dumps(asdict(spec))})
