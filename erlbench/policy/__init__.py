"""Policies as flat float32 vectors: what they look like, how they start, and their inference by numpy."""

from erlbench.policy.file import load_policy, serialise_policy
from erlbench.policy.inference import NumpyPolicy
from erlbench.policy.initial import INITIALISATIONS, initial_parameters, initial_policy
from erlbench.policy.layout import layer_slices, parameter_count
from erlbench.policy.spec import ACTIVATIONS, NETWORKS, SQUASHINGS, PolicySpec

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
