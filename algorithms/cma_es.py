"""CMA-ES: the covariance matrix adaptation evolution strategy on policy parameters, by pycma.

Hansen, "The CMA Evolution Strategy: A Tutorial", 2016 (arXiv 1604.00772); constants and updates as in
pycma, which is called, not copied. Separable for large policies: Ros and Hansen, PPSN 2008; VD-CMA: Akimoto, Auger
and Hansen, GECCO 2014; VkD-CMA: Akimoto and Hansen, GECCO 2016.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from erlbench.algorithms.base import Context, Needs
from erlbench.algorithms.individuals import FitnessSettings, NanSettings
from erlbench.algorithms.policy_settings import OURS, PolicySettings, initial_mean
from erlbench.algorithms.replayed import Replayed
from erlbench.algorithms.search.pycma import (
    COVARIANCES,
    FULL,
    Strategy,
    choose_covariance,
    default_population,
    estimate_needs,
)
from erlbench.envs.functions import share_of_domain
from erlbench.envs.registry import Problem
from erlbench.settings import setting
from erlbench.work.seeding import Purpose, generator

PYCMA = "pycma"
# goodai: CMA-ES as in its LunarLander experiment, without the fixed start states and the report of the best sample;
# with them it is `nevergrad@goodai`.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "linear": {"hidden": (), "sigma_init": 0.5},
    "goodai": {"hidden": (), "squashing": "linear", "initialisation": "zero", "sigma_init": 1.0, "episodes": 5},
}


@dataclass(frozen=True)
class CMAESSettings(PolicySettings, FitnessSettings, NanSettings):
    """Hyper-parameters of CMA-ES."""

    population: int | None = setting(None, "individuals per generation; none: 4 + floor(3 ln N)", PYCMA, minimum=4)
    sigma_init: float = setting(
        0.1,
        "initial standard deviation of each parameter; on functions a quarter of the domain's width",
        OURS,
        by_env=share_of_domain(0.5),
        minimum=1e-12,
    )
    covariance: str = setting(
        "auto", "covariance matrix; auto: full up to 2000 parameters, then diagonal", OURS, choices=COVARIANCES
    )


class CMAES(Replayed[CMAESSettings, Strategy]):
    """Covariance matrix adaptation evolution strategy; full, diagonal or restricted covariance."""

    settings_type: ClassVar[type] = CMAESSettings
    draws: ClassVar[str] = PYCMA

    def __init__(self, settings: CMAESSettings, context: Context) -> None:
        size = self.policy_for(settings, context.problem).size
        self._covariance = choose_covariance(settings.covariance, size)
        self._population = settings.population or default_population(size)
        super().__init__(settings, context)

    @classmethod
    def needs(cls, settings: CMAESSettings, problem: Problem) -> Needs:
        size = cls.policy_for(settings, problem).size
        full = choose_covariance(settings.covariance, size) == FULL
        return estimate_needs(problem, settings.population, settings.episodes, size, full)

    @classmethod
    def check(cls, settings: CMAESSettings, problem: Problem) -> None:
        super().check(settings, problem)
        choose_covariance(settings.covariance, cls.policy_for(settings, problem).size)

    def _new_search(self) -> Strategy:
        mean = initial_mean(self.policy_spec, self.settings, self.key(Purpose.PARAMETERS))
        return Strategy(
            mean,
            self.settings.sigma_init,
            self._population,
            self._covariance,
            lambda stream: generator(*self.key(Purpose.NOISE, stream)),
        )

    def metrics(self) -> dict[str, float]:
        stds = self._search.stds
        return {
            **self.state.extremes(),
            "sigma": self._search.sigma,
            "std_min": float(stds.min()),
            "std_max": float(stds.max()),
            "steps": self.state.previous_steps,
        }
