"""Hyper-parameters of actors and critics that separate tasks update: those of CEM-RL, P-CEM-RL and AES-RL."""

from __future__ import annotations

from dataclasses import dataclass

from erlbench.algorithms.training.learners import find_learner
from erlbench.policy import ACTIVATIONS
from erlbench.settings import setting

CEM_RL = "CEM-RL, public code"
TD3_PAPER = "TD3"
NOISE = (
    "TD3; CEM-RL's and AES-RL's public codes add it to the action as it is, without scaling it by the action's bound"
)
# of environments whose actions are not in [-1, 1]
ACTION_BOUNDS = {"Humanoid": 0.4, "HumanoidStandup": 0.4, "Pusher": 2.0, "Pendulum": 2.0, "InvertedPendulum": 3.0}


def unscaled(value: float) -> dict[str, float]:
    """By environment: a number in units of its action, as one in units of the action normalised to [-1, 1]."""
    return {env: round(value / bound, 4) for env, bound in ACTION_BOUNDS.items()}


@dataclass(frozen=True, kw_only=True)
class ActorCriticSettings:
    """Hyper-parameters of the networks and of the learner's updates."""

    learner: str = setting(
        "td3", "what trains: td3, ddpg (one critic), sac or crossq (stochastic individuals), or MODULE:NAME", CEM_RL
    )
    hidden: tuple[int, ...] = setting((400, 300), "widths of the hidden layers of actor and critics", CEM_RL, minimum=1)
    activation: str = setting("tanh", "hidden activation of the actor", CEM_RL, choices=ACTIVATIONS)
    critic_activation: str = setting("leaky-relu", "hidden activation of the critics", CEM_RL, choices=ACTIVATIONS)
    actor_learning_rate: float = setting(1e-3, "Adam's step size for actors", CEM_RL, minimum=0)
    critic_learning_rate: float = setting(1e-3, "Adam's step size for the critics", CEM_RL, minimum=0)
    batch_size: int = setting(100, "transitions per gradient step", CEM_RL, minimum=1)
    replay_size: int = setting(1_000_000, "latest transitions to learn from", CEM_RL, minimum=1)
    discount: float = setting(0.99, "discount factor", TD3_PAPER, minimum=0, maximum=1, symbol="gamma")
    tau: float = setting(0.005, "step of the target critics towards the critics", TD3_PAPER, minimum=0, maximum=1)
    target_noise: float = setting(
        0.2, "standard deviation of the noise on target actions in [-1, 1]", NOISE, by_env=unscaled(0.2), minimum=0
    )
    noise_clip: float = setting(0.5, "bound of that noise", NOISE, by_env=unscaled(0.5), minimum=0)
    temperature: float = setting(0.2, "fixed temperature of sac and crossq", "ESAC's SAC", minimum=0, symbol="alpha")
    stochastic: bool = setting(
        False, "individuals of sac and crossq draw their actions, instead of acting by the mode", "ours"
    )

    def check_learner(self) -> None:
        """Raise a `ValueError` where the networks do not fit the learner."""
        stochastic = find_learner(self.learner).stochastic
        if self.stochastic and not stochastic:
            raise ValueError(f"stochastic individuals need learner=sac or crossq, not {self.learner}")
        if stochastic and not self.hidden:
            raise ValueError(f"learner={self.learner} needs at least one hidden layer")
