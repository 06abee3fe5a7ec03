"""The schedule without generations: each worker takes one individual through its life.

Lee, Lee, Shin, Kweon, "An Efficient Asynchronous Method for Integrating Evolutionary and Gradient-based Policy
Search" (AES-RL), NeurIPS 2020, with details of its public code (github.com/KyunghyunLee/aes-rl): sample, train by
gradients or not, play, measure a snapshot of the mean where the search needs it, and tell the search. A critic learns
in parallel all the time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from erlbench.algorithms.schedule.schedule import Schedule, ScheduleState, mean_fitness
from erlbench.algorithms.search.search import Individual, Vector
from erlbench.algorithms.training.gradient_tasks import actor_task
from erlbench.settings import at_least_one, at_least_zero, setting
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import ArrayRef, Result, Task

if TYPE_CHECKING:
    from erlbench.algorithms.hybrid import Hybrid

CODE, OURS = "AES-RL, public code", "this suite"
RANDOM, OWN = "random-actions", "own-policies"


@dataclass(frozen=True, kw_only=True)
class SteadyStateSettings:
    """Hyper-parameters of the schedule."""

    critic_block: int = at_least_one(1000, "critic updates per block", CODE)
    critic_updates_per_step: float | None = setting(
        None,
        "fixed number of critic updates per timestep: the critic waits for individuals, and new individuals wait for a "
        "critic that is a block behind; "
        "none: the critic makes at most one per timestep, and nothing waits for it",
        OURS,
        minimum=1e-9,
    )
    actor_episodes: int = at_least_one(10, "an actor gets as many updates as the last so many episodes had steps", CODE)
    start_timesteps: int = at_least_zero(10_000, "timesteps of warm-up, without gradients", CODE)
    warmup: str = setting(RANDOM, "what individuals do during the warm-up", CODE, choices=(RANDOM, OWN))
    tell_in_warmup: bool = setting(
        False, "update the distribution with returns of random actions too", "off: our choice; AES-RL's code does it"
    )


@dataclass(kw_only=True)
class Underway:
    """One individual on its way: sampled, perhaps trained, evaluated, compared with the mean."""

    kind: str  # es, rl, random: with random actions, or copy: of a learner's actor
    parameters: Vector  # a vector in the store once it is trained
    sample: Vector  # the same before training
    born: int  # generation at which it was sampled
    number: int = 0  # of individuals sampled before it
    fitness: float | None = None  # f(z), once known
    snapshot: ArrayRef | None = None  # the mean when its episode ended, until its measurement is asked for


@dataclass(kw_only=True)
class InFlight(ScheduleState):
    """The individuals in flight, and what was launched."""

    individuals: dict[int, Underway] = field(default_factory=dict)  # by place
    finished: list[Individual] = field(default_factory=list)  # until they are as many as the search wants at once
    lengths: list[int] = field(default_factory=list)  # of the last individuals' episodes
    launched: int = 0
    n_rl: int = 1  # launched, both from one on as in the public code
    n_es: int = 1
    last: dict[str, float] = field(default_factory=dict)  # about the latest individual, for metrics


class SteadyState(Schedule):
    """`steady-state`: individuals come and go one by one; results depend on timing."""

    settings_type: ClassVar[type] = SteadyStateSettings
    generations: ClassVar[bool] = False
    default_workers: ClassVar[int | None] = 5  # as AES-RL
    state: InFlight

    def __init__(self, settings: Any, run: Hybrid[Any]) -> None:
        super().__init__(settings, run)
        self.state = InFlight()

    @classmethod
    def is_synchronous(cls, settings: Any) -> bool:
        return False

    @classmethod
    def gradient_workers(cls, trained: int, workers: int) -> int:
        return workers + 1 if trained else 0

    @property
    def warm(self) -> bool:
        """Whether the warm-up is over and there is enough experience to learn from."""
        run = self.run
        enough = not run.coupling.records or run.context.replay.length >= run.settings.batch_size
        return run.counters.timesteps >= self.settings.start_timesteps and enough

    def ask(self) -> list[Task]:
        """Measurements of the mean, a new individual for every free place, and the critic's next block."""
        run, individuals, tasks = self.run, self.state.individuals, list[Task]()
        for place, individual in individuals.items():
            if individual.snapshot is not None:
                tasks.append(self.measurement(individual.snapshot, individual.number, place))
                individual.snapshot = None
        if not run.exhausted:
            free = [place for place in range(run.context.workers) if place not in individuals]
            for place in free if self._critic_keeps_up else ():
                tasks += self._launch(place)
            tasks += self._critic_block()
        return tasks

    @property
    def _critic_keeps_up(self) -> bool:
        """Whether individuals need not wait for the critic; with a fixed ratio it may be one block behind."""
        ratio, counters = self.settings.critic_updates_per_step, self.run.counters
        if ratio is None or not self.run.learns or not self.warm:
            return True
        return bool(counters.critic_updates + self.settings.critic_block > ratio * counters.timesteps)

    def _launch(self, place: int) -> list[Task]:
        """Sample an individual (no mirrored pairs), train it by gradients or not, and play its episodes."""
        state, run, number = self.state, self.run, self.state.launched
        sample = run.search.sample(run.key(Purpose.NOISE, number))
        copy = run.coupling.replaces(number) if self.warm else None
        kind = self._choose(number) if copy is None else "copy"
        z = sample if copy is None else copy
        state.launched, born = number + 1, run.counters.generation
        state.individuals[place] = Underway(kind=kind, parameters=z, sample=sample, born=born, number=number)
        if kind != "rl":
            return self.episodes([z], "es" if kind == "copy" else kind, place, number)
        training = actor_task(run, z, run.critic.parameters, sum(state.lengths), place)
        return [training, *self.episodes([training.output("parameters")], kind, place, number)]

    def _choose(self, number: int) -> str:
        """The kind of the next individual; no RL during the warm-up."""
        state, run = self.state, self.run
        if run.learns and not self.warm:
            return "random" if self.settings.warmup == RANDOM else "es"
        if run.coupling.chooses(number, state.n_rl, state.n_es):
            state.n_rl += 1
            return "rl"
        state.n_es += 1
        return "es"

    def _critic_block(self) -> list[Task]:
        """The next block of critic updates: one at a time, never begun ahead of the timesteps times their ratio."""
        settings, run = self.settings, self.run
        if not run.learns or run.coupling.learns_now or not self.warm:
            return []
        ahead = run.coupling.updates >= (settings.critic_updates_per_step or 1.0) * run.counters.timesteps
        return [] if ahead else run.coupling.stream(settings.critic_block)

    def tell(self, task: Task, result: Result) -> None:
        state, run = self.state, self.run
        if run.coupling.tell(task, result):
            return
        individual = state.individuals[task.individual]
        if task.kind == "actor":
            individual.parameters = result.arrays["parameters"]
        elif task.kind == "mean":
            self._finish(task.individual, mean_fitness(result))
        else:
            state.lengths = [*state.lengths, *result.values["lengths"]][-self.settings.actor_episodes :]
            self._evaluated(task.individual, individual, run.search.fitness(result))

    def _evaluated(self, place: int, individual: Underway, fitness: float) -> None:
        """An individual's episodes have ended: measure the mean, or go on if f(mu) is not needed."""
        individual.fitness = fitness
        search = self.run.search
        search.seen(fitness, self.warm)
        if individual.kind == "random" and not self.settings.tell_in_warmup:
            del self.state.individuals[place]
        elif search.mean_episodes:
            individual.snapshot = search.mean_ref
        else:
            self._finish(place, math.nan)

    def _finish(self, place: int, f_mean: float) -> None:
        """Update the then-current distribution with an individual and the snapshot's score; free its place."""
        state, run = self.state, self.run
        individual = state.individuals.pop(place)
        assert individual.fitness is not None
        age = run.counters.generation - individual.born
        z, sample, copied = individual.parameters, individual.sample, individual.kind == "copy"
        evaluated = Individual.of(z, sample, copied, fitness=individual.fitness, age=age, f_mean=f_mean)
        state.finished.append(evaluated)
        is_complete = len(state.finished) >= run.search.at_once
        if is_complete:
            run.search.tell(state.finished)
            state.finished = []
        run.coupling.gather(evaluated)
        state.last = {
            "p": getattr(run.search.state, "ratio", math.nan),
            "f_z": individual.fitness,
            "f_mean": f_mean,
            "is_rl": float(individual.kind in ("rl", "copy")),
            "staleness": age,
        }
        run.counters.generation += is_complete

    def metrics(self) -> dict[str, float]:
        state, run = self.state, self.run
        return {
            **(state.last or dict.fromkeys(("p", "f_z", "f_mean", "is_rl", "staleness"), math.nan)),
            **run.search.metrics(),
            "n_rl": state.n_rl,
            "n_es": state.n_es,
            "critic_lag": run.counters.timesteps - run.counters.critic_updates,
            **run.coupling.metrics(),
        }
