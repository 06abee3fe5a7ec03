"""SAC: soft actor-critic, the gradient-based parent of ESAC.

Haarnoja, Zhou, Hartikainen, Tucker, Ha, Tan, Kumar, Zhu, Gupta, Abbeel and Levine, "Soft Actor-Critic Algorithms and
Applications", arXiv:1812.05905, 2018 (v2), with a learnt temperature (section 5); and its first form, Haarnoja, Zhou,
Abbeel and Levine, "Soft Actor-Critic: Off-Policy Maximum Entropy Deep Reinforcement Learning with a Stochastic Actor",
ICML 2018 (v1), with a state-value network. Uniformly random actions at first, then one update after every step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from erlbench.algorithms.base import Context
from erlbench.algorithms.training.episode_tasks import EpisodeLearner, Learning
from erlbench.policy import ACTIVATIONS
from erlbench.settings import at_least_one, at_least_zero, fraction, setting
from erlbench.work.tasks import Result

V2 = "SAC v2"
BOTH = "SAC v1 and v2"
FIRST_CODE = "SAC v1, authors' code for HalfCheetah and Ant; 1,000 elsewhere"

# v1: the first paper with its reward scale of all tasks but Humanoid (20). fixed: v2 with ESAC's fixed temperature.
# esac: the baseline of ESAC's table 1, as its section 6.1 has it.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "v1": {"critic": "v1", "temperature": 1.0, "reward_scale": 5.0},
    "fixed": {"temperature": 0.2},
    "esac": {"temperature": 0.2, "hidden": (512, 512), "critic_hidden": (512, 512)},
}


@dataclass(frozen=True, kw_only=True)
class SACSettings:
    """Hyper-parameters of SAC. Actions and their entropy are those normalised to [-1, 1]."""

    hidden: tuple[int, ...] = at_least_one((256, 256), "widths of the actor's hidden layers", BOTH)
    activation: str = setting("relu", "hidden activation of the actor", BOTH, choices=ACTIVATIONS)
    critic_hidden: tuple[int, ...] = at_least_one(
        (256, 256), "widths of the hidden layers of critics and value network", BOTH
    )
    critic_activation: str = setting("relu", "hidden activation of critics and value net", BOTH, choices=ACTIVATIONS)
    critic: str = setting(
        "v2", "next state's value: v2 by target critics, v1 by a value network with a target", V2, choices=("v2", "v1")
    )
    temperature: float | None = at_least_zero(
        None, "fixed temperature; none: it is learnt, from 1 on", V2, symbol="alpha"
    )
    target_entropy: float | None = setting(
        None, "entropy that a learnt temperature aims at; none: -1 per action dimension", V2
    )
    reward_scale: float = at_least_zero(1.0, "factor of the rewards in updates", "SAC v2; v1 has 5, Humanoid 20")
    learning_rate: float = at_least_zero(3e-4, "Adam's step size, all networks and temperature", BOTH)
    batch_size: int = at_least_one(256, "transitions per update", BOTH)
    discount: float = fraction(0.99, "discount factor", BOTH, symbol="gamma")
    tau: float = fraction(0.005, "how far the targets move at a time", BOTH)
    start_timesteps: int = at_least_zero(10_000, "random actions and no updates before this step", FIRST_CODE)
    replay_size: int = at_least_one(1_000_000, "the latest transitions that are learnt from", BOTH)

    def __post_init__(self) -> None:
        if not self.hidden:
            raise ValueError("hidden needs at least one layer")


@dataclass
class SACState(Learning):
    """Everything SAC needs to go on."""

    entropy: float = 0.0  # of the policy, mean over the last episode's updates
    temperature: float = 1.0  # after the last episode

    def take(self, result: Result) -> None:
        """Take in a finished episode."""
        super().take(result)
        self.entropy, self.temperature = result.values["entropy"], result.values["temperature"]


Soft = TypeVar("Soft")


class SoftEpisodeLearner(EpisodeLearner[Soft, SACState]):
    """What SAC and CrossQ share: they report entropy and temperature, which may be fixed."""

    def __init__(self, settings: Soft, context: Context) -> None:
        super().__init__(settings, context)
        fixed = vars(settings)["temperature"]
        self.state.temperature = 1.0 if fixed is None else fixed

    def metrics(self) -> dict[str, float]:
        return {**super().metrics(), "entropy": self.state.entropy, "temperature": self.state.temperature}


class SAC(SoftEpisodeLearner[SACSettings]):
    """Soft actor-critic: a stochastic actor with an entropy bonus, two critics, one update per step."""

    settings_type: ClassVar[type] = SACSettings
    state_type: ClassVar[type] = SACState
    learner_name: ClassVar[str] = "sac"

    def networks(self) -> dict[str, Any]:
        return select_value_network(self.settings)


def select_value_network(settings: SACSettings) -> dict[str, Any]:
    """The argument `value_network` of `networks`: whether the critics have a state-value network."""
    return {"value_network": settings.critic == "v1"}
