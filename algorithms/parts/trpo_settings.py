"""TRPO's hyper-parameters, its presets, and the settings of a task. Known without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from erlbench.algorithms.parts.ppo_settings import PPOIteration, PPOSettings
from erlbench.envs.registry import Problem
from erlbench.policy import ACTIVATIONS
from erlbench.settings import setting

ZOO, CONTRIB = "rl-baselines3-zoo, MuJoCo", "sb3-contrib"

# sb3: the defaults of sb3-contrib.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "sb3": {
        "discount": 0.99,
        "target_divergence": 0.01,
        "conjugate_steps": 15,
        "value_epochs": 10,
        "normalise_observations": False,
        "normalise_rewards": False,
    }
}


@dataclass(frozen=True, kw_only=True)
class TRPOSettings:
    """Hyper-parameters of TRPO."""

    hidden: tuple[int, ...] = setting((64, 64), "hidden layers' widths, policy and value net each", CONTRIB, minimum=1)
    activation: str = setting("tanh", "hidden activation of both networks", CONTRIB, choices=ACTIVATIONS)
    rollout_steps: int = setting(2048, "environment steps per iteration", ZOO, minimum=2)
    discount: float = setting(
        0.99, "discount factor", ZOO, by_env={"Swimmer": 0.9999}, minimum=0, maximum=1, symbol="gamma"
    )
    gae_lambda: float = setting(0.95, "lambda of the generalised advantages", ZOO, minimum=0, maximum=1)
    target_divergence: float = setting(
        0.01, "radius of the trust region, mean KL divergence", ZOO, by_env={"HalfCheetah": 0.04}, minimum=1e-12
    )
    conjugate_steps: int = setting(25, "steps of the conjugate gradient", ZOO, minimum=1)
    damping: float = setting(0.1, "added to the Fisher matrix's diagonal", ZOO, minimum=0)
    line_search_steps: int = setting(10, "step lengths that the line search tries", CONTRIB, minimum=1)
    line_search_shrinking: float = setting(0.8, "a step length, of the one before", CONTRIB, minimum=1e-12, maximum=1)
    subsampling: int = setting(1, "the policy's step takes every so many-th transition", ZOO, minimum=1)
    value_epochs: int = setting(20, "passes of the value network over an iteration's steps", ZOO, minimum=1)
    batch_size: int = setting(128, "transitions per update of the value network", ZOO, minimum=2)
    learning_rate: float = setting(1e-3, "Adam's step size, of the value network", ZOO, minimum=0)
    learning_rate_schedule: str = setting(
        "constant", "linear: to 0 at the end of the budget", ZOO, choices=("linear", "constant")
    )
    log_std_init: float = setting(0.0, "log of the actions' standard deviation at the start", CONTRIB)
    normalise_advantages: bool = setting(True, "advantages of an iteration get mean 0 and deviation 1", CONTRIB)
    normalise_observations: bool = setting(True, "by running mean and deviation, clipped to +- 10", ZOO)
    normalise_rewards: bool = setting(True, "by the running deviation of discounted returns, clipped to +- 10", ZOO)


@dataclass(frozen=True, kw_only=True)
class TRPOIteration:
    """Settings of the task of one iteration; but for the first, those of `PPOIteration`."""

    trpo: TRPOSettings
    problem: Problem
    steps: int
    last: bool
    progress: float
    updates: int  # gradient steps of the value network so far
    seed: int


OnPolicySettings: TypeAlias = PPOSettings | TRPOSettings
OnPolicyIteration: TypeAlias = PPOIteration | TRPOIteration
