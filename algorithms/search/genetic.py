"""The genetic algorithm of ERL on flat policy vectors: tournaments, elites, crossover of rows, mutation of weights.

Khadka and Tumer, "Evolution-Guided Policy Gradient in Reinforcement Learning", NeurIPS 2018, algorithm 1, with the
order of steps and the operators of its public code (github.com/ShawK91/erl_paper_nips18, mod_neuro_evo.py). The authors
of ESAC took its crossover over: children with some rows of each parent's weights, and some of its biases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from erlbench.algorithms.search.search import AS_SAMPLES, Individual, Search, SearchState, Vector
from erlbench.algorithms.search.search_distribution import ranking
from erlbench.policy.spec import Tensor
from erlbench.settings import at_least_one, at_least_zero, fraction, setting
from erlbench.work.seeding import Key, generator
from erlbench.work.tasks import ArrayRef

PAPER, CODE = "ERL", "ERL, public code"
LIMIT = 1e6  # of a mutated weight
REPLACE, EXCHANGE = "replace", "exchange"
CROSSOVERS = (REPLACE, EXCHANGE)


def crossover(
    first: np.ndarray, second: np.ndarray, tensors: Iterable[Tensor], exchange: bool, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Two children, new arrays: `first` with some parts of `second`, and the other way round; all `(P,)`.

    A part is a row of a weight matrix, that is an output neuron's inputs, or one bias. Each matrix of R rows has k
    replacements, k uniform in 0 .. 2 R - 1, each bias vector of R elements k uniform in 0 .. R - 1. See `taken`.
    """
    children = first.copy(), second.copy()
    for tensor in tensors:
        rows = tensor.shape[0]
        mine, theirs = (child[tensor.place].reshape(rows, -1) for child in children)
        replacements = int(random.integers((2 if len(tensor.shape) == 2 else 1) * rows))
        to_first, to_second = taken(rows, replacements, exchange, random)
        mine[to_first], theirs[to_second] = theirs[to_first], mine[to_second]
    return children


