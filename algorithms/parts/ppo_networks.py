"""Networks and running statistics of PPO and TRPO as flat vectors, and their policy. Known without torch."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from erlbench.algorithms.parts.ppo_settings import EPSILON, OBSERVATION_CLIP
from erlbench.algorithms.parts.trpo_settings import OnPolicySettings
from erlbench.envs.registry import Problem
from erlbench.policy import PolicySpec
from erlbench.work.seeding import Key, generator


def layer_sizes(problem: Problem, hidden: Sequence[int], outputs: int) -> list[tuple[int, int]]:
    """(inputs, outputs) of each layer of the network with `outputs` outputs."""
    widths = (problem.observation_size, *hidden, outputs)
    return list(zip(widths, widths[1:]))


def initial_learner(problem: Problem, settings: OnPolicySettings, key: Key) -> np.ndarray:
    """A fresh learner, float32 `(3, P)`: parameters and Adam's first and second moments.

    The parameters are in stable-baselines3's order: log standard deviations (continuous actions only), hidden layers
    of the policy, hidden layers of the value network, last layer of the policy, last layer of the value network.
    Weights are orthogonal, times sqrt(2) in hidden layers, 0.01 in the policy's last and 1 in the values' last one.
    """
    *hidden, last = layer_sizes(problem, settings.hidden, problem.action_size)
    layers = [(sizes, math.sqrt(2.0)) for sizes in (*hidden, *hidden)]
    layers += [(last, 0.01), ((last[0], 1), 1.0)]
    random = generator(*key)
    parts = [] if problem.discrete else [np.full(problem.action_size, settings.log_std_init)]
    for (inputs, outputs), gain in layers:
        normal = random.standard_normal((outputs, inputs))
        parts += [gain * orthogonal(normal).ravel(), np.zeros(outputs)]
    parameters = np.concatenate(parts).astype(np.float32)
    return np.stack([parameters, np.zeros_like(parameters), np.zeros_like(parameters)])


def orthogonal(normal: np.ndarray) -> np.ndarray:
    """The matrix with orthonormal rows or columns that `torch.nn.init.orthogonal_` makes of normal numbers."""
    wide = normal.shape[0] < normal.shape[1]
    q, r = np.linalg.qr(normal.T if wide else normal)
    q *= np.sign(np.diag(r))
    return q.T if wide else q


def actor_parameters(parameters: np.ndarray, problem: Problem, hidden: Sequence[int]) -> np.ndarray:
    """The policy network's vector, in the order of `PolicySpec`, from the learner's parameters `(P,)`."""
    *below, last = layer_sizes(problem, hidden, problem.action_size)
    start = 0 if problem.discrete else problem.action_size
    width = sum((inputs + 1) * outputs for inputs, outputs in below)
    final = start + 2 * width
    size = (last[0] + 1) * last[1]
    return np.concatenate([parameters[start : start + width], parameters[final : final + size]])


def initial_statistics(observation_size: int) -> np.ndarray:
    """Running statistics, float64: observations' mean, variance, count; returns' mean, variance, count; return."""
    ones = np.ones(observation_size)
    return np.concatenate([0 * ones, ones, [1e-4, 0.0, 1.0, 1e-4, 0.0]])


def reported_parameters(
    parameters: np.ndarray, statistics: np.ndarray, problem: Problem, settings: OnPolicySettings
) -> np.ndarray:
    """The vector of `reported_policy`, float32."""
    actor, size = actor_parameters(parameters, problem, settings.hidden), problem.observation_size
    if not settings.normalise_observations:
        return actor
    deviation = np.sqrt(statistics[size : 2 * size] + EPSILON)
    return np.concatenate([actor, statistics[:size], deviation]).astype(np.float32)


def reported_policy(problem: Problem, settings: OnPolicySettings) -> PolicySpec:
    """The policy that is evaluated: the mean action, clipped to its range, or the likeliest one."""
    return PolicySpec(
        (problem.observation_size, *settings.hidden, problem.action_size),
        settings.activation,
        problem.action_low,
        problem.action_high,
        squashing="linear" if problem.discrete else "clip",
        actions="discrete" if problem.discrete else "continuous",
        normalisation=settings.normalise_observations,
        observation_clip=OBSERVATION_CLIP,
    )
