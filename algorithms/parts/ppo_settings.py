"""PPO's hyper-parameters, its presets, and the settings of a task. Known without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from erlbench.envs.registry import Problem
from erlbench.policy import ACTIVATIONS
from erlbench.settings import setting

PPO2, SB3 = "baselines ppo2, MuJoCo", "stable-baselines3"
OBSERVATION_CLIP = 10.0  # standard deviations; of normalised observations, in ppo2 and stable-baselines3
EPSILON = 1e-8  # added to variances

# sb3: the defaults of stable-baselines3. esac: the networks of the PPO in the ESAC paper.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "sb3": {
        "learning_rate_schedule": "constant",
        "value_clip_range": None,
        "normalise_observations": False,
        "normalise_rewards": False,
    },
    "esac": {"hidden": (512, 512), "activation": "relu"},
}


@dataclass(frozen=True, kw_only=True)
class PPOSettings:
    """Hyper-parameters of PPO."""

    hidden: tuple[int, ...] = setting((64, 64), "hidden layers' widths, policy and value net each", PPO2, minimum=1)
    activation: str = setting("tanh", "hidden activation of both networks", PPO2, choices=ACTIVATIONS)
    rollout_steps: int = setting(2048, "environment steps per iteration", PPO2, minimum=2)
    batch_size: int = setting(64, "transitions per update", PPO2, minimum=2)
    epochs: int = setting(10, "passes over an iteration's steps", PPO2, minimum=1)
    learning_rate: float = setting(3e-4, "Adam's step size at the start", PPO2, minimum=0)
    learning_rate_schedule: str = setting(
        "linear", "linear: to 0 at the end of the budget", PPO2, choices=("linear", "constant")
    )
    discount: float = setting(0.99, "discount factor", PPO2, minimum=0, maximum=1, symbol="gamma")
    gae_lambda: float = setting(0.95, "lambda of the generalised advantages", PPO2, minimum=0, maximum=1)
    clip_range: float = setting(0.2, "the probability ratio is clipped to 1 +- this", PPO2, minimum=0)
    value_clip_range: float | None = setting(
        0.2, "how far values may move from the old ones; none: anywhere", PPO2, minimum=1e-12
    )
    entropy_coefficient: float = setting(0.0, "weight of the entropy in the loss", PPO2)
    value_coefficient: float = setting(0.5, "weight of the values' error in the loss", PPO2, minimum=0)
    max_gradient_norm: float = setting(0.5, "longer gradients are shortened to this", PPO2, minimum=0)
    target_divergence: float | None = setting(
        None, "an iteration's updates end beyond 1.5 times this KL divergence; none: never", SB3, minimum=0
    )
    log_std_init: float = setting(0.0, "log of the actions' standard deviation at the start", PPO2)
    normalise_advantages: bool = setting(True, "advantages of a minibatch get mean 0 and deviation 1", PPO2)
    normalise_observations: bool = setting(True, "by running mean and deviation, clipped to +- 10", PPO2)
    normalise_rewards: bool = setting(True, "by the running deviation of discounted returns, clipped to +- 10", PPO2)


@dataclass(frozen=True, kw_only=True)
class PPOIteration:
    """Settings of the task of one iteration."""

    ppo: PPOSettings
    problem: Problem
    steps: int  # of the environment
    last: bool  # whether the budget ends here
    progress: float  # what is left of the budget afterwards, from 1 to 0
    updates: int  # gradient steps so far
    seed: int  # of the episode that goes on; -1 if there is none
