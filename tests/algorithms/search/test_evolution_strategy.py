"""Ranks against SciPy, the gradient estimate against linear functions, and its tasks."""

import numpy as np
import pytest
from scipy.stats import rankdata

from erlbench.algorithms.base import Algorithm, Context
from erlbench.algorithms.search.evolution_strategy import (
    PERTURBATIONS,
    centred_ranks,
    gradient,
    gradient_tasks,
    mirrored_weights,
    shaped,
)
from erlbench.envs.registry import EnvSpec, Problem
from erlbench.work.noise import NoiseTable
from erlbench.work.seeding import generator
from erlbench.work.store import Store
from erlbench.work.workspace import Workspace


class Bare(Algorithm):
    """Only ids and a store."""

    def _ask(self):
        return []

    def _tell(self, task, result):
        pass

    @classmethod
    def policy_for(cls, settings, problem):
        return None

    policy = None


@pytest.fixture
def algorithm():
    store = Store.create()
    problem = Problem(EnvSpec("Fake-v0", 100), 2, 1, (-1.0,), (1.0,))
    yield Bare(None, Context(problem=problem, seed=7, total_timesteps=1000, workers=1, store=store, replay=None))
    store.close()


def estimate(algorithm, keys, weights, size, table=None, reverse=False):
    tasks = gradient_tasks(algorithm, keys, weights, size, table)
    workspace = Workspace(Store(algorithm.context.store.folder))
    results = [workspace.run(task) for task in (reversed(tasks) if reverse else tasks)]
    return gradient(algorithm, results)


@pytest.mark.parametrize("values", [[3.0], [1.0, 2.0], [2.0, 2.0, 2.0], [5, 1, 5, 0, 1, 1, 9, 9], [[1, 4], [4, 2]]])
def test_ranks_are_scipys_average_ranks_between_plus_and_minus_a_half(values):
    ranks = centred_ranks(values)
    assert ranks.shape == np.shape(values)
    expected = (rankdata(values, axis=None) - 1) / max(1, np.size(values) - 1) - 0.5 if np.size(values) > 1 else [0.0]
    np.testing.assert_allclose(ranks.ravel(), expected, atol=1e-15)
    assert ranks.sum() == pytest.approx(0)


def test_ranks_reach_both_ends_and_take_nan_for_the_worst():
    np.testing.assert_allclose(centred_ranks([3.0, np.nan, 7.0, 5.0, -np.inf]), [0.0, -0.375, 0.5, 0.25, -0.375])


def test_standardised_returns():
    np.testing.assert_allclose(shaped(np.array([[1.0, 3.0]]), "standardised"), [[-1, 1]])
    np.testing.assert_array_equal(shaped(np.full((3, 2), 4.0), "standardised"), np.zeros((3, 2)))
    np.testing.assert_array_equal(shaped(np.array([[1.0, 3.0]]), "raw"), [[1, 3]])


def test_weights_of_pairs_divide_by_the_number_of_returns():
    fitness = np.array([[1.0, 0.0], [0.0, 3.0]])
    np.testing.assert_allclose(mirrored_weights(fitness, 0.1, "code"), [0.25, -0.75])
    np.testing.assert_allclose(mirrored_weights(fitness, 0.1, "paper"), [2.5, -7.5])


@pytest.mark.parametrize("table", [None, NoiseTable(1000, 3)])
def test_blocks_add_up_in_their_order_whatever_the_order_of_results(algorithm, table):
    if table:
        algorithm.context.store.hold(table)
    random, keys = generator(3), [(7, 2, index) for index in range(PERTURBATIONS * 2 + 5)]
    weights = random.standard_normal(len(keys))
    weights[4] = 0.0
    found = estimate(algorithm, keys, weights, 11, table)
    np.testing.assert_array_equal(found, estimate(algorithm, keys, weights, 11, table, reverse=True))
    noise = np.array([algorithm.context.store.noise(key, 11, table) for key in keys])
    np.testing.assert_allclose(found, weights @ noise, rtol=1e-12)
