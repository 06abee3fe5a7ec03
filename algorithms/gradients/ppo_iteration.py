"""The task function of PPO: one iteration, with stable-baselines3's `PPO.train`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from stable_baselines3 import PPO

from erlbench.algorithms.gradients.on_policy import OnPolicyLearner, iterate
from erlbench.algorithms.parts.on_policy_settings import PPOIteration, PPOSettings
from erlbench.work.seeding import Key
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace


def iteration(settings: PPOIteration, inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: see `iterate`."""
    return iterate(settings.ppo, settings, inputs, key, workspace, PPOLearner)


class PPOLearner(OnPolicyLearner[PPOSettings]):
    """Epochs of minibatches that move both networks."""

    columns: ClassVar[Mapping[str, str]] = {
        "policy_loss": "train/policy_gradient_loss",
        "value_loss": "train/value_loss",
        "divergence": "train/approx_kl",
        "clip_fraction": "train/clip_fraction",
        "explained_variance": "train/explained_variance",
        "std": "train/std",
    }
    losses: ClassVar[tuple[str, ...]] = ("policy_loss", "value_loss")

    @staticmethod
    def model(learning: PPOSettings, **common: Any) -> PPO:
        return PPO(
            "MlpPolicy",
            None,  # type: ignore[arg-type]  # no environment: steps are not its business
            n_epochs=learning.epochs,
            clip_range=learning.clip_range,
            clip_range_vf=learning.value_clip_range,
            ent_coef=learning.entropy_coefficient,
            vf_coef=learning.value_coefficient,
            max_grad_norm=learning.max_gradient_norm,
            **common,
        )

    def updates(self, random: np.random.Generator) -> None:
        self._model.train()
