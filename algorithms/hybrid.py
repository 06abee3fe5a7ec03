"""A search, a learner, a coupling and a schedule as one algorithm; and a search alone.

CEM-RL, P-CEM-RL and AES-RL are three products of these four choices (`cem_rl.py`, `p_cem_rl.py`, `aes_rl.py`); each
choice is a setting of theirs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from erlbench.algorithms.base import Algorithm, Context, Needs
from erlbench.algorithms.coupling.coupling import Coupling, CouplingState
from erlbench.algorithms.coupling.half import Half
from erlbench.algorithms.coupling.side import SideCoupling
from erlbench.algorithms.coupling.winners import Winners
from erlbench.algorithms.individuals import FitnessSettings
from erlbench.algorithms.policy_settings import PolicySettings, initial_mean
from erlbench.algorithms.schedule.chain import Chain, ChainSettings
from erlbench.algorithms.schedule.phases import Phases
from erlbench.algorithms.schedule.schedule import Schedule, ScheduleState
from erlbench.algorithms.schedule.steady_state import SteadyState
from erlbench.algorithms.search.evolution_strategy import NOISE_SUM, NoiseSum
from erlbench.algorithms.search.search import INJECTIONS, SEARCHES, Search, SearchContext, SearchState, find_search
from erlbench.algorithms.training.critic import initial_critic
from erlbench.algorithms.training.gradient_tasks import CriticState, make_critic_spec
from erlbench.algorithms.training.learners import LEARNER_TASKS, ActorCriticSettings, Learner, find_learner
from erlbench.algorithms.training.update_settings import Update
from erlbench.envs.registry import Problem
from erlbench.errors import UsageError, nearest
from erlbench.policy import PolicySpec
from erlbench.settings import resolve, setting
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import ArrayRef, Result, Task

OURS = "this suite"
_NOT_OF_PARTS = {field.name for kind in (PolicySettings, FitnessSettings) for field in fields(kind)}
_NOT_OF_PARTS |= {"normalise_observations"}  # a hybrid's policies do not
COUPLINGS: Mapping[str, type[Coupling]] = {"half": Half, "side": SideCoupling, "winners": Winners, "none": Coupling}
SCHEDULES: Mapping[str, type[Schedule]] = {"chain": Chain, "phases": Phases, "steady-state": SteadyState}


@dataclass(frozen=True, kw_only=True)
class HybridSettings(ActorCriticSettings, FitnessSettings):
    """The four choices, and what goes with all of them."""

    search: str = setting("cem", f"what samples: {', '.join(SEARCHES)}, or MODULE:CLASS", OURS)
    coupling: str = setting(
        "half",
        "who is trained: half of the population, a learner at its side, one that acts alone (winners), or none",
        OURS,
        choices=tuple(COUPLINGS),
    )
    schedule: str = setting("chain", "in which order: see docs/hybrids.md", OURS, choices=tuple(SCHEDULES))
    injected: str | None = setting(
        None,
        "what trained individuals do to the search: as-samples, mean-only (they move no variance), hansen (shortened); "
        "none: what is usual for the search",
        OURS,
        choices=INJECTIONS,
    )
    options: str = setting("", "settings of the parts that this algorithm has not: NAME=VALUE NAME=VALUE", OURS)


def parse_options(text: str) -> dict[str, str]:
    """The values of `NAME=VALUE NAME=VALUE ...`."""
    pairs = [item.partition("=") for item in text.split()]
    if wrong := [name for name, sign, _ in pairs if not sign]:
        raise UsageError(f"options must be NAME=VALUE, separated by blanks; '{wrong[0]}' is not")
    return {name: value for name, _, value in pairs}


def part_settings(kind: type, settings: Any, env: str) -> Any:
    """An instance of `kind`, the settings of a part: the algorithm's values win, then its `options`."""
    if isinstance(settings, kind):
        return settings
    names = {field.name for field in fields(kind)}
    values = {field.name: getattr(settings, field.name) for field in fields(settings) if field.name in names}
    given = {name: value for name, value in parse_options(getattr(settings, "options", "")).items() if name in names}
    try:
        return resolve(kind, env, given, values)
    except UsageError as error:
        raise UsageError(f"{error}; a part has its own settings by --set options='NAME=VALUE ...'") from None


def check_options(kinds: list[type], settings: Any) -> None:
    """Raise `UsageError` for options that none of the parts has, or that the algorithm itself has as a setting."""
    settings_names = {field.name for field in fields(settings)}
    option_names = {field.name for kind in kinds for field in fields(kind)} - settings_names - _NOT_OF_PARTS
    for name in parse_options(settings.options):
        if name in settings_names:
            raise UsageError(f"'{name}' is a setting of the algorithm: --set {name}=VALUE instead of options")
        if name not in option_names:
            hint = nearest(name, option_names) or f"; there are {', '.join(sorted(option_names)) or 'none'}"
            raise UsageError(f"unknown option '{name}'{hint}")


