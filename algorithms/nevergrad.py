"""Any optimiser of nevergrad's registry on policy parameters, by ask and tell.

Rapin and Teytaud, "Nevergrad - A gradient-free optimization platform", 2018
(github.com/facebookresearch/nevergrad). The presets `goodai` and `goodai-es` are the CMA and the ES of GoodAI's
comparison of evolution strategies (2020).
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from erlbench.algorithms.base import Algorithm, Context, Needs
from erlbench.algorithms.generation import Generation
from erlbench.algorithms.individuals import FitnessSettings, start_states
from erlbench.algorithms.policy_settings import OURS, PolicySettings, initial_mean
from erlbench.algorithms.search.nevergrad_search import WORST, Search, check_optimizer, parallel
from erlbench.algorithms.search.pycma import check_memory, default_population, needs_of
from erlbench.envs.functions import share_of_domain
from erlbench.envs.registry import Problem
from erlbench.errors import CellError, UsageError
from erlbench.settings import setting
from erlbench.work.seeding import Purpose, generator
from erlbench.work.tasks import ArrayRef, Result, Task

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
    "paper": {},
    "goodai": {**_GOODAI, "optimizer": "CMA2020"},
    "goodai-es": {**_GOODAI, "optimizer": "ES"},
}


@dataclass(frozen=True, kw_only=True)
class NevergradSettings(PolicySettings, FitnessSettings):
    """Hyper-parameters of a search by nevergrad."""

    optimizer: str = setting(
        "CMA", "name in nevergrad's registry: CMA, ES, DE, PSO, NGOpt, ...; or CMA2020, its CMA of 2020", GOODAI
    )
    population: int | None = setting(
        None, "evaluations that make a generation; none: 4 + floor(3 ln N)", NEVERGRAD, minimum=1
    )
    batch: int | None = setting(
        None,
        "candidates asked for at once; none: a generation, or 1 if the optimiser handles only one",
        OURS,
        minimum=1,
    )
    num_workers: int | None = setting(
        None, "number of parallel candidates that nevergrad is told to expect; none: batch", NEVERGRAD, minimum=1
    )
    budget: int | None = setting(
        None, "evaluations that nevergrad plans for; some optimizers need it", NEVERGRAD, minimum=1
    )
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
        if importlib.util.find_spec("nevergrad"):  # else a message says so before anything starts
            check_optimizer(self.optimizer)


@dataclass(kw_only=True)
class NevergradState(Generation):
    """Everything needed to go on, with the told losses in place of nevergrad's object.

    `fitness` is that of the candidates under way, by their place.
    """

    reported: np.ndarray  # (P,) float64
    reported_ref: ArrayRef
    losses: np.ndarray  # (capacity,) float64, in the order of the candidates
    told: int = 0  # how many of them there are
    candidates: list[ArrayRef] = field(default_factory=list)  # under way
    generation: list[float] = field(default_factory=list)  # fitness of those told in this generation


class Nevergrad(Algorithm[NevergradSettings, NevergradState]):
    """Any optimizer of nevergrad's registry on policy parameters, such as CMA, ES, DE, PSO or NGOpt."""

    settings_type: ClassVar[type] = NevergradSettings

    def __init__(self, settings: NevergradSettings, context: Context) -> None:
        super().__init__(settings, context)
        self._population = settings.population or default_population(self._policy.size)
        self._batch = settings.batch or (self._population if parallel(settings.optimizer) else 1)
        self._workers = settings.num_workers or self._batch
        self._search = self._new_search()
        centre = self._centre()
        self.state = NevergradState(
            reported=centre, reported_ref=self.share(centre.astype(np.float32)), losses=np.zeros(256)
        )

    @classmethod
    def depends_on_budget(cls, settings: NevergradSettings) -> str:
        return ""

    @classmethod
    def needs(cls, settings: NevergradSettings, problem: Problem) -> Needs:
        full = settings.optimizer in FULL_COVARIANCE
        return needs_of(settings, problem, cls.policy_for(settings, problem).size, full)

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

    def policy(self) -> ArrayRef:
        return self.state.reported_ref

    def _centre(self) -> np.ndarray:
        centre = initial_mean(self._policy, self.settings, self.key(Purpose.PARAMETERS))
        return np.array(centre, np.float64)

    def _new_search(self) -> Search:
        settings, random = self.settings, generator(*self.key(Purpose.NOISE))
        return Search(settings.optimizer, self._centre(), settings.sigma_init, settings.budget, self._workers, random)

    def _size(self, told: int) -> int:
        """How many candidates are asked for when `told` evaluations are told: a batch, within the generation."""
        return min(self._batch, self._population - told % self._population)

    def _ask(self) -> list[Task]:
        """The next batch when none is under way; a generation that has begun is completed."""
        state, settings = self.state, self.settings
        if state.candidates or (self.exhausted and not state.generation):
            return []
        state.candidates = [self.share(x.astype(np.float32)) for x in self._search.ask(self._size(state.told))]
        seeds = start_states(self, self.counters.generation)
        return self.rollouts(state.candidates, kind="es", episodes=settings.episodes, seeds=seeds)

    def _tell(self, task: Task, result: Result) -> None:
        """Take one candidate's fitness; the last one of a batch is the time to tell nevergrad."""
        state = self.state
        state.take(task.individual, result)
        if len(state.fitness) == len(state.candidates):
            self._tell_batch(state.in_order)

    def _tell_batch(self, fitness: list[float]) -> None:
        state = self.state
        losses = [-value if math.isfinite(value) else WORST for value in fitness]
        if state.told + len(losses) > len(state.losses):
            state.losses = np.concatenate((state.losses, np.zeros(len(state.losses) + len(losses))))
        state.losses[state.told : state.told + len(losses)] = losses
        state.candidates, state.fitness = [], {}
        state.generation += fitness
        state.told, reported = self._learn(state.told, losses)
        if reported is not None:
            self._next_generation(reported)

    def _learn(self, told: int, losses: list[float]) -> tuple[int, np.ndarray | None]:
        """Tell nevergrad a batch after `told` evaluations; how many it then is, and a finished generation's policy."""
        self._search.tell(losses)
        told += len(losses)
        if told % self._population:
            return told, None
        return told, self._search.mean() if self.settings.report == "mean" else self._search.recommendation()

    def _next_generation(self, reported: np.ndarray) -> None:
        state = self.state
        state.reported, state.reported_ref = reported, self.share(reported.astype(np.float32))
        state.end(state.generation)
        state.generation = []
        self.counters.generation += 1

    def metrics(self) -> dict[str, float]:
        state, step_size = self.state, self._search.step_size
        return {
            **state.extremes(),
            "sigma": math.nan if step_size is None else step_size,
            "evaluations": state.told,
            "steps": state.previous_steps,
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go on from a snapshot: nevergrad is asked and told everything again."""
        super().restore(snapshot)
        state = self.state
        state.losses = state.losses.copy()  # what comes from a file may be read-only
        self._search = self._new_search()
        told, reported = 0, self._centre()
        while told < state.told:
            size = self._size(told)
            self._search.ask(size)
            told, new = self._learn(told, state.losses[told : told + size].tolist())
            reported = reported if new is None else new
        if not np.array_equal(reported, state.reported):
            raise CellError(
                f"the state of nevergrad's {self.settings.optimizer} cannot be computed again from the checkpoint: it "
                "draws from a global generator of random numbers, or nevergrad, numpy or the processor is another "
                "than before; start anew by --force"
            )
        if state.candidates:
            self._search.ask(len(state.candidates))