def taken(parts: int, replacements: int, exchange: bool, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Which of `parts` parts the first child takes from the second parent, and the second from the first.

    Each replacement picks a part and one of the two children, which gets the other parent's part. If the parents
    `exchange`, they are overwritten as well: a part is equal in both after its first replacement. The indices are
    distinct and in order.
    """
    places, to_first = random.integers(parts, size=replacements), random.random(replacements) < 0.5
    if exchange:
        places, at = np.unique(places, return_index=True)
        return places[to_first[at]], places[~to_first[at]]
    return np.unique(places[to_first]), np.unique(places[~to_first])


@dataclass(frozen=True, kw_only=True)
class SelectionSettings:
    """Hyper-parameters of the selection, and how many mutate."""

    population: int = setting(10, "individuals per generation", PAPER, minimum=2)
    elite_fraction: float = setting(
        0.1, "share of the population that is cloned; at least one individual", PAPER,
        by_env={"Hopper": 0.3, "Ant": 0.3, "Walker2d": 0.2, "Reacher": 0.2}, minimum=0, maximum=0.5,
    )  # fmt: skip
    tournament: int = at_least_one(3, "individuals in a tournament", CODE)
    mutation_probability: float = fraction(0.9, "probability that an individual mutates", PAPER)


@dataclass(frozen=True, kw_only=True)
class GeneticSettings(SelectionSettings):
    """Hyper-parameters of the operators."""

    crossover_probability: float = fraction(0.0, "probability that the winners of two tournaments cross over", CODE)
    mutation_fraction: float = fraction(0.1, "largest share of a matrix's weights that mutate", PAPER)
    mutation_strength: float = at_least_zero(0.1, "size of a mutation, relative to the weight", PAPER)
    super_mutation_probability: float = fraction(0.05, "probability that a mutation is a strong one", PAPER)
    super_mutation_strength: float = at_least_zero(10.0, "size of a strong mutation, relative to the weight", CODE)
    reset_probability: float = fraction(0.05, "probability that a mutation draws a new weight", PAPER)

    def __post_init__(self) -> None:
        if self.super_mutation_probability + self.reset_probability > 1:
            raise ValueError("super_mutation_probability and reset_probability cannot exceed 1 together")


@dataclass
class Selection:
    """Places in the population: `elites` best first, `offspring` without repetition but the last."""

    elites: list[int]
    clones: list[int]  # where each of them is cloned: free places, and where there is none, an offspring's
    offspring: list[int]
    free: list[int]  # none of these, in random order


def select(ranks: Sequence[int], elites: int, tournament: int, random: np.random.Generator) -> Selection:
    """Elites, and the winners of as many tournaments as there are other places.

    `ranks` are the individuals, best first. A tournament is among `tournament` of them, drawn with replacement.
    """
    count = len(ranks)
    winners = random.integers(count, size=(count - elites, tournament)).min(axis=1)
    offspring = [ranks[winner] for winner in np.unique(winners)]
    if len(offspring) % 2:
        offspring.append(offspring[random.integers(len(offspring))])
    chosen = list(ranks[:elites])
    others = [index for index in range(count) if index not in offspring and index not in chosen]
    free = [others[place] for place in random.permutation(len(others))]
    return Selection(chosen, [(free or offspring).pop(0) for _ in chosen], offspring, free)


@dataclass(kw_only=True)
class GeneticState(SearchState):
    """The population."""

    population: list[ArrayRef]
    champion: ArrayRef  # the best of the generation before
    key: Key = ()  # of the generation under way, from which the operators draw


class GeneticSearch(Search[Any, GeneticState]):
    """ERL's genetic algorithm: one epoch after another; the champion is reported."""

    settings_type: ClassVar[type] = GeneticSettings
    injection: ClassVar[str] = AS_SAMPLES  # it has no variance

    def start(self, mean: np.ndarray) -> GeneticState:
        assert self.context.another is not None
        population = [self.context.share(self.context.another(index)) for index in range(self.settings.population)]
        return GeneticState(population=population, champion=population[0])

    @property
    def mean_ref(self) -> ArrayRef:
        """The champion of the last generation."""
        return self.state.champion

    def sample(self, key: Key) -> Vector:
        """Without generations the individuals come in turn."""
        self.state.key = key
        return self.state.population[key[-1] % len(self.state.population)]

    def samples(self, key: Callable[[int], Key]) -> list[Vector]:
        self.state.key = key(0)[:-1]
        return [*self.state.population]

    def tell(self, individuals: Sequence[Individual]) -> None:
        """Algorithm 1, lines 9 to 14: rank, select, cross over, mutate."""
        state = self.state
        ranks = ranking([individual.fitness for individual in individuals])
        refs = self.shared(individuals)
        state.elites, state.champion = ranks[:1], refs[ranks[0]]
        population = [np.asarray(self.context.store.load(ref)) for ref in refs]
        before = [*population]
        self.epoch(population, ranks, generator(*state.key))
        state.population = [
            ref if new is old else self.context.share(new) for ref, new, old in zip(refs, population, before)
        ]

    def epoch(self, population: list[np.ndarray], ranks: Sequence[int], random: np.random.Generator) -> list[int]:
        """Change `population`, `(P,)` float32 vectors, in place; the places of the elites' clones, which stay whole.

        Clones of the elites go to free places. The other free places get, in pairs, an elite's clone and an
        offspring, crossed over; a single one gets an offspring's clone. Then all but the elites' clones may mutate, the
        elites' own places too.
        """
        settings, tensors = self.settings, self.context.policy.tensors
        elites = max(1, int(settings.elite_fraction * len(population)))
        selection = select(ranks, elites, settings.tournament, random)
        free, clones = selection.free, selection.clones
        for place, elite in zip(clones, selection.elites):
            population[place] = population[elite].copy()
        if len(free) % 2:
            free.append(free[random.integers(len(free))])
        for first, second in zip(free[::2], free[1::2]):
            mother = population[clones[random.integers(len(clones))]]
            father = population[selection.offspring[random.integers(len(selection.offspring))]]
            if first == second:  # a single place that is left: its crossover would be with itself
                population[first] = father.copy()
                continue
            population[first], population[second] = crossover(mother, father, tensors, True, random)
        for first, second in zip(selection.offspring[::2], selection.offspring[1::2]):
            if random.random() < settings.crossover_probability:
                pair = crossover(population[first], population[second], tensors, True, random)
                population[first], population[second] = pair
        for place in range(len(population)):
            if place not in clones and random.random() < settings.mutation_probability:
                population[place] = self.mutated(population[place], random)
        return clones

    def mutated(self, vector: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """`vector` with some weights changed; biases are left alone.

        A matrix mutates with probability min(1, U), U uniform in [0, 2). Each of its up to `mutation_fraction` of
        weights, drawn with replacement, gets w + N(0, (strength w)^2), or with `super_mutation_probability` the same
        with `super_mutation_strength`, or with `reset_probability` N(0, 1).
        """
        settings, result = self.settings, vector.copy()
        boost, reset = settings.super_mutation_probability, settings.reset_probability
        for tensor in self.context.policy.tensors:
            if len(tensor.shape) != 2 or random.random() >= 2.0 * random.random():
                continue
            weights = result[tensor.place]
            mutations = int(random.integers(max(1, math.ceil(settings.mutation_fraction * len(weights)))))
            places, kinds = random.integers(len(weights), size=mutations), random.random(mutations)
            normal = random.standard_normal(mutations)
            for place, kind, draw in zip(places, kinds, normal):  # one after the other: a weight may be drawn again
                strength = settings.super_mutation_strength if kind < boost else settings.mutation_strength
                value = draw if boost <= kind < boost + reset else weights[place] * (1.0 + strength * draw)
                weights[place] = min(max(value, -LIMIT), LIMIT)
        return result
