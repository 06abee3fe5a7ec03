"""PPO: proximal policy optimisation with a clipped objective, on stable-baselines3's networks and updates.

Schulman, Wolski, Dhariwal, Radford and Klimov, "Proximal Policy Optimization Algorithms", 2017 (arXiv 1707.06347),
with the constants of OpenAI baselines' ppo2 for MuJoCo. An iteration collects `rollout_steps` steps and makes some
epochs of minibatch updates on them; its task is in `erlbench.algorithms.gradients.ppo_iteration`, which imports torch.
What it shares with TRPO is in `erlbench.algorithms.parts.on_policy`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from erlbench.algorithms.base import Algorithm
from erlbench.algorithms.parts.on_policy import OnPolicy, OnPolicyState
from erlbench.algorithms.parts.on_policy_settings import PPOIteration, PPOSettings

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


@dataclass(kw_only=True)
class PPOState(OnPolicyState):
    """Everything PPO needs to go on."""


class PPO(OnPolicy[PPOSettings, PPOState]):
    """Proximal policy optimisation, by stable-baselines3: one environment, clipped objective."""

    settings_type: ClassVar[type] = PPOSettings
    state_type: ClassVar[type] = PPOState
    iteration: ClassVar[str] = "erlbench.algorithms.gradients.ppo_iteration:iteration"
    task_functions: ClassVar[Mapping[str, type]] = {**Algorithm.task_functions, iteration: PPOIteration}
    critic_updates: ClassVar[float] = 0.16
    actor_updates: ClassVar[float] = 0.16

    def iteration_settings(self, **common: Any) -> PPOIteration:
        return PPOIteration(ppo=self.settings, **common)
