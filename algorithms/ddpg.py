"""DDPG: deep deterministic policy gradients, the gradient-based parent of ERL and the grandparent of TD3.

Lillicrap, Hunt, Pritzel, Heess, Erez, Tassa, Silver and Wierstra, "Continuous control with deep reinforcement
learning", ICLR 2016 (arXiv:1509.02971), algorithm 1 with the constants of its section 7: one update of the critic, of
the actor and of both targets after every environment step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from erlbench.algorithms.base import Algorithm, Context
from erlbench.algorithms.training.critic import critic_spec, initial_learner
from erlbench.algorithms.training.episode_tasks import EpisodeLearner, Learning, episode_functions
from erlbench.algorithms.training.update_settings import DDPGUpdate
from erlbench.policy import ACTIVATIONS
from erlbench.settings import setting
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import Task

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

    hidden: tuple[int, ...] = setting((400, 300), "widths of the actor's hidden layers", PAPER, minimum=1)
    activation: str = setting("relu", "hidden activation of the actor", PAPER, choices=ACTIVATIONS)
    critic_hidden: tuple[int, ...] = setting((400, 300), "widths of the critic's hidden layers", PAPER, minimum=1)
    critic_activation: str = setting("relu", "hidden activation of the critic", PAPER, choices=ACTIVATIONS)
    final_init: float | None = setting(
        3e-3, "bound of the last layers' uniform initial weights; none: as the other layers'", PAPER, minimum=0
    )
    actor_learning_rate: float = setting(1e-4, "Adam's step size for the actor", PAPER, minimum=0)
    critic_learning_rate: float = setting(1e-3, "Adam's step size for the critic", PAPER, minimum=0)
    critic_weight_decay: float = setting(1e-2, "L2 penalty of the critic, added to its gradient", PAPER, minimum=0)
    critic_gradient_clip: float | None = setting(
        None, "bound of the norm of the critic's gradient; none: no bound", PAPER, minimum=0
    )
    batch_size: int = setting(64, "transitions per update", PAPER, minimum=1)
    discount: float = setting(0.99, "discount factor", PAPER, minimum=0, maximum=1, symbol="gamma")
    tau: float = setting(0.001, "how far the targets move at a time", PAPER, minimum=0, maximum=1)
    start_timesteps: int = setting(
        1000, "random actions and no updates before this step", "ours; the paper does not say", minimum=0
    )
    noise: str = setting(
        OU, "exploration: ou (correlated, Ornstein-Uhlenbeck) or gaussian", PAPER, choices=(OU, GAUSSIAN)
    )
    exploration_noise: float = setting(0.2, "sigma of the exploration noise, per step", PAPER, minimum=0)
    ou_theta: float = setting(
        0.15, "how much of the noise `ou` decays per step", PAPER, minimum=0, maximum=1, symbol="theta"
    )
    replay_size: int = setting(1_000_000, "the latest transitions that are learnt from", PAPER, minimum=1)


@dataclass
class DDPGState(Learning):
    """Everything DDPG needs to go on."""


class DDPG(EpisodeLearner[DDPGSettings, DDPGState]):
    """Deep deterministic policy gradients: one actor, one critic, correlated noise, one update per step."""

    settings_type: ClassVar[type] = DDPGSettings
    task_functions: ClassVar[Mapping[str, type]] = {**Algorithm.task_functions, **episode_functions("train_ddpg")}

    def __init__(self, settings: DDPGSettings, context: Context) -> None:
        super().__init__(settings, context)
        self._critic = critic_spec(self._policy, settings.critic_hidden, settings.critic_activation, 1)
        learner = initial_learner(self._policy, self._critic, self.key(Purpose.PARAMETERS), settings.final_init)
        self.state = DDPGState(self.share(learner), self.share(learner[: self._policy.size]))

    def _ask(self) -> list[Task]:
        """One episode with its updates; the last one ends with the budget."""
        settings = self.settings
        decay = settings.ou_theta if settings.noise == OU else 1.0  # white noise forgets all at once
        update = DDPGUpdate.of(settings, self._policy, self._critic)
        noise = settings.exploration_noise
        return self.next_episode("train_ddpg", update, exploration_noise=noise, noise_decay=decay)
