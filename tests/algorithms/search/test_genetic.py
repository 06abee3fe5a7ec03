"""ERL's genetic operators, against its public code's rules one by one."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from erlbench.algorithms.erl import ERLSettings
from erlbench.algorithms.search.genetic import GeneticSearch, crossover, select, taken
from erlbench.algorithms.search.search import SearchContext
from erlbench.policy import PolicySpec, layer_slices, parameter_count
from erlbench.policy.spec import network_tensors
from erlbench.work.seeding import generator

SPEC = PolicySpec((4, 6, 2), "tanh", (-1.0, -1.0), (1.0, 1.0))


def genetics(settings, spec=SPEC):
    """The search, whose population nobody asks for."""
    return GeneticSearch(settings, SearchContext(spec, np.zeros(spec.size), None, lambda vector: vector, None, int))


def test_tournaments_prefer_the_better_and_never_lose_the_elites():
    ranks = [7, 3, 9, 0, 5, 1, 2, 8, 4, 6]
    wins = np.zeros(10)
    for seed in range(3000):
        chosen = select(ranks, 2, 3, generator(seed))
        assert chosen.elites == [7, 3]
        assert len(chosen.offspring) % 2 == 0
        assert len({*chosen.clones}) == 2
        assert not {*chosen.free} & {*chosen.clones, *chosen.offspring, 7, 3}
        assert {*chosen.free, *chosen.clones, *chosen.offspring, 7, 3} == set(range(10))
        wins[list(set(chosen.offspring))] += 1
    shares = wins[ranks] / 3000
    # Rank r (from 0) wins a tournament of three with probability ((10 - r)^3 - (9 - r)^3) / 1000; eight are held.
    win = np.array([((10 - r) ** 3 - (9 - r) ** 3) / 1000 for r in range(10)])
    assert np.allclose(shares, 1 - (1 - win) ** 8, atol=0.03)


def test_a_clone_of_each_elite_stays_whole_and_the_elites_own_places_may_mutate():
    changed = 0
    for seed in range(200):
        individuals = [np.full(SPEC.size, index + 1, np.float32) for index in range(10)]
        clones = genetics(ERLSettings(elite_fraction=0.2)).epoch(individuals, list(range(10)), generator(seed))
        assert len(clones) == 2
        assert [individuals[place][0] for place in clones] == [1, 2]
        assert all((individuals[place] == individuals[place][0]).all() for place in clones)
        changed += any((individuals[elite] != elite + 1).any() for elite in (0, 1) if elite not in clones)
    assert changed > 100


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


def test_a_share_of_zero_mutates_no_weight():
    mutating, vector = genetics(ERLSettings(mutation_fraction=0.0)), np.ones(SPEC.size, np.float32)
    assert all((mutating.mutated(vector, generator(seed)) == vector).all() for seed in range(5))


def test_a_weight_never_leaves_its_limit():
    spec = PolicySpec((3, 2), "tanh", (-1.0,) * 2, (1.0,) * 2)
    settings = ERLSettings(
        mutation_fraction=1.0, super_mutation_probability=1.0, reset_probability=0.0, super_mutation_strength=1e9
    )
    results = [genetics(settings, spec).mutated(np.ones(spec.size, np.float32), generator(seed)) for seed in range(50)]
    assert max(np.abs(result).max() for result in results) == 1e6


SIZES = (5, 400, 300, 3)


@pytest.mark.parametrize("exchange", [False, True])
def test_rows_come_whole_from_one_of_the_parents(exchange):
    """The parents have no number in common."""
    mean = np.arange(parameter_count(SIZES), dtype=np.float32)
    winner = -1.0 - mean
    kept = mean.copy(), winner.copy()
    child, other = crossover(mean, winner, network_tensors(SIZES), exchange, np.random.default_rng(1))
    assert_array_equal((mean, winner), kept)
    assert child.dtype == np.float32
    for one in (child, other):
        assert ((one == mean) | (one == winner)).all()
    assert (other == mean).any()
    # With an exchange one part overwrites the other: they are never swapped.
    assert ((child == winner) & (other == mean)).any() == (not exchange)
    for (weight, _), inputs in zip(layer_slices(SIZES), SIZES):
        from_winner = (child[weight] == winner[weight]).reshape(-1, inputs)
        assert (from_winner.all(1) | ~from_winner.any(1)).all()
    assert 0 < (child == winner).sum() < len(child)


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (2, np.exp(-1.0)),  # 1 - E[(1 - 1/(2R))^k] for k uniform in 0 .. 2R: 1 - (1 - 1/e)
        (1, 1 - 2 * (1 - np.exp(-0.5))),  # biases: k uniform in 0 .. R
    ],
)
def test_share_of_the_winner_s_parts_without_an_exchange(most, expected):
    random, parts = np.random.default_rng(0), 500
    shares = [len(taken(parts, int(random.integers(most * parts)), False, random)[0]) / parts for _ in range(2000)]
    assert np.mean(shares) == pytest.approx(expected, abs=0.015)


def test_an_exchange_equals_replacements_in_place():
    """One after another, both ways, as in the code that ERL published."""
    for seed in range(50):
        random, twin = np.random.default_rng(seed), np.random.default_rng(seed)
        parts, replacements = 7, seed % 15
        to_first, to_second = taken(parts, replacements, True, random)
        mine, theirs = np.zeros(parts, int), np.ones(parts, int)
        places, coins = twin.integers(parts, size=replacements), twin.random(replacements)
        for place, coin in zip(places, coins):
            if coin < 0.5:
                mine[place] = theirs[place]
            else:
                theirs[place] = mine[place]
        assert_array_equal(to_first, np.flatnonzero(mine))
        assert_array_equal(to_second, np.flatnonzero(theirs == 0))
