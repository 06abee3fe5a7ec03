"""The schedule `chain`: generations, in which each actor is trained on the critic that has learnt from it.

Pourchot and Sigaud, "CEM-RL", ICLR 2019, algorithm 1. The losses of critic and actors are in `gradients/learners/`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, cast

from erlbench.algorithms.individuals import Generation, start_states
from erlbench.algorithms.schedule.schedule import Schedule, ScheduleState, mean_fitness
from erlbench.algorithms.search.evolution_strategy import gradient, gradient_tasks
from erlbench.algorithms.search.search import Individual, Vector
from erlbench.algorithms.training.gradient_tasks import actor_task, critic_task
from erlbench.settings import at_least_zero, setting
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import Counts, Input, Output, Result, Task

if TYPE_CHECKING:
    from erlbench.algorithms.hybrid import Hybrid

CEM_RL = "CEM-RL, public code"
MORE_THAN, AT_LEAST, INDIVIDUAL = "more-than", "at-least", "individual"


@dataclass(frozen=True, kw_only=True)
class ChainSettings:
    """Hyper-parameters of the chain's warm-up."""

    start_timesteps: int = at_least_zero(10_000, "timesteps of warm-up, without gradients", CEM_RL)
    warmup_gate: str = setting(
        MORE_THAN,
        "training begins after more-than, or at-least, start_timesteps, checked before each generation; individual "
        "(cem-rl only): after more than that, checked before each individual, one after another",
        CEM_RL,
        choices=(MORE_THAN, AT_LEAST, INDIVIDUAL),
    )
    random_warmup: bool = setting(
        False, "uniform random actions until training starts, instead of the individuals' own", CEM_RL
    )


@dataclass(kw_only=True)
class ChainState(ScheduleState, Generation):
    """The generation under way."""

    individuals: list[Vector | Output] = field(default_factory=list)  # trained or not; of a task that is under way
    samples: list[Vector] = field(default_factory=list)  # the same before training
    asked: int = 0  # individuals whose tasks have been asked for
    trained: list[int] = field(default_factory=list)  # of them, those that are trained by gradients
    rl_elites: int = 0  # how many of the generation before were among its elites
    f_mean: float | None = None  # f(mu), where the search needs it, once it is known
    sums: list[Result] | None = None  # of noise, that a search wants when all individuals are evaluated
    awaited: int = 0  # how many


