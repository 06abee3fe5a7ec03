"""Policies as flat float32 vectors: what they look like, how they start, and their inference by numpy."""

from erlbench.policy.inference import NumpyPolicy, load_policy, serialise_policy
from erlbench.policy.spec import (
    ACTIVATIONS,
    INITIALISATIONS,
    NETWORKS,
    SQUASHINGS,
    PolicySpec,
    initial_parameters,
    initial_policy,
    layer_slices,
    parameter_count,
)

__all__ = [
    "ACTIVATIONS",
    "INITIALISATIONS",
    "NETWORKS",
    "SQUASHINGS",
    "NumpyPolicy",
    "PolicySpec",
    "initial_parameters",
    "initial_policy",
    "layer_slices",
    "load_policy",
    "parameter_count",
    "serialise_policy",
]
