"""PDERL's genetic algorithm: ERL's, with memories, distillation crossover and proximal mutation.

Bodnar, Day and Lio, "Proximal Distilled Evolutionary Reinforcement Learning", AAAI 2020, with the order of steps of its
public code (github.com/crisbodnar/pderl, mod_neuro_evo.py). `gradients/distillation.py` has the two operators, which
are tasks: a generation's individuals are their outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

from erlbench.algorithms.search.genetic import GeneticSearch, GeneticState, SelectionSettings, select
from erlbench.algorithms.search.search import Individual
from erlbench.algorithms.search.search_distribution import ranking
from erlbench.algorithms.training.breeding import Distillation, ProximalMutation
from erlbench.algorithms.training.gradient_tasks import make_critic_spec, update_task
from erlbench.settings import at_least_one, at_least_zero, setting
from erlbench.work.seeding import generator
from erlbench.work.tasks import Input, Task

if TYPE_CHECKING:
    from erlbench.algorithms.hybrid import Hybrid

MODULE = "erlbench.algorithms.gradients.distillation"
PUBLIC = "PDERL, public code"
CODE, ELITE = "code", "elite-fitness"


@dataclass(frozen=True, kw_only=True)
class PDERLSearchSettings(SelectionSettings):
    """Hyper-parameters of the operators."""

    memory: int = setting(8000, "latest transitions that an individual keeps", PUBLIC, minimum=2)
    distillation_epochs: int = at_least_one(12, "passes over both parents' memories", PUBLIC)
    distillation_batch: int = at_least_one(128, "states per update of a child", PUBLIC)
    distillation_rate: float = at_least_zero(1e-3, "Adam's step size of a child", PUBLIC)
    mutation_magnitude: float = at_least_zero(0.05, "standard deviation of a mutation, before its scale", PUBLIC)
    sensitivity_batch: int = at_least_one(256, "states that measure the sensitivity of actions", PUBLIC)
    pair_fitness: str = setting(
        CODE,
        "of an elite's clone among parents: of its place before (code), or elite-fitness",
        PUBLIC,
        choices=(CODE, ELITE),
    )


@dataclass
class Child:
    """A place of the next generation that gets a child."""

    place: int
    first: int  # parents, by their places; the first is the fitter
    second: int


@dataclass(kw_only=True)
class PDERLState(GeneticState):
    """The population, what each individual remembers, and what becomes of it before the next generation."""

    memories: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # by place; behind them the learner's
    children: list[Child] = field(default_factory=list)
    mutations: list[int] = field(default_factory=list)  # places


class PDERLSearch(GeneticSearch):
    """ERL's genetic algorithm with operators that keep behaviour."""

    settings_type: ClassVar[type] = PDERLSearchSettings
    settings: PDERLSearchSettings
    state: PDERLState

    def start(self, mean: Any) -> PDERLState:
        return PDERLState(**vars(super().start(mean)))

    def recorded(self, individual: int, start: int, stop: int) -> None:
        memory = self.state.memories.setdefault(individual, [])
        memory.append((start, stop))
        self.state.memories[individual] = latest(memory, self.settings.memory)

    def tell(self, individuals: Sequence[Individual]) -> None:
        """Rank, select, clone the elites; choose the places of children, and of mutation."""
        state, settings, random = self.state, self.settings, generator(*self.state.key)
        fitness = [individual.fitness for individual in individuals]
        ranks, count = ranking(fitness), len(individuals)
        population = self.shared(individuals)
        for place, individual in enumerate(individuals):
            if individual.injected and individual.origin is None:  # the learner's actor, with its memory
                copied = [*state.memories.get(count, []), *state.memories[place][-1:]]
                state.memories[place] = latest(copied, settings.memory)
        state.elites, state.champion = ranks[:1], population[ranks[0]]
        chosen = select(ranks, max(1, int(settings.elite_fraction * count)), settings.tournament, random)
        clones = chosen.clones
        self.spared = clones[0]
        for place, elite in zip(clones, chosen.elites):
            population[place], state.memories[place] = population[elite], [*state.memories[elite]]
            if settings.pair_fitness == ELITE:
                fitness[place] = fitness[elite]
        pairs = sorted(
            combinations([*clones, *chosen.offspring], 2), key=lambda two: -fitness[two[0]] - fitness[two[1]]
        )
        state.children = [
            Child(place, *sorted(pairs[number % len(pairs)], key=lambda index: -fitness[index]))
            for number, place in enumerate(chosen.free if pairs else ())
        ]
        mutates = [random.random() < settings.mutation_probability for _ in range(count)]
        state.mutations = [place for place in range(count) if mutates[place] and place not in clones]
        state.population = population

    def breed(self, run: Hybrid[Any]) -> list[Task]:
        """The tasks that make the children, and the mutations of all but the elites' clones."""
        state, settings, policy = self.state, self.settings, self.context.policy
        vectors: list[Any] = [*state.population]
        replay, tasks = {"replay": run.context.replay.view()}, []
        half = settings.memory // 2
        for child in state.children:
            first, second = (state.population[index] for index in (child.first, child.second))
            ranges = [memory for k in (child.first, child.second) for memory in latest(state.memories[k], half)]
            spec = (settings.distillation_epochs, settings.distillation_batch, settings.distillation_rate)
            distillation = Distillation(policy, make_critic_spec(run), tuple(ranges), *spec)
            inputs: dict[str, Input] = {"first": first, "second": second, "learner": run.coupling.state.learner}
            tasks.append(update_task(run, "actor", f"{MODULE}:distil", distillation, inputs | replay, child.place))
            vectors[child.place], state.memories[child.place] = tasks[-1].output("parameters"), ranges
        for place in state.mutations:
            mutation = ProximalMutation(
                policy, tuple(state.memories[place]), settings.mutation_magnitude, settings.sensitivity_batch
            )
            inputs = {"parameters": vectors[place], **replay}
            tasks.append(update_task(run, "actor", f"{MODULE}:mutate", mutation, inputs, place))
            vectors[place] = tasks[-1].output("parameters")
        state.population, state.children, state.mutations = vectors, [], []
        return tasks


def latest(ranges: Sequence[tuple[int, int]], count: int) -> list[tuple[int, int]]:
    """The last `count` transitions of the ranges."""
    kept: list[tuple[int, int]] = []
    for start, stop in reversed(ranges):
        if count <= 0:
            break
        kept.insert(0, (max(start, stop - count), stop))
        count -= stop - start
    return kept
