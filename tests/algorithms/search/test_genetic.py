"""ERL's genetic operators, against its public code's rules one by one."""

import numpy as np

from erlbench.algorithms.erl import ERLSettings
from erlbench.algorithms.search.genetic import GeneticSearch, select
from erlbench.algorithms.search.search import SearchContext
from erlbench.policy import PolicySpec
from erlbench.work.seeding import generator

SPEC = PolicySpec((4, 6, 2), "tanh", (-1.0, -1.0), (1.0, 1.0))


def genetics(settings, spec=SPEC):
    """The search, whose population nobody asks for."""
    return GeneticSearch(settings, SearchContext(spec, np.zeros(spec.size), None, lambda vector: vector, None, int))


def population(count=10):
    return [np.full(SPEC.size, index + 1, np.float32) for index in range(count)]


def test_tournaments_prefer_the_better_and_never_lose_the_elites():
    ranks = [7, 3, 9, 0, 5, 1, 2, 8, 4, 6]
    wins = np.zeros(10)
    for seed in range(3000):
        chosen = select(ranks, 2, 3, generator(seed))
        assert chosen.elites == [7, 3]
        assert len(chosen.offspring) % 2 == 0
        assert not set(chosen.free) & (set(chosen.offspring) | {7, 3})
        assert set(chosen.free) | set(chosen.offspring) | {7, 3} == set(range(10))
        wins[list(set(chosen.offspring))] += 1
    shares = wins[ranks] / 3000
    # Rank r (from 0) wins a tournament of three with probability ((10 - r)^3 - (9 - r)^3) / 1000; eight are held.
    win = np.array([((10 - r) ** 3 - (9 - r) ** 3) / 1000 for r in range(10)])
    assert np.allclose(shares, 1 - (1 - win) ** 8, atol=0.03)


def test_a_clone_of_each_elite_stays_whole_and_the_elites_own_places_may_mutate():
    changed = 0
    for seed in range(200):
        individuals = population()
        ranks = list(range(10))
        clones = genetics(ERLSettings(elite_fraction=0.2)).epoch(individuals, ranks, generator(seed))
        assert len(clones) == 2
        assert [individuals[place][0] for place in clones] == [1, 2]
        assert all((individuals[place] == individuals[place][0]).all() for place in clones)
        changed += any((individuals[elite] != elite + 1).any() for elite in (0, 1) if elite not in clones)
    assert changed > 100


def test_a_single_free_place_gets_an_offsprings_clone():
    """The public code makes it a pair with itself, so that the crossover changes nothing."""
    settings, ranks, seen = ERLSettings(elite_fraction=0.3, mutation_probability=0.0), list(range(10)), 0
    for seed in range(200):
        selection = select(ranks, 3, settings.tournament, generator(seed))
        individuals = population()
        genetics(settings).epoch(individuals, ranks, generator(seed))
        whole = [(vector == vector[0]).all() for vector in individuals]
        if len(selection.free) == 4:
            seen += 1
            assert all(whole)
            assert individuals[selection.free[3]][0] - 1 in selection.offspring
        elif len(selection.free) < 4:
            assert all(whole)
    assert seen > 20


def test_mutations_change_weights_by_the_three_rules_and_no_bias():
    spec = PolicySpec((40, 50, 2), "tanh", (-1.0,) * 2, (1.0,) * 2)
    mutating = genetics(ERLSettings(mutation_fraction=1.0), spec)
    original = np.full(spec.size, 100.0, np.float32)
    weight, bias = spec.tensors[0], spec.tensors[1]
    changes, mutated = [], 0
    for seed in range(300):
        result = mutating.mutated(original, generator(seed))
        assert (result[bias.place] == 100.0).all()
        part = result[weight.place]
        mutated += (part != 100.0).any()
        changes.append(part[part != 100.0])
    assert (original == 100.0).all()
    assert abs(mutated / 300 - 0.75) < 0.08  # P(u < 2 v) for uniform u, v
    values = np.concatenate(changes)
    reset = np.abs(values) < 5  # N(0, 1); the others stay near 100 or go far away
    assert abs(reset.mean() - 0.05) < 0.02
    usual = np.abs(values - 100) < 50
    assert 0.85 < usual.mean() < 0.95
    once = np.std(values[usual])
    assert 9 < once < 14  # 0.1 * 100; a little more where a weight was drawn twice


def test_a_weight_never_leaves_its_limit():
    spec = PolicySpec((3, 2), "tanh", (-1.0,) * 2, (1.0,) * 2)
    settings = ERLSettings(
        mutation_fraction=1.0, super_mutation_probability=1.0, reset_probability=0.0, super_mutation_strength=1e9
    )
    results = [genetics(settings, spec).mutated(np.ones(spec.size, np.float32), generator(seed)) for seed in range(50)]
    assert max(np.abs(result).max() for result in results) == 1e6
