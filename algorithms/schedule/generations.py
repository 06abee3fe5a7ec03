"""Whole generations: which of their tasks are out, and what a search is told when all individuals are evaluated.

It fixes no method: `chain.py` and `phases.py` define a generation, and who is trained in it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from itertools import groupby
from typing import cast

from erlbench.algorithms.schedule.schedule import Schedule, mean_fitness
from erlbench.algorithms.search.evolution_strategy import gradient, gradient_tasks
from erlbench.algorithms.search.search import Individual, Vector
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import Counts, Input, Output, Result, Task


class Generations(Schedule):
    """Asks for generations one after another, and tells the search each of them as a whole."""

    @abstractmethod
    def begin(self) -> list[Task]:
        """The tasks with which a generation begins."""

    @abstractmethod
    def ask_individuals(self, first: int) -> list[Task]:
        """The tasks of further individuals, from `first` on."""

    def ask(self) -> list[Task]:
        state, run = self.state, self.run
        if not state.individuals:
            return [] if run.exhausted else self.begin()
        if state.sums is not None and not state.awaited:
            weights = run.search.noise_weights(self._individuals()) or {}
            tasks = gradient_tasks(run, list(weights), list(weights.values()), run.policy_spec.size)
            state.awaited = len(tasks)
            return tasks
        return self.ask_individuals(state.asked) if len(state.fitness) == state.asked < len(state.individuals) else []

    def fitness_episodes(self, parameters: Sequence[Input], individuals: range, random: bool) -> list[Task]:
        """The episodes of `individuals`, which act uniformly at `random`, or by themselves."""
        kinds = {index: "random" if random else "rl" if index in self.state.trained else "es" for index in individuals}
        tasks = list[Task]()
        for kind, group in groupby(individuals, kinds.__getitem__):
            places = [*group]
            policies = [parameters[index] for index in places]
            tasks += self.episodes(policies, kind, places[0], self.run.generation)
        return tasks

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
        added = run.search.generation(lambda index: run.key(Purpose.NOISE, generation, first + index))
        state.individuals, state.samples = [*state.individuals, *added], [*state.samples, *added]

    def _individuals(self) -> list[Individual]:
        """The generation as the search is told it."""
        state, individuals = self.state, []
        f_mean = math.nan if state.f_mean is None else state.f_mean
        for vector, sample, fitness in zip(state.individuals, state.samples, state.in_order):
            z = cast(Vector, vector)
            outside = self.run.coupling.comes_from_outside(z)
            individuals.append(Individual.of(z, sample, outside, fitness=fitness, f_mean=f_mean))
        return individuals

    def _end(self) -> None:
        """Tell the search its generation."""
        state, run, individuals = self.state, self.run, self._individuals()
        run.search.tell(individuals)
        run.coupling.end(individuals)
        state.rl_elites = sum(index in state.trained for index in run.search.state.elites)
        state.end(state.in_order)
        state.individuals, state.samples = [], []
        run.counters.generation += 1

    def metrics(self) -> dict[str, float]:
        state, search = self.state, self.run.search
        columns = {**state.extremes(), **search.metrics(), "steps": state.previous_steps}
        if self.run.has_learner:
            columns |= {"n_rl": len(state.trained), "rl_elites": state.rl_elites, **self.run.coupling.metrics()}
        return columns
