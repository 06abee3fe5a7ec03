"""CrossQ: SAC without target networks, with batch-renormalised critics.

Bhatt, Palenicek, Belousov, Argus, Amiranashvili, Brox and Peters, "CrossQ: Batch Normalization in Deep Reinforcement
Learning for Greater Sample Efficiency and Simplicity", ICLR 2024, with the constants of github.com/adityab/CrossQ. Its
losses are in `gradients/learners/crossq.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from erlbench.algorithms.sac import SACState, SoftEpisodeLearner
from erlbench.algorithms.training.critic import fold_norm, learner_parts
from erlbench.policy import ACTIVATIONS
from erlbench.settings import at_least_one, at_least_zero, fraction, setting

CODE = "CrossQ, public code"
NORMS = "renorm", "none"

# The critics of the paper and its code, for a GPU.
PRESETS: Mapping[str, Mapping[str, Any]] = {"paper": {"critic_hidden": (2048, 2048)}}


@dataclass(frozen=True, kw_only=True)
class CrossQSettings:
    """Hyper-parameters of CrossQ. Actions and their entropy are those normalised to [-1, 1]."""

    hidden: tuple[int, ...] = at_least_one((256, 256), "widths of the actor's hidden layers", CODE)
    activation: str = setting("relu", "hidden activation of the actor", CODE, choices=ACTIVATIONS)
    critic_hidden: tuple[int, ...] = at_least_one(
        (256, 256), "widths of the critics' hidden layers", "CrossQ's ablation; its default is 2048-2048"
    )
    critic_activation: str = setting("relu", "hidden activation of the critics", CODE, choices=ACTIVATIONS)
    actor_norm: str = setting("renorm", "normalisation of the actor: renorm (as the critics'), none", CODE,
                              choices=NORMS)  # fmt: skip
    temperature: float | None = at_least_zero(
        None, "fixed temperature; none: it is learnt, from 1 on", CODE, symbol="alpha"
    )
    target_entropy: float | None = setting(
        None, "entropy that a learnt temperature aims at; none: -1 per action dimension", CODE
    )
    learning_rate: float = at_least_zero(1e-3, "Adam's step size, all networks and temperature", CODE)
    batch_size: int = at_least_one(256, "transitions per update", CODE)
    discount: float = fraction(0.99, "discount factor", CODE, by_env={"Swimmer": 0.9999}, symbol="gamma")
    policy_delay: int = at_least_one(3, "critic updates per update of actor and temperature", CODE)
    start_timesteps: int = at_least_zero(5000, "random actions and no updates before this step", CODE)
    replay_size: int = at_least_one(1_000_000, "the latest transitions that are learnt from", CODE)

    def __post_init__(self) -> None:
        if not self.hidden:
            raise ValueError("hidden needs at least one layer")


@dataclass
class CrossQState(SACState):
    """Everything CrossQ needs to go on; the running statistics are in the learner."""


class CrossQ(SoftEpisodeLearner[CrossQSettings]):
    """CrossQ: SAC without target networks, with batch-renormalised critics, one update per step."""

    settings_type: ClassVar[type] = CrossQSettings
    state_type: ClassVar[type] = CrossQState
    learner_name: ClassVar[str] = "crossq"
    actor_updates: ClassVar[float] = 1 / 3

    @property
    def _norm(self) -> bool:
        return self.settings.actor_norm == "renorm"

    def networks(self) -> dict[str, Any]:
        return {"actor_norm": self._norm}

    def extract_actor(self, learner: np.ndarray) -> np.ndarray:
        size = learner_parts(self.policy_spec, self._critic, False, self._norm)["actor"][1]
        return fold_norm(self.policy_spec, learner[:size]) if self._norm else super().extract_actor(learner)
