"""The task function of TRPO: one iteration, with sb3-contrib's `TRPO.train`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from sb3_contrib import TRPO

from erlbench.algorithms.gradients.on_policy import OnPolicyLearner, iterate
from erlbench.algorithms.parts.on_policy_settings import TRPOIteration, TRPOSettings
from erlbench.work.seeding import Key
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace


def iteration(settings: TRPOIteration, inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: see `iterate`."""
    return iterate(settings.trpo, settings, inputs, key, workspace, TRPOLearner)


class TRPOLearner(OnPolicyLearner[TRPOSettings]):
    """One natural-gradient step of the policy, and epochs of minibatches of the value network."""

    columns: ClassVar[Mapping[str, str]] = {
        "policy_objective": "train/policy_objective",
        "value_loss": "train/value_loss",
        "divergence": "train/kl_divergence_loss",
        "line_search_success": "train/is_line_search_success",
        "explained_variance": "train/explained_variance",
        "std": "train/std",
    }
    losses: ClassVar[tuple[str, ...]] = ("policy_objective", "value_loss")

    @staticmethod
    def model(learning: TRPOSettings, **common: Any) -> TRPO:
        return TRPO(
            "MlpPolicy",
            None,  # type: ignore[arg-type]  # no environment: steps are not its business
            cg_max_steps=learning.conjugate_steps,
            cg_damping=learning.damping,
            line_search_shrinking_factor=learning.line_search_shrinking,
            line_search_max_iter=learning.line_search_steps,
            n_critic_updates=learning.value_epochs,
            sub_sampling_factor=learning.subsampling,
            **common,
        )

    def updates(self, random: np.random.Generator) -> None:
        device, parameters = self._model.device, list(self._policy.parameters())
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(int(random.integers(2**31)))  # of the conjugate gradient's start, 1e-4 times normal
            self._model.train()
        self.state[0].copy_(torch.nn.utils.parameters_to_vector(parameters).detach())  # the line search replaced some
        torch.nn.utils.vector_to_parameters(self.state[0], parameters)

    def actor_steps(self, steps: int, metrics: dict[str, float]) -> int:
        """One, or none where no step length was accepted."""
        return int(metrics["line_search_success"])
