"""Policies as files: safetensors with the tensors by PyTorch's names, and the policy's description as metadata."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from erlbench.errors import UsageError
from erlbench.policy.inference import NumpyPolicy
from erlbench.policy.spec import PolicySpec

KEY = "policy"  # of the metadata


def serialise_policy(parameters: np.ndarray, spec: PolicySpec) -> bytes:
    """A policy as safetensors: its tensors by the names of `PolicySpec.split`, and the spec as metadata."""
    tensors = {name: np.array(tensor) for name, tensor in spec.split(parameters).items()}
    return save(tensors, {KEY: json.dumps(asdict(spec))})


def load_policy(path: Path | str) -> NumpyPolicy:
    """The policy that a run wrote, ready to act; `path` is its file or the run's folder.

    A `UsageError` tells why a file cannot be used.
    """
    file = Path(path)
    file = file / "policy.safetensors" if file.is_dir() else file
    try:
        with safe_open(file, framework="numpy") as opened:
            spec = _spec(json.loads((opened.metadata() or {})[KEY]))
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118, it is no dict
        parameters = np.empty(spec.size, np.float32)
        for name, view in spec.split(parameters).items():
            view[...] = tensors[name]
    except FileNotFoundError:
        raise UsageError(f"there is no {file}; a run writes its policy when it is done") from None
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{file} is no policy that erlbench wrote: {error}") from error
    return NumpyPolicy(spec, parameters)


def _spec(values: dict[str, Any]) -> PolicySpec:
    """The spec from JSON, whose lists were tuples."""
    tuples: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return PolicySpec(**tuples)
