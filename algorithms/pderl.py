"""PDERL: ERL whose children are distilled from their parents, and whose mutations keep behaviour.

Bodnar, Day and Lio, "Proximal Distilled Evolutionary Reinforcement Learning", AAAI 2020, with the constants of its
public code (github.com/crisbodnar/pderl). It is ERL with the search `search/pderl.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from erlbench.algorithms.erl import ERL, LearnerSettings
from erlbench.algorithms.hybrid import Parts
from erlbench.algorithms.search.pderl import ELITE, MODULE, PUBLIC, PDERLSearch, PDERLSearchSettings
from erlbench.algorithms.training.breeding import Distillation, ProximalMutation
from erlbench.settings import at_least_one, setting

PRESETS: Mapping[str, Mapping[str, Any]] = {"elite-fitness": {"pair_fitness": ELITE}}


@dataclass(frozen=True, kw_only=True)
class PDERLSettings(PDERLSearchSettings, LearnerSettings):
    """Hyper-parameters of PDERL; the learner's are ERL's."""

    episodes: int = at_least_one(
        1,
        "episodes whose mean return is an individual's fitness",
        PUBLIC,
        by_env={"Hopper": 3, "Reacher": 3, "Walker2d": 5},
    )
    elite_fraction: float = setting(
        0.1, "share of the population that is cloned; at least one individual", PUBLIC,
        by_env={"Reacher": 0.2, "Walker2d": 0.2, "Ant": 0.2, "Hopper": 0.2}, minimum=0, maximum=0.5,
    )  # fmt: skip
    sync_period: int = at_least_one(
        10,
        "generations between two copies of the learner's actor",
        PUBLIC,
        by_env={"Hopper": 1, "Ant": 1, "Walker2d": 1},
    )


class PDERL(ERL):
    """Proximal distilled ERL: children by distillation, mutations scaled by sensitivity."""

    settings_type: ClassVar[type] = PDERLSettings
    task_functions: ClassVar[Mapping[str, type]] = {
        **ERL.task_functions,
        f"{MODULE}:distil": Distillation,
        f"{MODULE}:mutate": ProximalMutation,
    }

    @classmethod
    def parts(cls, settings: Any, env: str) -> Parts:
        return replace(super().parts(settings, env), search=PDERLSearch)
