"""The interface of couplings of a search and a learner, and `none`: the search alone, without training."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from erlbench.algorithms.individuals import compute_fitness
from erlbench.algorithms.search.search import Individual
from erlbench.algorithms.training.gradient_tasks import next_critic_block
from erlbench.work.seeding import Key
from erlbench.work.tasks import Counts

if TYPE_CHECKING:
    from erlbench.algorithms.hybrid import Hybrid
    from erlbench.algorithms.search.search import Search, Vector
    from erlbench.work.tasks import ArrayRef, Input, Output, Result, Task

VALIDATED = ("mean", "learner", "champion")  # the search's, the learner's policy, the best of the last generation


@dataclass(frozen=True)
class NoSettings:
    """The settings of a part that has none."""


@dataclass(kw_only=True)
class CouplingState:
    """The base of the states of couplings."""

    gathered: list[Individual] = field(default_factory=list)  # of an asynchronous schedule, until they are a population
    scores: dict[str, float] = field(default_factory=dict)  # by VALIDATED, at the latest validation
    under_way: int = 0  # the coupling's tasks


class Coupling:
    """`none`: the search is alone; the base of the others."""

    settings_type: ClassVar[type] = NoSettings
    shares_critic: ClassVar[bool] = True
    """Whether its critic is the run's, which all individuals share; else it is in the coupling's state."""
    learner_function: ClassVar[str] = ""
    """The task function that it needs of a learner, in addition to the functions for critics and for actors."""
    records: ClassVar[bool] = True
    """Whether individuals' transitions are learnt from, where somebody learns."""

    def __init__(self, settings: Any, run: Hybrid[Any]) -> None:
        self.settings, self.run = settings, run
        self.state: Any = None  # a `CouplingState`, where it has one

    def start(self) -> CouplingState | None:
        """Its state when a run begins, if it has one."""
        return None

    def fresh(self) -> dict[str, Any]:
        """The fields `learner` and `actor` of the state of a coupling with a separate learner, at the start."""
        run, learner = self.run, self.run.new_learner()
        actor = run.learner.actor(run.policy_spec, learner)
        return {"learner": run.share(learner), "actor": run.share(actor)}

    @classmethod
    def check(cls, settings: Any, search: type[Search[Any, Any]], search_settings: Any) -> None:
        """Raise `UsageError` for what has no meaning with generations of this search."""

    @classmethod
    def trains(cls, settings: Any) -> int:
        """How many actors are trained at once in a generation; 0: there is no critic either. By default its own."""
        return 0 if cls.shares_critic else 1

    @classmethod
    def depends_on_budget(cls, settings: Any) -> str:
        """As `Algorithm.depends_on_budget`."""
        return ""

    @property
    def count(self) -> int:
        """How many individuals of a generation are trained: the first ones."""
        return 0

    def chooses(self, number: int, n_rl: int, n_es: int) -> bool:
        """Whether the individual `number` of an asynchronous schedule is trained, after so many of either kind."""
        return False

    def ask_before(self, steps: int, warm: bool) -> list[Task]:
        """What a learner does before a generation, after one of so many steps."""
        return []

    def population(self, key: Callable[[int], Key]) -> list[Vector]:
        """A generation of samples."""
        return self.run.search.generation(key)

    def inject(self, individuals: list[Vector | Output]) -> None:
        """Put vectors from outside into a generation that was sampled."""

    def comes_from_outside(self, z: Vector) -> bool:
        """Whether an individual of the generation is such a vector."""
        return False

    @property
    def reported(self) -> ArrayRef | None:
        """A policy that is reported in place of the search's."""
        return None

    def ask_beside(self, individuals: int) -> list[Task]:
        """A learner's tasks during a generation of so many individuals."""
        return []

    @property
    def ready(self) -> bool:
        """Whether that is done."""
        return self.state is None or not self.state.under_way

    def validations(self, learner: Input, champion: Input | None) -> list[Task]:
        """Episodes of mean, learner and champion that only choose and report, if their turn has come."""
        run, every = self.run, self.settings.validation_every
        if not every or run.counters.generation % every:
            return []
        policies: list[Input] = [run.search.mean_ref, learner, *([] if champion is None else [champion])]
        self.state.under_way += len(policies)
        fields = {"counts": Counts.FITNESS, "episodes": self.settings.validation_episodes, "mode": run.acts_by_mode}
        return run.rollouts(policies, kind="validation", **fields)

    def scores(self) -> dict[str, float]:
        """Columns of the latest validation."""
        return {f"score_{name}": self.state.scores.get(name, math.nan) for name in VALIDATED}

    def end(self, individuals: Sequence[Individual]) -> None:
        """Note what the search was told."""

    def gather(self, individual: Individual) -> None:
        """Note an individual of an asynchronous schedule; as many as a population has are a generation."""
        search = self.run.search
        if self.state is None:
            return
        self.state.gathered.append(individual)
        if len(self.state.gathered) == search.count_population(search.settings):
            self.end(self.state.gathered)
            self.state.gathered = []

    def replaces(self, number: int) -> Vector | None:
        """What the individual `number` of an asynchronous schedule is in place of a sample."""
        return None

    @property
    def learns_now(self) -> bool:
        """Whether updates of a critic that learns all the time are under way."""
        return self.run.critic.in_flight if self.shares_critic else not self.ready

    @property
    def updates(self) -> int:
        """Its updates so far, those under way included."""
        return self.run.critic.step if self.shares_critic else self.run.counters.critic_updates

    def stream(self, updates: int) -> list[Task]:
        """Its next updates, towards the targets of the mean."""
        return [next_critic_block(self.run, self.run.critic, updates)]

    def tell(self, task: Task, result: Result) -> bool:
        """Take the result of one of the coupling's tasks; whether it was one."""
        if task.kind == "validation":
            self.state.scores[VALIDATED[task.individual]] = compute_fitness(result)
            self.state.under_way -= 1
            return True
        if task.kind != "critic":
            return False
        self.run.critic.parameters, self.run.critic.in_flight = result.arrays["critic"], False
        return True

    def metrics(self) -> dict[str, float]:
        """Columns of train.csv."""
        return {}