class Chain(Schedule):
    """`chain`: a chain of critic blocks, actor i trained on the critic after block i, whole generations."""

    settings_type: ClassVar[type] = ChainSettings
    state: ChainState

    def __init__(self, settings: Any, run: Hybrid[Any]) -> None:
        super().__init__(settings, run)
        self.state = ChainState()

    @property
    def warm(self) -> bool:
        timesteps, start = self.run.counters.timesteps, self.settings.start_timesteps
        enough = timesteps >= start if self.settings.warmup_gate == AT_LEAST else timesteps > start
        return enough and (not self.run.learns or self.run.context.replay.length >= self.run.settings.batch_size)

    def ask(self) -> list[Task]:
        """A whole generation when none is under way; with the gate `individual` one individual after the other."""
        state, run, alone = self.state, self.run, self.settings.warmup_gate == INDIVIDUAL
        if state.individuals:
            if state.sums is not None and not state.awaited:
                weights = run.search.noise_weights(self._individuals()) or {}
                tasks = gradient_tasks(run, list(weights), list(weights.values()), run.policy_spec.size)
                state.awaited = len(tasks)
                return tasks
            if not len(state.fitness) == state.asked < len(state.individuals):
                return []
            return self.tasks_of(state.asked, state.asked + 1 if alone else len(state.individuals))
        if run.exhausted:
            return []
        generation = run.generation
        bred = run.search.breed(run)
        state.samples = run.coupling.population(lambda index: run.key(Purpose.NOISE, generation, index))
        state.individuals = [*state.samples]
        tasks = bred + run.coupling.before(state.previous_steps, self.warm)
        run.coupling.inject(state.individuals)
        state.asked, state.trained, state.f_mean = 0, [], None
        tasks += self.tasks_of(0, 1 if alone else len(state.individuals))
        tasks += run.coupling.beside(len(state.individuals))
        return [*tasks, self.measurement(run.policy(), generation)] if run.search.mean_episodes else tasks

    def tasks_of(self, first: int, stop: int) -> list[Task]:
        """The training, if it is time for it, and the episodes of the individuals from `first` to before `stop`."""
        state, coupling = self.state, self.run.coupling
        parameters: list[Input] = list(state.individuals)
        trained = range(first, min(stop, coupling.count)) if coupling.count and self.warm else range(0)
        state.trained += trained
        state.asked = stop
        tasks = self.training(parameters, trained) if trained else []
        for task in tasks:
            if task.kind == "actor":
                parameters[task.individual] = task.output("parameters")
        return tasks + self.evaluations(parameters, range(first, stop))

    def training(self, parameters: Sequence[Input], trained: Sequence[int]) -> list[Task]:
        """A chain of critic blocks, and the actors' training.

        Actor i learns from the critic after i + 1 blocks, whose target actor is individual i before its training.
        So it can train while the chain goes on, and the individuals that are not trained can be evaluated at once.
        """
        run, critic, steps = self.run, self.run.critic, self.state.previous_steps
        latest: Input = critic.parameters
        block = steps // run.coupling.count
        tasks = []
        for index in trained:
            z = parameters[index]
            if block:
                tasks.append(critic_task(run, latest, z, block, critic.step, index))
                latest = tasks[-1].output("critic")
                critic.step += block
            tasks.append(actor_task(run, z, latest, steps, index))
        return tasks

    def evaluations(self, parameters: Sequence[Input], individuals: range) -> list[Task]:
        """The episodes of `individuals`; with a learner all of them go to the replay."""
        run, learns = self.run, self.run.learns and self.run.coupling.records
        more: dict[str, Any] = {"episodes": run.settings.episodes}
        more["seeds"] = start_states(run, run.generation)
        if run.policy_spec.normalisation:
            more["observe"] = 1.0
        if not run.has_learner:
            policies = [parameters[index] for index in individuals]
            return run.rollouts(policies, kind="es", individual=individuals.start, **more)
        random = self.settings.random_warmup and not self.warm
        more |= {"record": learns, "random_actions": random, "mode": run.acts_by_mode}
        kinds = ["random" if random else "rl" if index in self.state.trained else "es" for index in individuals]
        return [
            run.rollout(parameters[index], kind=kind, individual=index, **more)
            for index, kind in zip(individuals, kinds)
        ]

    def tell(self, task: Task, result: Result) -> None:
        state, run = self.state, self.run
        if "observations" in result.arrays:
            stop = run.context.replay.length
            run.search.recorded(task.individual, stop - sum(result.values["lengths"]), stop)
        if run.coupling.tell(task, result):
            state.steps += sum(result.values.get("lengths", ())) if task.counts == Counts.TRAINING else 0
            outputs = {task.output(name): array for name, array in result.arrays.items()}
            state.individuals = [outputs.get(z, z) if isinstance(z, Output) else z for z in state.individuals]
        elif task.kind == "actor":
            place, z = task.individual, result.arrays["parameters"]
            if place not in state.trained:  # it is bred
                state.samples[place] = z
                if state.individuals[place] != task.output("parameters"):
                    return  # of a place that the learner's actor has taken, or a parent of what is bred
            state.individuals[place] = z
        elif task.kind == "gradient":
            assert state.sums is not None
            state.sums.append(result)
            if len(state.sums) == state.awaited:
                run.search.noise_sum = gradient(run, state.sums)
                state.sums, state.awaited = None, 0
                self._end()
            return
        elif task.kind == "mean":
            state.f_mean = mean_fitness(result)
        else:
            state.take(task.individual, result, run.search.fitness(result))
            run.search.seen(state.fitness[task.individual], not run.learns or self.warm)
            if "observed" in result.arrays:
                run.search.observed(result.values["observed"], run.context.store.get(result.arrays["observed"]))
        measured = state.f_mean is not None or not run.search.mean_episodes
        measured &= run.coupling.ready
        if state.sums is None and state.individuals and len(state.fitness) == len(state.individuals) and measured:
            if run.search.extends(state.steps, len(state.individuals)):
                self._extend()
            elif run.search.noise_weights(self._individuals()) is None:
                self._end()
            else:
                state.sums = []

    def _extend(self) -> None:
        """As many individuals more."""
        state, run, generation = self.state, self.run, self.run.counters.generation
        first = len(state.individuals)
        more = run.search.generation(lambda index: run.key(Purpose.NOISE, generation, first + index))
        state.individuals, state.samples = [*state.individuals, *more], [*state.samples, *more]

    def _individuals(self) -> list[Individual]:
        """The generation as the search is told it."""
        state, individuals = self.state, []
        f_mean = math.nan if state.f_mean is None else state.f_mean
        for vector, sample, fitness in zip(state.individuals, state.samples, state.in_order):
            z = cast(Vector, vector)
            outside = self.run.coupling.comes_from_outside(z)
            origin, changed = None if outside else sample, outside or z != sample
            individuals.append(Individual(z=z, fitness=fitness, injected=changed, origin=origin, f_mean=f_mean))
        return individuals

    def _end(self) -> None:
        """Tell the search its generation."""
        state, run, individuals = self.state, self.run, self._individuals()
        fitness = state.in_order
        run.search.tell(individuals)
        run.coupling.end(individuals)
        state.rl_elites = sum(index in state.trained for index in run.search.state.elites)
        state.end(fitness)
        state.individuals, state.samples = [], []
        run.counters.generation += 1

    def metrics(self) -> dict[str, float]:
        state, search = self.state, self.run.search
        columns = {**state.extremes(), **search.metrics(), "steps": state.previous_steps}
        if self.run.has_learner:
            columns |= {"n_rl": len(state.trained), "rl_elites": state.rl_elites, **self.run.coupling.metrics()}
        return columns
