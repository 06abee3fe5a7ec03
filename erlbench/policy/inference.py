"""Inference of a policy by numpy, one observation at a time; and its file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from erlbench.errors import UsageError
from erlbench.files import printable, read_bytes, reason, restore_hint
from erlbench.policy.pixels import ImageNetwork
from erlbench.policy.spec import PolicySpec, new_module
from erlbench.records.run import POLICY

LEVELS = np.float32(6)  # of the floor squashing, on each side of zero
KEY = "policy"  # of a file's metadata
NEWER = ("parameters", "image", "reference")  # left out where empty: the bytes of versions that had none of them
LOG_STD = (np.float32(-20), np.float32(2))
Operation = Callable[[], object]


class NumpyPolicy:
    """Inference without allocations; equal to torch's forward to 1e-6."""

    def __init__(self, spec: PolicySpec, parameters: np.ndarray) -> None:
        """`parameters`: float32 `(spec.size,)`, not copied."""
        if parameters.shape != (spec.size,) or parameters.dtype != np.float32:
            wrong = f"{parameters.shape} of {parameters.dtype}"
            raise ValueError(f"a policy with layers {spec.sizes} has {spec.size} parameters of float32, not {wrong}")
        self.spec = spec
        self.parameters = parameters
        self._random: np.random.Generator | None = None
        self._resets: list[Operation] = []  # what begins an episode
        sees = bool(spec.image) and not spec.parameters
        self._observation = np.empty(spec.sizes[0], np.uint8 if sees else np.float32)
        self._operations: list[Operation] = []  # their arguments bound once
        outputs = self._build(spec.split(parameters))
        self._action = self._act(outputs)
        self.denormalise: Callable[[np.ndarray], Any] = spec.denormaliser()

    def __repr__(self) -> str:
        sizes = "-".join(map(str, self.spec.sizes))
        return f"NumpyPolicy(sizes={sizes}, squashing={self.spec.squashing})"

    def reset(self, random: np.random.Generator | None = None) -> None:
        """Begin an episode: forget the last one. A stochastic policy draws from `random`; without it acts its mode."""
        self._random = random
        for operation in self._resets:
            operation()

    def normalised(self, observation: np.ndarray) -> np.ndarray:
        """Normalised action `(action,)` for an observation `(observation,)`; the next call overwrites it."""
        self._observation[...] = observation  # takes half the time of [:]
        for operation in self._operations:
            operation()
        return self._action

    def act(self, observation: np.ndarray) -> Any:
        """The environment's action for an observation `(observation,)`: a new array `(action,)`, or an integer."""
        return self.denormalise(self.normalised(observation))

    # -- the operations, in order -----------------------------------------------------------------------------------

    def _build(self, tensors: dict[str, np.ndarray]) -> np.ndarray:
        """All layers; the vector of outputs that the last one writes."""
        spec, layer = self.spec, self._observation
        if spec.normalisation:
            clip = np.float32(spec.observation_clip)
            self._operations += _normalise(layer, tensors["observation.mean"], tensors["observation.std"], clip)
        if spec.parameters:
            outputs = np.empty(spec.sizes[-1], np.float32)
            self._operations.append(module := ModuleRow(spec, tensors, layer, outputs))
            self._resets.append(module.reset)
            return outputs
        if spec.image:
            outputs = np.empty(spec.widths[-1], np.float32)
            self._operations.append(ImageNetwork(spec, tensors, layer, outputs))
            return outputs
        last = len(spec.sizes) - 2
        for index in range(last):
            if spec.network == "lstm":
                layer = self._lstm(index, tensors, layer)
            else:
                layer = self._linear(index, tensors, layer)
                self._operations += _activate(spec.activation, layer)
        return self._linear(last, tensors, layer)

    def _linear(self, index: int, tensors: dict[str, np.ndarray], below: np.ndarray) -> np.ndarray:
        matrix, bias = tensors[f"layer.{index}.weight"], tensors.get(f"layer.{index}.bias")
        layer = np.empty(len(matrix), np.float32)
        self._operations.append(partial(matrix.dot, below, layer))
        if bias is not None:
            self._operations.append(partial(np.add, layer, bias, layer))
        return layer

    def _lstm(self, index: int, tensors: dict[str, np.ndarray], below: np.ndarray) -> np.ndarray:
        """An LSTM cell; its output is the hidden state."""
        inner, outer = tensors[f"lstm.weight_ih_l{index}"], tensors[f"lstm.weight_hh_l{index}"]
        biases = [tensors[name] for name in (f"lstm.bias_ih_l{index}", f"lstm.bias_hh_l{index}") if name in tensors]
        units = outer.shape[1]
        gates, recurrent = (np.empty(4 * units, np.float32) for _ in range(2))
        hidden, cell = (np.zeros(units, np.float32) for _ in range(2))
        self._resets += [partial(hidden.fill, 0), partial(cell.fill, 0)]
        entry, forget, candidate, exit = np.split(gates, 4)
        squashed = np.empty_like(cell)
        self._operations += [
            partial(inner.dot, below, gates),
            partial(outer.dot, hidden, recurrent),
            partial(np.add, gates, recurrent, gates),
            *(partial(np.add, gates, bias, gates) for bias in biases),
            *_squash(gates, candidate=slice(2 * units, 3 * units)),
            partial(np.multiply, forget, cell, cell),
            partial(np.multiply, entry, candidate, candidate),
            partial(np.add, cell, candidate, cell),
            partial(np.tanh, cell, squashed),
            partial(np.multiply, exit, squashed, hidden),
        ]
        return hidden

    def _act(self, outputs: np.ndarray) -> np.ndarray:
        """From the outputs to the normalised action in the returned vector."""
        spec = self.spec
        if spec.samples_normal:
            outputs, log_std = outputs.reshape(2, -1)
            self._operations.append(partial(self._sample_normal, outputs, log_std))
        elif spec.stochastic:
            self._operations.append(partial(self._sample_softmax, outputs))
        if spec.actions == "bins":
            action = np.empty(spec.sizes[-1], np.float32)
            self._operations.append(partial(_choose_bins, outputs.reshape(-1, spec.bins), action))
            return action
        if spec.squashing in ("tanh", "floor"):
            self._operations.append(partial(np.tanh, outputs, outputs))
        if spec.squashing == "floor":
            self._operations += [
                partial(np.multiply, outputs, LEVELS, outputs),
                partial(np.floor, outputs, outputs),
                partial(np.divide, outputs, LEVELS, outputs),
            ]
        return outputs

    def _sample_normal(self, mean: np.ndarray, log_std: np.ndarray) -> None:
        """Replace the mean by a sample."""
        if self._random is not None:
            noise = self._random.standard_normal(len(mean), dtype=np.float32)
            mean += np.exp(np.clip(log_std, *LOG_STD)) * noise

    def _sample_softmax(self, outputs: np.ndarray) -> None:
        """Add Gumbel noise: then the largest output has the distribution of the softmax (Gumbel-max)."""
        if self._random is not None:
            outputs += self._random.gumbel(size=len(outputs))


