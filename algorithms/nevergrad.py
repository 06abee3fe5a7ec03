"""Any optimiser of nevergrad's registry on policy parameters, by ask and tell.

Rapin and Teytaud, "Nevergrad - A gradient-free optimization platform", 2018
(github.com/facebookresearch/nevergrad). The presets `goodai` and `goodai-es` are the CMA and the ES of GoodAI's
comparison of evolution strategies (2020).
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from erlbench.algorithms.base import Context, Needs
from erlbench.algorithms.individuals import FitnessSettings
from erlbench.algorithms.policy_settings import OURS, PolicySettings, initial_mean
from erlbench.algorithms.replayed import Replayed
from erlbench.algorithms.search.nevergrad_search import NevergradSearch, check_optimizer, parallel
from erlbench.algorithms.search.pycma import check_memory, default_population, estimate_needs
from erlbench.envs.functions import share_of_domain
from erlbench.envs.registry import Problem
from erlbench.errors import UsageError
from erlbench.settings import at_least_one, setting
from erlbench.work.seeding import Purpose, generator

GOODAI, NEVERGRAD = "GoodAI comparison", "nevergrad"
FULL_COVARIANCE = ("CMA", "CMA2020", "OldCMA")  # of nevergrad's other optimisers the suite does not know it
_GOODAI: Mapping[str, Any] = {
    "population": 20,
    "batch": 8,
    "num_workers": 1,
    "budget": 6000,
    "sigma_init": 1.0,
    "initialisation": "zero",
    "report": "recommendation",
    "episodes": 5,
    "start_states": "fixed",
    "hidden": (),
    "squashing": "linear",
}
# goodai: as its LunarLander experiment, confounds included; the page in docs/algorithms names them.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "goodai": {**_GOODAI, "optimizer": "CMA2020"},
    "goodai-es": {**_GOODAI, "optimizer": "ES"},
}


@dataclass(frozen=True, kw_only=True)
class NevergradSettings(PolicySettings, FitnessSettings):
    """Hyper-parameters of a search by nevergrad."""

    optimizer: str = setting(
        "CMA", "name in nevergrad's registry: CMA, ES, DE, PSO, NGOpt, ...; or CMA2020, its CMA of 2020", GOODAI
    )
    population: int | None = at_least_one(
        None, "evaluations that make a generation; none: 4 + floor(3 ln N)", NEVERGRAD
    )
    batch: int | None = at_least_one(
        None, "candidates asked for at once; none: a generation, or 1 if the optimiser handles only one", OURS
    )
    num_workers: int | None = at_least_one(
        None, "number of parallel candidates that nevergrad is told to expect; none: batch", NEVERGRAD
    )
    budget: int | None = at_least_one(None, "evaluations that nevergrad plans for; some optimizers need it", NEVERGRAD)
    sigma_init: float = setting(
        0.1,
        "nevergrad's unit: standard deviation of the first steps; on functions a quarter of the domain's width",
        OURS,
        by_env=share_of_domain(0.5),
        minimum=1e-12,
    )
    report: str = setting(
        "mean",
        "policy that is evaluated: mean of the search distribution where there is one, or recommendation",
        OURS,
        choices=("mean", "recommendation"),
    )

    def __post_init__(self) -> None:
        if importlib.util.find_spec("nevergrad"):  # else a message reports it before anything starts
            check_optimizer(self.optimizer)


class Nevergrad(Replayed[NevergradSettings, NevergradSearch]):
    """Any optimizer of nevergrad's registry on policy parameters, such as CMA, ES, DE, PSO or NGOpt."""

    settings_type: ClassVar[type] = NevergradSettings
    draws: ClassVar[str] = NEVERGRAD

    def __init__(self, settings: NevergradSettings, context: Context) -> None:
        size = self.policy_for(settings, context.problem).size
        self._population = settings.population or default_population(size)
        self._batch = settings.batch or (self._population if parallel(settings.optimizer) else 1)
        super().__init__(settings, context)

    @classmethod
    def needs(cls, settings: NevergradSettings, problem: Problem) -> Needs:
        size, full = cls.policy_for(settings, problem).size, settings.optimizer in FULL_COVARIANCE
        return estimate_needs(problem, settings.population, settings.episodes, size, full)

    @classmethod
    def check(cls, settings: NevergradSettings, problem: Problem) -> None:
        super().check(settings, problem)
        if settings.optimizer in FULL_COVARIANCE:
            check_memory(cls.policy_for(settings, problem).size, "--set optimizer=DiagonalCMA")
        if not parallel(settings.optimizer) and max(settings.batch or 1, settings.num_workers or 1) > 1:
            raise UsageError(
                f"nevergrad's optimizer {settings.optimizer} evaluates one candidate after the other; "
                "leave batch and num_workers at none"
            )

    def _new_search(self) -> NevergradSearch:
        settings, random = self.settings, generator(*self.key(Purpose.NOISE))
        centre = initial_mean(self.policy_spec, settings, self.key(Purpose.PARAMETERS))
        workers = settings.num_workers or self._batch
        arguments = settings.budget, workers, random, settings.report == "mean"
        return NevergradSearch(settings.optimizer, centre, settings.sigma_init, *arguments)

    def _size(self, evaluations: int) -> int:
        """A batch, within the generation."""
        return min(self._batch, self._population - evaluations % self._population)

    def _ends(self, evaluations: int) -> bool:
        return not evaluations % self._population

    def metrics(self) -> dict[str, float]:
        state, step_size = self.state, self._search.step_size
        return {
            **state.extremes(),
            "sigma": math.nan if step_size is None else step_size,
            "evaluations": state.told,
            "steps": state.previous_steps,
        }
