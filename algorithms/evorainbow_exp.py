"""EvoRainbow-Exp: CEM over whole actors and one TD3 learner that joins it and moves softly to its best.

Li et al., "EvoRainbow: Combining Improvements in Evolutionary Reinforcement Learning for Policy Search", ICML 2024,
its variant without a shared representation, with the constants of github.com/yeshenpy/EvoRainbow. It is the search
`search/cem.py`, the learner `td3`, the coupling `side` (`coupling/side.py`) and the schedule `chain`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from erlbench.algorithms.cem_rl import CEMRLSettings
from erlbench.algorithms.coupling.side import SideSettings
from erlbench.algorithms.hybrid import COUPLINGS, Hybrid
from erlbench.settings import at_least_one, at_least_zero, fraction, setting

CODE = "EvoRainbow, public code"
# The defaults have epsilon, soft update, discount and period as the public code tunes them by task.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "one-setting": {"epsilon_start": 1e-3, "soft_update": 0.1, "discount": 0.99, "sync_period": 1}
}


@dataclass(frozen=True, kw_only=True)
class EvoRainbowExpSettings(SideSettings, CEMRLSettings):
    """Hyper-parameters of EvoRainbow-Exp."""

    coupling: str = setting("side", "who is trained: see docs/hybrids.md", "EvoRainbow-Exp", choices=tuple(COUPLINGS))
    population: int = setting(5, "individuals per generation", CODE, minimum=2)
    elites: int = at_least_one(2, "best individuals that make the next distribution", CODE)
    antithetic: bool = setting(False, "the second half mirrors the first (even populations)", CODE)
    epsilon_start: float | None = at_least_zero(
        1e-3, "initial epsilon; none: as initial_variance", CODE, by_env={"Humanoid": 1e-1}, symbol="damp"
    )
    soft_update: float = fraction(
        0.1,
        "how far the learner's actor moves to the best individual of a generation",
        CODE,
        by_env={"Humanoid": 0.0},
        symbol="EA_tau",
    )
    discount: float = fraction(0.99, "discount factor", CODE, by_env={"Swimmer": 0.999}, symbol="gamma")
    batch_size: int = at_least_one(128, "transitions per gradient step", CODE)


class EvoRainbowExp(Hybrid[EvoRainbowExpSettings]):
    """EvoRainbow-Exp: CEM and one TD3 learner that is injected, and moves softly to the best individual."""

    settings_type: ClassVar[type] = EvoRainbowExpSettings
    actor_updates: ClassVar[float] = 0.5
