"""TRPO: trust region policy optimisation, on sb3-contrib's updates and stable-baselines3's networks.

Schulman, Levine, Moritz, Jordan and Abbeel, "Trust Region Policy Optimization", ICML 2015 (arXiv 1502.05477), with
generalised advantages (arXiv 1506.02438) and the settings of rl-baselines3-zoo for MuJoCo. An iteration collects
`rollout_steps` steps. It makes one natural-gradient step of the policy with a line search inside the trust region, and
some epochs of minibatch updates of the value network; its task is in
`erlbench.algorithms.gradients.trpo_iteration`, which imports torch. What it shares with PPO is in
`erlbench.algorithms.parts.on_policy`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from erlbench.algorithms.base import Algorithm
from erlbench.algorithms.parts.on_policy import OnPolicy, OnPolicyState
from erlbench.algorithms.parts.on_policy_settings import TRPOIteration, TRPOSettings

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


@dataclass(kw_only=True)
class TRPOState(OnPolicyState):
    """Everything TRPO needs to go on."""


class TRPO(OnPolicy[TRPOSettings, TRPOState]):
    """Trust region policy optimisation, by sb3-contrib: one environment, natural gradient, line search."""

    settings_type: ClassVar[type] = TRPOSettings
    state_type: ClassVar[type] = TRPOState
    iteration: ClassVar[str] = "erlbench.algorithms.gradients.trpo_iteration:iteration"
    task_functions: ClassVar[Mapping[str, type]] = {**Algorithm.task_functions, iteration: TRPOIteration}
    critic_updates: ClassVar[float] = 0.16
    actor_updates: ClassVar[float] = 0.0005

    def iteration_settings(self, **common: Any) -> TRPOIteration:
        return TRPOIteration(trpo=self.settings, **common)