def _normalise(layer: np.ndarray, mean: np.ndarray, std: np.ndarray, clip: np.float32) -> list[Operation]:
    return [
        partial(np.subtract, layer, mean, layer),
        partial(np.divide, layer, std, layer),
        partial(np.maximum, layer, -clip, out=layer),
        partial(np.minimum, layer, clip, out=layer),
    ]


def _choose_bins(logits: np.ndarray, action: np.ndarray) -> None:
    """`logits` `(action, bins)`; the place of the largest in [-1, 1]."""
    np.multiply(logits.argmax(axis=1), np.float32(2 / (logits.shape[-1] - 1)), out=action, casting="same_kind")
    np.subtract(action, np.float32(1), out=action)


def _squash(gates: np.ndarray, candidate: slice) -> list[Operation]:
    """In place: tanh of the candidate, sigmoid of the other gates; the latter is (1 + tanh(x / 2)) / 2."""
    factor, shift = np.full_like(gates, 0.5), np.full_like(gates, 0.5)
    factor[candidate], shift[candidate] = 1, 0
    return [
        partial(np.multiply, gates, factor, gates),
        partial(np.tanh, gates, gates),
        partial(np.multiply, gates, factor, gates),
        partial(np.add, gates, shift, gates),
    ]


def _activate(activation: str, layer: np.ndarray) -> list[Operation]:
    """The operations of an activation in place."""
    if activation == "tanh":
        return [partial(np.tanh, layer, layer)]
    if activation == "relu":
        return [partial(np.maximum, layer, np.float32(0), out=layer)]
    scaled = np.empty_like(layer)
    return [partial(np.multiply, layer, np.float32(0.01), scaled), partial(np.maximum, layer, scaled, out=layer)]


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
            # a copy, for the module may keep it and the next observation is written over this one
            self._output[...] = self._module(self._observation.clone()).numpy()[0]


# -- files: safetensors with the tensors by PyTorch's names, and the policy's description as metadata ------------------


def serialise_policy(parameters: np.ndarray, spec: PolicySpec) -> bytes:
    """A policy as safetensors: its tensors by the names of `PolicySpec.split`, and the spec as metadata."""
    tensors = {name: np.array(tensor) for name, tensor in spec.split(parameters).items()}
    values = {name: value for name, value in asdict(spec).items() if name not in NEWER or value}
    return save(tensors, {KEY: json.dumps(values)})


def load_policy(path: Path | str, inside: int = 0) -> NumpyPolicy:
    """The policy that a run wrote, ready to act; `path` is its file or the run's folder.

    A run's folder holds the file itself; a link there, or in the last `inside` parts of `path`, is not followed. A
    `UsageError` names the reason why a file cannot be used.
    """
    if not isinstance(path, str | Path):
        raise UsageError(f"load_policy() takes a file or a run's folder, not {path!r}")
    file = Path(path)
    file, inside = (file / POLICY, 1) if file.is_dir() else (file, inside)
    try:
        data = read_bytes(file, inside=inside)
        length = int.from_bytes(data[:8], "little")  # of the header
        values = json.loads(json.loads(data[8 : 8 + length])["__metadata__"][KEY])  # whose lists were tuples
        tuples: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in values.items()
        }
        spec = PolicySpec(**tuples)
        tensors = load(data)
        if spec.size != sum(tensor.size for tensor in tensors.values()):
            raise ValueError("its tensors differ from its description")
        parameters = np.empty(spec.size, np.float32)
        for name, view in spec.split(parameters).items():
            view[...] = tensors[name]
    except FileNotFoundError:
        raise UsageError(
            f"there is no {file}; a run writes its policy when it is done, an imported one has none{restore_hint(file)}"
        ) from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {reason(error)}") from error
    except Exception as error:  # a file of somebody else may hold anything
        raise UsageError(f"{file} is no policy that erlbench wrote: {printable(str(error))}") from error
    if (module := spec.network.partition(":")[0]) != spec.network and module not in sys.modules:
        raise UsageError(
            f"{file} acts by the code {printable(spec.network)}; import {printable(module)} in Python first"
        )
    return NumpyPolicy(spec, parameters)
