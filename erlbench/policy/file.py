"""Policies as files: safetensors with the tensors by PyTorch's names, and the policy's description as metadata."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from erlbench.errors import UsageError
from erlbench.files import printable, read_bytes, reason
from erlbench.policy.inference import NumpyPolicy
from erlbench.policy.spec import PolicySpec
from erlbench.records.run import POLICY

KEY = "policy"  # of the metadata


def serialise_policy(parameters: np.ndarray, spec: PolicySpec) -> bytes:
    """A policy as safetensors: its tensors by the names of `PolicySpec.split`, and the spec as metadata."""
    tensors = {name: np.array(tensor) for name, tensor in spec.split(parameters).items()}
    return save(tensors, {KEY: json.dumps(asdict(spec))})


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
    return NumpyPolicy(spec, parameters)


def _metadata(data: bytes) -> dict[str, str]:
    """The texts in the header of a safetensors file, whose length is its first eight bytes."""
    length = int.from_bytes(data[:8], "little")
    return dict(json.loads(data[8 : 8 + length])["__metadata__"])


def _spec(values: dict[str, Any]) -> PolicySpec:
    """The spec from JSON, whose lists were tuples."""
    tuples: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return PolicySpec(**tuples)
