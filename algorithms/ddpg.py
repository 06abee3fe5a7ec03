"""DDPG: deep deterministic policy gradients, the gradient-based parent of ERL and the grandparent of TD3.

Lillicrap, Hunt, Pritzel, Heess, Erez, Tassa, Silver and Wierstra, "Continuous control with deep reinforcement
learning", ICLR 2016 (arXiv:1509.02971), algorithm 1 with the constants of its section 7: one update of the critic, of
the actor and of both targets after every environment step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from erlbench.algorithms.training.episode_tasks import EpisodeLearner, Learning
from erlbench.policy import ACTIVATIONS
from erlbench.settings import at_least_one, at_least_zero, fraction, setting

PAPER = "DDPG, section 7"
OU, GAUSSIAN = "ou", "gaussian"

_TUNED: Mapping[str, Any] = {
    "actor_learning_rate": 1e-3,
    "critic_weight_decay": 0.0,
    "batch_size": 100,
    "tau": 0.005,
    "final_init": None,
    "noise": GAUSSIAN,
    "exploration_noise": 0.1,
    "start_timesteps": 10_000,
}
# tuned: "our DDPG" of the TD3 paper, which has TD3's first constants. cem-rl: the same with the networks of CEM-RL.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "tuned": _TUNED,
    "cem-rl": {**_TUNED, "activation": "tanh", "critic_activation": "leaky-relu"},
}


@dataclass(frozen=True, kw_only=True)
class DDPGSettings:
    """Hyper-parameters of DDPG. Noise is in units of the action normalised to [-1, 1]."""

    hidden: tuple[int, ...] = at_least_one((400, 300), "widths of the actor's hidden layers", PAPER)
    activation: str = setting("relu", "hidden activation of the actor", PAPER, choices=ACTIVATIONS)
    critic_hidden: tuple[int, ...] = at_least_one((400, 300), "widths of the critic's hidden layers", PAPER)
    critic_activation: str = setting("relu", "hidden activation of the critic", PAPER, choices=ACTIVATIONS)
    final_init: float | None = at_least_zero(
        3e-3, "bound of the last layers' uniform initial weights; none: as the other layers'", PAPER
    )
    actor_learning_rate: float = at_least_zero(1e-4, "Adam's step size for the actor", PAPER)
    critic_learning_rate: float = at_least_zero(1e-3, "Adam's step size for the critic", PAPER)
    critic_weight_decay: float = at_least_zero(1e-2, "L2 penalty of the critic, added to its gradient", PAPER)
    critic_gradient_clip: float | None = at_least_zero(
        None, "bound of the norm of the critic's gradient; none: no bound", PAPER
    )
    batch_size: int = at_least_one(64, "transitions per update", PAPER)
    discount: float = fraction(0.99, "discount factor", PAPER, symbol="gamma")
    tau: float = fraction(0.001, "how far the targets move at a time", PAPER)
    start_timesteps: int = at_least_zero(
        1000, "random actions and no updates before this step", "ours; the paper does not say"
    )
    noise: str = setting(
        OU, "exploration: ou (correlated, Ornstein-Uhlenbeck) or gaussian", PAPER, choices=(OU, GAUSSIAN)
    )
    exploration_noise: float = at_least_zero(0.2, "sigma of the exploration noise, per step", PAPER)
    ou_theta: float = fraction(0.15, "how much of the noise `ou` decays per step", PAPER, symbol="theta")
    replay_size: int = at_least_one(1_000_000, "the latest transitions that are learnt from", PAPER)


@dataclass
class DDPGState(Learning):
    """Everything DDPG needs to go on."""


class DDPG(EpisodeLearner[DDPGSettings, DDPGState]):
    """Deep deterministic policy gradients: one actor, one critic, correlated noise, one update per step."""

    settings_type: ClassVar[type] = DDPGSettings
    state_type: ClassVar[type] = DDPGState
    learner_name: ClassVar[str] = "ddpg"

    def networks(self) -> dict[str, Any]:
        return {"final_init": self.settings.final_init}

    def exploration(self) -> dict[str, float]:
        decay = self.settings.ou_theta if self.settings.noise == OU else 1.0  # white noise forgets all at once
        return {**super().exploration(), "noise_decay": decay}
