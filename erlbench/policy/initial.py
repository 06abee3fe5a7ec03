"""How policies start."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from erlbench.policy.layout import Tensor, network_tensors
from erlbench.policy.spec import PolicySpec
from erlbench.work.seeding import Key, generator

INITIALISATIONS = ("pytorch", "normc", "zero")
LAST_NORM = 0.01  # of the weights of an output, OpenAI-ES


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
