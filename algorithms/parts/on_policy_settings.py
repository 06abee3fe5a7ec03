"""The settings of PPO and TRPO and of their tasks, and their networks as flat vectors. Known without torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from erlbench.envs.registry import Problem
from erlbench.policy import ACTIVATIONS, PolicySpec
from erlbench.settings import at_least_one, at_least_zero, fraction, setting
from erlbench.work.seeding import Key, generator

PPO2, SB3 = "baselines ppo2, MuJoCo", "stable-baselines3"
OBSERVATION_CLIP = 10.0  # standard deviations; of normalised observations, in ppo2 and stable-baselines3
EPSILON = 1e-8  # added to variances


@dataclass(frozen=True, kw_only=True)
class PPOSettings:
    """Hyper-parameters of PPO."""

    hidden: tuple[int, ...] = at_least_one((64, 64), "hidden layers' widths, policy and value net each", PPO2)
    activation: str = setting("tanh", "hidden activation of both networks", PPO2, choices=ACTIVATIONS)
    rollout_steps: int = setting(2048, "environment steps per iteration", PPO2, minimum=2)
    batch_size: int = setting(64, "transitions per update", PPO2, minimum=2)
    epochs: int = at_least_one(10, "passes over an iteration's steps", PPO2)
    learning_rate: float = at_least_zero(3e-4, "Adam's step size at the start", PPO2)
    learning_rate_schedule: str = setting(
        "linear", "linear: to 0 at the end of the budget", PPO2, choices=("linear", "constant")
    )
    discount: float = fraction(0.99, "discount factor", PPO2, symbol="gamma")
    gae_lambda: float = fraction(0.95, "lambda of the generalised advantages", PPO2)
    clip_range: float = at_least_zero(0.2, "the probability ratio is clipped to 1 +- this", PPO2)
    value_clip_range: float | None = setting(
        0.2, "how far values may move from the old ones; none: anywhere", PPO2, minimum=1e-12
    )
    entropy_coefficient: float = setting(0.0, "weight of the entropy in the loss", PPO2)
    value_coefficient: float = at_least_zero(0.5, "weight of the values' error in the loss", PPO2)
    max_gradient_norm: float = at_least_zero(0.5, "longer gradients are shortened to this", PPO2)
    target_divergence: float | None = at_least_zero(
        None, "an iteration's updates end beyond 1.5 times this KL divergence; none: never", SB3
    )
    log_std_init: float = setting(0.0, "log of the actions' standard deviation at the start", PPO2)
    normalise_advantages: bool = setting(True, "advantages of a minibatch get mean 0 and deviation 1", PPO2)
    normalise_observations: bool = setting(True, "by running mean and deviation, clipped to +- 10", PPO2)
    normalise_rewards: bool = setting(True, "by the running deviation of discounted returns, clipped to +- 10", PPO2)


@dataclass(frozen=True, kw_only=True)
class OnPolicyIteration:
    """Settings of the task of one iteration; PPO's and TRPO's add the algorithm's."""

    problem: Problem
    steps: int  # of the environment
    last: bool  # whether the budget ends here
    progress: float  # what is left of the budget afterwards, from 1 to 0
    updates: int  # gradient steps so far; of TRPO the value network's
    seed: int  # of the episode that goes on; -1 if there is none


@dataclass(frozen=True, kw_only=True)
class PPOIteration(OnPolicyIteration):
    """Settings of an iteration of PPO."""

    ppo: PPOSettings


ZOO, CONTRIB = "rl-baselines3-zoo, MuJoCo", "sb3-contrib"


@dataclass(frozen=True, kw_only=True)
class TRPOSettings:
    """Hyper-parameters of TRPO."""

    hidden: tuple[int, ...] = at_least_one((64, 64), "hidden layers' widths, policy and value net each", CONTRIB)
    activation: str = setting("tanh", "hidden activation of both networks", CONTRIB, choices=ACTIVATIONS)
    rollout_steps: int = setting(2048, "environment steps per iteration", ZOO, minimum=2)
    discount: float = fraction(0.99, "discount factor", ZOO, by_env={"Swimmer": 0.9999}, symbol="gamma")
    gae_lambda: float = fraction(0.95, "lambda of the generalised advantages", ZOO)
    target_divergence: float = setting(
        0.01, "radius of the trust region, mean KL divergence", ZOO, by_env={"HalfCheetah": 0.04}, minimum=1e-12
    )
    conjugate_steps: int = at_least_one(25, "steps of the conjugate gradient", ZOO)
    damping: float = at_least_zero(0.1, "added to the Fisher matrix's diagonal", ZOO)
    line_search_steps: int = at_least_one(10, "step lengths that the line search tries", CONTRIB)
    line_search_shrinking: float = setting(0.8, "a step length, of the one before", CONTRIB, minimum=1e-12, maximum=1)
    subsampling: int = at_least_one(1, "the policy's step takes every so many-th transition", ZOO)
    value_epochs: int = at_least_one(20, "passes of the value network over an iteration's steps", ZOO)
    batch_size: int = setting(128, "transitions per update of the value network", ZOO, minimum=2)
    learning_rate: float = at_least_zero(1e-3, "Adam's step size, of the value network", ZOO)
    learning_rate_schedule: str = setting(
        "constant", "linear: to 0 at the end of the budget", ZOO, choices=("linear", "constant")
    )
    log_std_init: float = setting(0.0, "log of the actions' standard deviation at the start", CONTRIB)
    normalise_advantages: bool = setting(True, "advantages of an iteration get mean 0 and deviation 1", CONTRIB)
    normalise_observations: bool = setting(True, "by running mean and deviation, clipped to +- 10", ZOO)
    normalise_rewards: bool = setting(True, "by the running deviation of discounted returns, clipped to +- 10", ZOO)


@dataclass(frozen=True, kw_only=True)
class TRPOIteration(OnPolicyIteration):
    """Settings of an iteration of TRPO."""

    trpo: TRPOSettings


OnPolicySettings: TypeAlias = PPOSettings | TRPOSettings


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
