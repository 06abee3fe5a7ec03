import math

import numpy as np
import pytest

from erlbench.algorithms.search.cem import cem_variance, decayed, elite_weights, weighted_moments
from erlbench.algorithms.search.search_distribution import SearchDistribution, ranking
from erlbench.work.seeding import generator
from erlbench.work.store import Store


@pytest.fixture
def store():
    store = Store.create()
    yield store
    store.close()


@pytest.fixture
def share(store):
    names = iter(range(1000))
    return lambda array: store.put(f"{next(names)}.shared", array)


def test_weights_of_five_elites():
    np.testing.assert_allclose(elite_weights(5), [0.4295, 0.2634, 0.1662, 0.0972, 0.0437], atol=5e-5)
    assert elite_weights(5).sum() == pytest.approx(1.0)


def test_ranking_keeps_the_order_of_ties_and_puts_broken_values_last():
    assert ranking([1.0, 3.0, 3.0, 2.0, 3.0]) == [1, 2, 4, 3, 0]
    assert ranking([math.nan, -5.0, math.inf, 2.0, -math.inf]) == [3, 1, 0, 2, 4]


def test_update_of_two_parameters_by_hand():
    """lambda = log(3), log(1.5) over log(4.5); the spread is around the old mean (0, 1)."""
    weights = elite_weights(2)
    np.testing.assert_allclose(weights, [0.7304227, 0.2695773], atol=1e-7)
    elites = [[np.array([1, 2], np.float32)], [np.array([3, 0], np.float32)]]
    centre, spread = weighted_moments(np.array([0.0, 1.0]), elites, weights)
    np.testing.assert_allclose(centre, [1.5391546, 1.4608454], atol=1e-7)
    np.testing.assert_allclose(spread, [3.1566184, 1.0], atol=1e-7)
    np.testing.assert_allclose(cem_variance(spread, 0.01, 2, False), [3.1666184, 1.01], atol=1e-7)
    np.testing.assert_allclose(cem_variance(spread, 0.01, 2, True), [1.5883092, 0.51], atol=1e-7)


def test_epsilon_decays_towards_its_end():
    assert decayed(1e-3, 0.95, 1e-5) == pytest.approx(9.505e-4)
    epsilon = 1e-3
    for _ in range(10):
        epsilon = decayed(epsilon, 0.9 ** (1 / 10), 1e-5)
    assert epsilon == pytest.approx(decayed(1e-3, 0.9, 1e-5))


def test_antithetic_halves_mirror_each_other(store, share):
    mean = np.array([1.0, -2.0, 0.5])
    distribution = SearchDistribution.create(mean, np.array([0.04, 0.01, 1.0]), share)
    samples = [store.perturbed(z) for z in distribution.population(4, True, lambda index: (1, 2, index))]
    for index in range(2):
        np.testing.assert_allclose(samples[index] + samples[2 + index], 2 * mean, atol=1e-6)
        noise = generator(1, 2, index).standard_normal(3, dtype=np.float32)
        np.testing.assert_allclose(samples[index], mean + np.array([0.2, 0.1, 1.0]) * noise, rtol=1e-6, atol=1e-6)
    assert not np.allclose(samples[0], samples[1])


def test_without_antithetic_pairs_all_samples_are_independent(share):
    distribution = SearchDistribution.create(np.zeros(3), 1.0, share)
    population = distribution.population(5, False, lambda index: (1, index))
    assert [z.key for z in population] == [(1, index) for index in range(5)]
    assert {z.sign for z in population} == {1}
