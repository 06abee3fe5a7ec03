"""TD3: twin delayed deep deterministic policy gradients, the gradient-based parent of CEM-RL and AES-RL.

Fujimoto, van Hoof and Meger, "Addressing Function Approximation Error in Actor-Critic Methods", ICML 2018, with the
constants and the schedule of the authors' code (github.com/sfujim/TD3): uniformly random actions at first, then one
critic update after every environment step, and every second time one of the actor and of all target networks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from erlbench.algorithms.training.episode_tasks import EpisodeLearner, Learning
from erlbench.policy import ACTIVATIONS
from erlbench.settings import at_least_one, at_least_zero, fraction, setting

CODE = "TD3, authors' code"

_FIRST: Mapping[str, Any] = {
    "hidden": (400, 300),
    "critic_hidden": (400, 300),
    "learning_rate": 1e-3,
    "batch_size": 100,
    "start_timesteps": 10_000,
}
# original: networks, learning rate and batch of the paper's first code (the paper has 1,000 random steps instead of
# 10,000 where episodes end early). cem-rl: the TD3 baseline of CEM-RL. Both keep one update per step.
# esac: the networks of the baseline in ESAC's table 1.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "original": _FIRST,
    "cem-rl": {**_FIRST, "activation": "tanh", "critic_activation": "leaky-relu"},
    "esac": {"hidden": (512, 512), "critic_hidden": (512, 512)},
}


@dataclass(frozen=True, kw_only=True)
class TD3Settings:
    """Hyper-parameters of TD3. Noise is in units of the action normalised to [-1, 1]."""

    hidden: tuple[int, ...] = at_least_one((256, 256), "widths of the actor's hidden layers", CODE)
    activation: str = setting("relu", "hidden activation of the actor", CODE, choices=ACTIVATIONS)
    critic_hidden: tuple[int, ...] = at_least_one((256, 256), "widths of the critics' hidden layers", CODE)
    critic_activation: str = setting("relu", "hidden activation of the critics", CODE, choices=ACTIVATIONS)
    learning_rate: float = at_least_zero(3e-4, "Adam's step size, actor and critics", CODE)
    batch_size: int = at_least_one(256, "transitions per update", CODE)
    discount: float = fraction(0.99, "discount factor", CODE, symbol="gamma")
    tau: float = fraction(0.005, "how far the targets move at a time", CODE)
    start_timesteps: int = at_least_zero(25_000, "random actions and no updates before this step", CODE)
    exploration_noise: float = at_least_zero(0.1, "standard deviation of the action's noise", CODE)
    target_noise: float = at_least_zero(0.2, "standard deviation of the target action's noise", CODE)
    noise_clip: float = at_least_zero(0.5, "the target action's noise is clipped to +- this", CODE)
    policy_delay: int = at_least_one(2, "critic updates per update of the actor and the targets", CODE, symbol="d")
    replay_size: int = at_least_one(1_000_000, "the latest transitions that are learnt from", CODE)


@dataclass
class TD3State(Learning):
    """Everything TD3 needs to go on."""


class TD3(EpisodeLearner[TD3Settings, TD3State]):
    """Twin delayed deep deterministic policy gradients: one actor, two critics, one update per step."""

    settings_type: ClassVar[type] = TD3Settings
    state_type: ClassVar[type] = TD3State
    learner_name: ClassVar[str] = "td3"
    actor_updates: ClassVar[float] = 0.5
