"""CEM: the cross-entropy method with a diagonal Gaussian over policy parameters.

Pourchot and Sigaud, "CEM-RL", ICLR 2019, section 2.2, with the constants of its public code
(github.com/apourchot/CEM-RL). The search is `search/cem.py`, which CEM-RL and P-CEM-RL share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from erlbench.algorithms.hybrid import SearchAlone
from erlbench.algorithms.individuals import FitnessSettings, NanSettings
from erlbench.algorithms.policy_settings import PolicySettings
from erlbench.algorithms.search.cem import CEM_RL, CEMSearch, CEMSearchSettings
from erlbench.algorithms.search.search import Search
from erlbench.envs.functions import share_of_domain
from erlbench.policy import ACTIVATIONS
from erlbench.settings import at_least_one, at_least_zero, setting

PRESETS: Mapping[str, Mapping[str, Any]] = {"no-extra-division": {"extra_ke_division": False}}


@dataclass(frozen=True)
class CEMSettings(PolicySettings, CEMSearchSettings, FitnessSettings, NanSettings):
    """Hyper-parameters of CEM."""

    hidden: tuple[int, ...] = at_least_one((400, 300), "widths of the actor's hidden layers", CEM_RL)
    activation: str = setting("tanh", "hidden activation of the actor", CEM_RL, choices=ACTIVATIONS)
    initial_variance: float = at_least_zero(
        1e-3,
        "initial variance of each parameter, and initial epsilon; on functions (a quarter of the domain's width)^2",
        "CEM-RL, public code; on functions ours",
        by_env={name: float(f"{sigma**2:.4g}") for name, sigma in share_of_domain(0.5).items()},
    )


class CEM(SearchAlone[CEMSettings]):
    """Cross-entropy method: sample, rank, and refit mean and variance to the elites."""

    settings_type: ClassVar[type] = CEMSettings
    search_type: ClassVar[type[Search[Any, Any]]] = CEMSearch