@dataclass(kw_only=True)
class HybridState:
    """Everything a hybrid needs to go on."""

    search: SearchState
    schedule: ScheduleState
    critic: CriticState | None = None  # None without training
    coupling: CouplingState | None = None


@dataclass(frozen=True)
class Parts:
    """The classes of a run's parts, and their settings."""

    search: type[Search[Any, Any]]
    coupling: type[Coupling]
    schedule: type[Schedule]
    of_search: Any
    of_coupling: Any
    of_schedule: Any

    @property
    def settings_types(self) -> list[type]:
        """The classes of the parts' settings."""
        return [part.settings_type for part in (self.search, self.coupling, self.schedule)]


S = TypeVar("S")


class Hybrid(Algorithm[S, HybridState]):
    """A search whose individuals are trained by a learner's gradients."""

    task_functions: ClassVar[Mapping[str, type]] = {**Algorithm.task_functions, **LEARNER_TASKS, NOISE_SUM: NoiseSum}
    learner: Learner
    critic_updates: ClassVar[float] = 1.0
    actor_updates: ClassVar[float] = 5.0
    has_learner: ClassVar[bool] = True
    """Whether it has a learner; else its search is alone."""
    learner_name: ClassVar[str] = ""
    """Its learner where its settings have none."""
    mean_stream: ClassVar[tuple[int, ...]] = ()
    """Which stream of random numbers the initial mean is from."""
    learner_stream: ClassVar[tuple[int, ...]] = (2,)
    """The same of a learner next to the population; zeros at the end of a key change nothing."""

    def __init__(self, settings: S, context: Context) -> None:
        super().__init__(settings, context)
        if self.has_learner:
            self.learner = find_learner(getattr(settings, "learner", self.learner_name))
            self.task_functions = {**type(self).task_functions, **self.learner.task_functions}  # type: ignore[misc]
        parts = self.parts(settings, context.problem.env.id)
        mean = initial_mean(self.policy_spec, settings, self.key(Purpose.PARAMETERS, *self.mean_stream))
        injected = getattr(settings, "injected", None)
        surroundings = SearchContext(self.policy_spec, mean, context.store, self.share, injected, self._another)
        self.search: Search[Any, Any] = parts.search(parts.of_search, surroundings)
        self.coupling = parts.coupling(parts.of_coupling, cast(Any, self))
        self.schedule = parts.schedule(parts.of_schedule, cast(Any, self))
        self.learns = parts.coupling.trains(parts.of_coupling) > 0
        critic = None
        if self.learns and self.coupling.shares_critic:
            critic = CriticState(self.share(initial_critic(make_critic_spec(self), self.key(Purpose.PARAMETERS, 1))))
        self.coupling.state = self.coupling.start()
        self.state = HybridState(
            search=self.search.state, schedule=self.schedule.state, critic=critic, coupling=self.coupling.state
        )

    @classmethod
    def parts(cls, settings: Any, env: str) -> Parts:
        """What the settings choose; `env` gives the values of its environment to what they leave open."""
        search = find_search(settings.search)
        coupling, schedule = COUPLINGS[settings.coupling], SCHEDULES[settings.schedule]
        kinds = (search.settings_type, coupling.settings_type, schedule.settings_type)
        return Parts(search, coupling, schedule, *(part_settings(kind, settings, env) for kind in kinds))

    @classmethod
    def check(cls, settings: S, problem: Problem) -> None:
        if isinstance(settings, HybridSettings):
            settings.check_learner()
        super().check(settings, problem)
        parts = cls.parts(settings, problem.env.id)
        if parts.schedule.generations:
            parts.coupling.check(parts.of_coupling, parts.search, parts.of_search)
        elif parts.search.pairs:
            raise UsageError(
                f"{parts.search.__name__} estimates a gradient from mirrored pairs around one mean, and with "
                f"schedule={settings.schedule} the mean moves between the two of a pair; use chain or phases"  # type: ignore[attr-defined]
            )
        if isinstance(settings, HybridSettings):
            coupling = parts.coupling
            paces = {"parallel_critic": coupling.shares_critic, "critic_updates_per_step": coupling.records}
            for name, possible in paces.items():
                if getattr(parts.of_schedule, name, None) and not possible:
                    raise UsageError(f"coupling={settings.coupling} has no critic that learns all the time, for {name}")
            function = coupling.learner_function
            if function and not getattr(find_learner(settings.learner), function):
                raise UsageError(f"coupling={settings.coupling} needs a learner's {function}: {settings.learner}")
            check_options(parts.settings_types, settings)

    @classmethod
    def without_effect(cls, settings: S) -> Collection[str]:
        """Settings of parts that are not chosen, and what the learner or coupling leaves out."""
        if not isinstance(settings, HybridSettings):
            return ()
        parts, learner = cls.parts(settings, ""), find_learner(settings.learner)
        read = {field.name for kind in (*parts.settings_types, HybridSettings) for field in fields(kind)}
        unread = {
            tuple(field.name for field in fields(cls.settings_type) if field.name not in read): True,
            ("k_rl", "p_desired"): parts.schedule.generations,
            ("n_grad",): not parts.schedule.generations,
            ("noise_clip", "target_noise"): not learner.target_noise,
            ("tau",): learner.normalised,
            ("exploration_noise", "final_scale", "ou_theta"): learner.stochastic,
            ("injected",): settings.coupling == "none",
        }
        return {name for names, holds in unread.items() if holds for name in names}

    @classmethod
    def depends_on_budget(cls, settings: S) -> str:
        parts = cls.parts(settings, "")
        return parts.coupling.depends_on_budget(parts.of_coupling)

    @classmethod
    def is_synchronous(cls, settings: S) -> bool:
        parts = cls.parts(settings, "")
        return parts.schedule.is_synchronous(parts.of_schedule)

    @classmethod
    def usual_workers(cls, settings: S) -> int | None:
        return cls.default_workers or cls.parts(settings, "").schedule.default_workers

    @classmethod
    def gradient_workers(cls, settings: S, workers: int) -> int:
        parts = cls.parts(settings, "")
        return parts.schedule.gradient_workers(parts.coupling.trains(parts.of_coupling), workers)

    @classmethod
    def update_cost(cls, settings: S) -> float:
        return find_learner(getattr(settings, "learner", cls.learner_name)).update_cost

    def _another(self, number: int) -> np.ndarray:
        """A further initial policy."""
        return initial_mean(self.policy_spec, self.settings, self.key(Purpose.PARAMETERS, 1, number))

    @property
    def acts_by_mode(self) -> bool:
        """Whether the individuals of a learner that draws its actions act by their mode."""
        return self.has_learner and not getattr(self.settings, "stochastic", True)

    @property
    def critic(self) -> CriticState:
        """The critic that all individuals share; only where somebody is trained."""
        assert self.state.critic is not None
        return self.state.critic

    @property
    def generation(self) -> int:
        """The number of the generation under way, in keys of random numbers; in the steady state of a population."""
        told, search = self.counters.generation, self.search
        return told if self.schedule.generations else told * search.at_once // search.count_population(search.settings)

    def new_learner(self) -> np.ndarray:
        """A fresh learner next to the population, flat float32."""
        key = self.key(Purpose.PARAMETERS, *self.learner_stream)
        return self.learner.start(self.policy_spec, make_critic_spec(self), key, **self.networks())

    def joint_update(self) -> Update:
        """An update of all of that learner."""
        settings = self.settings, self.coupling.settings
        return self.learner.update(self.policy_spec, make_critic_spec(self), *settings, **self.networks())

    def networks(self) -> dict[str, Any]:
        """Further values for `Learner.start` and that update."""
        scale = getattr(self.coupling.settings, "final_scale", 1.0)
        return {} if self.learner.stochastic else {"final_scale": scale}

    def policy(self) -> ArrayRef:
        return self.coupling.reported or self.search.mean_ref

    def _ask(self) -> list[Task]:
        return self.schedule.ask()

    def _tell(self, task: Task, result: Result) -> None:
        self.schedule.tell(task, result)

    def metrics(self) -> dict[str, float]:
        return self.schedule.metrics()

    def measured(self) -> dict[str, float]:
        return self.search.measured()

    def restore(self, snapshot: dict[str, Any]) -> None:
        super().restore(snapshot)
        self.search.state, self.schedule.state = self.state.search, self.state.schedule
        self.coupling.state = self.state.coupling


