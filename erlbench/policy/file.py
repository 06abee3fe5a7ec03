"""The vectors of policies: how they start, and their files.

A file is safetensors with the tensors by PyTorch's names, and the policy's description as metadata.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from erlbench.errors import UsageError
from erlbench.files import printable, read_bytes, reason
from erlbench.policy.inference import NumpyPolicy
from erlbench.policy.module import initial_vector
from erlbench.policy.spec import PolicySpec, Tensor, network_tensors
from erlbench.records.run import POLICY
from erlbench.work.seeding import Key, generator

INITIALISATIONS = ("pytorch", "normc", "zero")
LAST_NORM = 0.01  # of the weights of an output, OpenAI-ES
KEY = "policy"  # of a file's metadata


def serialise_policy(parameters: np.ndarray, spec: PolicySpec) -> bytes:
    """A policy as safetensors: its tensors by the names of `PolicySpec.split`, and the spec as metadata."""
    tensors = {name: np.array(tensor) for name, tensor in spec.split(parameters).items()}
    values = {name: value for name, value in asdict(spec).items() if name != "parameters" or value}
    return save(tensors, {KEY: json.dumps(values)})  # the bytes of versions that had no `parameters`


def load_policy(path: Path | str, inside: int = 0) -> NumpyPolicy:
    """The policy that a run wrote, ready to act; `path` is its file or the run's folder.

    A run's folder holds the file itself; a link there, or in the last `inside` parts of `path`, is not followed. A
    `UsageError` says why a file cannot be used.
    """
    if not isinstance(path, str | Path):
        raise UsageError(f"load_policy() takes a file or a run's folder, not {path!r}")
    file = Path(path)
    file, inside = (file / POLICY, 1) if file.is_dir() else (file, inside)
    try:
        data = read_bytes(file, inside=inside)
        spec = _spec(json.loads(_metadata(data)[KEY]))
        tensors = load(data)
        if spec.size != sum(tensor.size for tensor in tensors.values()):
            raise ValueError("its tensors are not those of its description")
        parameters = np.empty(spec.size, np.float32)
        for name, view in spec.split(parameters).items():
            view[...] = tensors[name]
    except FileNotFoundError:
        raise UsageError(f"there is no {file}; a run writes its policy when it is done") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {reason(error)}") from error
    except (
        SafetensorError,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        raise UsageError(f"{file} is no policy that erlbench wrote: {printable(str(error))}") from error
    if (module := spec.network.partition(":")[0]) != spec.network and module not in sys.modules:
        raise UsageError(
            f"{file} acts by the code {printable(spec.network)}; import {printable(module)} in Python first"
        )
    return NumpyPolicy(spec, parameters)


def _metadata(data: bytes) -> dict[str, str]:
    """The texts in the header of a safetensors file, whose length is its first eight bytes."""
    length = int.from_bytes(data[:8], "little")
    return dict(json.loads(data[8 : 8 + length])["__metadata__"])


def _spec(values: dict[str, Any]) -> PolicySpec:
    """The spec from JSON, whose lists were tuples."""
    tuples: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return PolicySpec(**tuples)


def initial_parameters(sizes: Sequence[int], key: Key) -> np.ndarray:
    """An MLP by PyTorch's default for Linear layers: U(-1/sqrt(inputs), 1/sqrt(inputs)), float32."""
    return _uniform(network_tensors(sizes), key)


def initial_policy(spec: PolicySpec, key: Key, initialisation: str = "pytorch") -> np.ndarray:
    """A policy's first vector, float32 `(spec.size,)`; observations, if normalised, have mean 0 and std 1.

    `pytorch`: the defaults of `torch.nn.Linear` and `torch.nn.LSTM`, U(-1/sqrt(k), 1/sqrt(k)) with k the layer's
    inputs and the LSTM's units, respectively. `normc`: as OpenAI-ES's public code, normal weights, those into one
    unit scaled to norm 1, those into one output to norm 0.01; biases 0. `zero`: all parameters are 0.
    A policy that observes nothing starts uniformly within the actions' bounds, whatever `initialisation` says.
    """
    if not spec.sizes[0]:  # nothing is observed: the action itself, anywhere within its bounds
        return generator(*key).uniform(spec.action_low, spec.action_high).astype(np.float32)
    if initialisation == "zero":
        network = np.zeros(spec.learnt_size, np.float32)
    elif spec.parameters:
        network = initial_vector(spec, key)
    else:
        network = _normc(spec.tensors, key) if initialisation == "normc" else _uniform(spec.tensors, key)
    if not spec.normalisation:
        return network
    zeros = np.zeros(spec.sizes[0], np.float32)
    return np.concatenate([network, zeros, zeros + 1])


def _uniform(tensors: Sequence[Tensor], key: Key) -> np.ndarray:
    random, parts = generator(*key), []
    for tensor in tensors:
        bound = 1.0 / math.sqrt(tensor.fan_in)
        parts.append(random.uniform(-bound, bound, math.prod(tensor.shape)))
    return np.concatenate(parts).astype(np.float32)


def _normc(tensors: Sequence[Tensor], key: Key) -> np.ndarray:
    random, parts = generator(*key), []
    weights = [tensor for tensor in tensors if len(tensor.shape) == 2]
    for tensor in tensors:
        if len(tensor.shape) == 1:
            parts.append(np.zeros(tensor.shape))
            continue
        weight = random.standard_normal(tensor.shape)
        norm = LAST_NORM if tensor is weights[-1] else 1.0
        parts.append((weight * (norm / np.linalg.norm(weight, axis=1, keepdims=True))).ravel())
    return np.concatenate(parts).astype(np.float32)