class SearchAlone(Hybrid[S]):
    """A search without a learner, in generations."""

    search_type: ClassVar[type[Search[Any, Any]]]
    task_functions: ClassVar[Mapping[str, type]] = Algorithm.task_functions
    critic_updates: ClassVar[float] = 0.0
    actor_updates: ClassVar[float] = 0.0
    has_learner: ClassVar[bool] = False

    @classmethod
    def parts(cls, settings: Any, env: str) -> Parts:
        return Parts(cls.search_type, Coupling, Chain, settings, None, ChainSettings())

    @classmethod
    def policy_for(cls, settings: S, problem: Problem) -> PolicySpec:
        return cls.search_type.policy_for(settings, problem)

    @classmethod
    def needs(cls, settings: S, problem: Problem) -> Needs:
        return Needs.of_episodes(problem, cls.search_type.count_population(settings) * settings.episodes)  # type: ignore[attr-defined]


@cache
def search_alone(search: type[Search[Any, Any]]) -> type[SearchAlone[Any]]:
    """The algorithm of a search alone; its settings get the missing ones of policies and fitness."""
    kind = search.settings_type
    bases = tuple(base for base in (PolicySettings, FitnessSettings) if not issubclass(kind, base))
    if bases:
        try:
            kind = dataclasses.make_dataclass(kind.__name__, (), bases=(kind, *bases), frozen=True, kw_only=True)
        except TypeError as error:
            advice = "declare them by @dataclass(frozen=True, kw_only=True)"
            raise UsageError(f"settings of search '{search.__name__}': {error}; {advice}") from error
    members = {"__doc__": search.__doc__, "settings_type": kind, "search_type": search}
    return type(search.__name__, (SearchAlone,), members)
