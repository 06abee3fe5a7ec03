"""Parts of evolution strategies: SciPy's ranks, sums of noise, PyTorch's optimisers, ESAC's sigma, time limits."""

from ast import literal_eval

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata

from erlbench.algorithms.openai_es import OpenAIES, OpenAIESSettings
from erlbench.algorithms.search.esac import raw_step, smooth_l1, tuned
from erlbench.algorithms.search.evolution_strategy import (
    centred_ranks,
    gradient,
    gradient_tasks,
    mirrored_weights,
    shaped,
)
from erlbench.algorithms.search.optimisers import Adam, Sgd
from erlbench.algorithms.search.time_limit import TimeLimit
from erlbench.work.noise import NoiseTable
from erlbench.work.seeding import generator
from erlbench.work.store import Store
from erlbench.work.workspace import Workspace
from tests.tables import cells


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
    assert_allclose(ranks.ravel(), expected, atol=1e-15)
    assert ranks.sum() == pytest.approx(0)


def test_ranks_take_nan_for_the_worst():
    assert_allclose(centred_ranks([3.0, np.nan, 7.0, 5.0, -np.inf]), [0.0, -0.375, 0.5, 0.25, -0.375])


def test_returns_as_weights_of_pairs():
    assert_allclose(shaped(np.array([[1.0, 3.0]]), "standardised"), [[-1, 1]])
    assert_array_equal(shaped(np.full((3, 2), 4.0), "standardised"), np.zeros((3, 2)))
    assert_array_equal(shaped(np.array([[1.0, 3.0]]), "raw"), [[1, 3]])
    fitness = np.array([[1.0, 0.0], [0.0, 3.0]])
    assert_allclose(mirrored_weights(fitness, 0.1, "code"), [0.25, -0.75])
    assert_allclose(mirrored_weights(fitness, 0.1, "paper"), [2.5, -7.5])


@pytest.mark.parametrize("table", [None, NoiseTable(1000, 3)])
def test_blocks_add_up_in_their_order_whatever_the_order_of_results(new_fake, table):
    algorithm = new_fake(OpenAIES, OpenAIESSettings(hidden=())).algorithm
    if table:
        algorithm.context.store.hold(table)
    random, keys = generator(3), [(7, 2, index) for index in range(133)]
    weights = random.standard_normal(len(keys))
    weights[4] = 0.0
    blocks = gradient_tasks(algorithm, keys, weights, 11, table)
    assert [len(block.settings.keys) for block in blocks] == [64, 64, 5]  # other blocks would round otherwise
    found = estimate(algorithm, keys, weights, 11, table)
    assert_array_equal(found, estimate(algorithm, keys, weights, 11, table, reverse=True))
    noise = np.array([algorithm.context.store.noise(key, 11, table) for key in keys])
    assert_allclose(found, weights @ noise, rtol=1e-12)


def ends(ours, kind, options, gradients):
    """Where our optimiser ends, and PyTorch's of a kind."""
    vector, moments = np.arange(float(gradients.shape[1])), ours.start(gradients.shape[1])
    theirs = torch.nn.Parameter(torch.tensor(vector))
    optimiser = kind([theirs], **options)
    for slope in gradients:
        theirs.grad = torch.tensor(slope)
        optimiser.step()
        vector += ours.step(moments, slope)
    return vector, theirs.detach().numpy()


@pytest.mark.parametrize(("epsilon", "tolerance"), [(1e-8, 1e-5), (1e-20, 1e-12)])
def test_adam_is_pytorchs_but_for_the_place_of_epsilon(epsilon, tolerance):
    gradients = generator(1).standard_normal((50, 4)) * [1, 10, 0.1, 1]
    ours, theirs = ends(Adam(0.03, epsilon=epsilon), torch.optim.Adam, {"lr": 0.03, "eps": epsilon}, gradients)
    assert_allclose(ours, theirs, atol=tolerance, rtol=0)


def test_adams_first_step_with_its_epsilon_beside_the_uncorrected_root():
    adam = Adam(0.1, epsilon=0.5)
    step = adam.step(adam.start(1), np.array([2.0]))
    assert step == pytest.approx(-0.1 * np.sqrt(1 - 0.999) / 0.1 * 0.2 / (np.sqrt(0.001 * 4) + 0.5))


def test_sgd_is_pytorchs_with_dampening_after_a_gradient_of_zero():
    gradients, options = generator(2).standard_normal((21, 3)), {"lr": 0.2, "momentum": 0.9, "dampening": 0.9}
    gradients[0] = 0.0
    assert_allclose(*ends(Sgd(0.2), torch.optim.SGD, options, gradients), rtol=1e-12)


def test_smooth_l1_is_torchs():
    for x, y in np.random.default_rng(0).normal(scale=2.0, size=(50, 2)):
        theirs = torch.nn.functional.smooth_l1_loss(torch.tensor(x), torch.tensor(y)).item()
        assert smooth_l1(x, y) == pytest.approx(theirs, rel=1e-12)


def test_a_step_of_sigma_by_hand():
    """0.005 / (10 * 0.005) * 0.125 for ranks, which are +0.5 for the best and 0 on average whatever the returns."""
    returns = np.array([3.0, -1.0, 100.0, 7.0])
    assert raw_step(centred_ranks(returns), 0.005, 0.005, 10) == pytest.approx(0.0125)
    assert raw_step(returns, 0.005, 0.005, 10) == pytest.approx(0.1 * (100.0 - 27.25 - 0.5))
    assert raw_step(np.array([np.nan, 1.0, 1.5]), 1.0, 1.0, 1) == pytest.approx(0.5 * 0.25**2)
    assert raw_step(np.array([np.nan, -np.inf]), 1.0, 1.0, 1) == 0.0
    assert [tuned(0.005, step, 1e-4) for step in (0.0125, 5e-5, -1.0)] == pytest.approx([0.0051, 0.00505, 0.005])


# The rule, the highest limit, the first one, and others after episodes of these lengths; rounded down.
LIMITS = """
environment         | 1000 | 1000 | [([1000, 1000], 1000)]
adaptive:30,0.5,1.5 | 1000 | 30   | [([30, 30, 5, 5], 45), ([45, 5, 5, 5], 45), ([], 45)]
adaptive:31,1,1.5   | 50   | 31   | [([31], 46), ([46], 50)]
adaptive:31,1,1.5   | 20   | 20   | []
mean:2              | 1000 | 1000 | [([10, 21], 31), ([900, 900], 1000)]
"""


@pytest.mark.parametrize(("text", "highest", "first", "limits"), cells(LIMITS))
def test_a_limit_by_its_rule(text, highest, first, limits):
    rule = TimeLimit.parse(text, int(highest))
    assert (limit := rule.first) == int(first)
    for lengths, expected in literal_eval(limits):
        assert (limit := rule.next(limit, lengths)) == expected


@pytest.mark.parametrize(
    "text", ["none", "adaptive", "adaptive:1,2,3", "adaptive:0,1,2", "adaptive:inf,0.5,2", "mean:0.5", "mean:a", "mean"]
)
def test_a_time_limit_of_another_form_is_refused(text):
    with pytest.raises(ValueError, match="time_limit must be"):
        TimeLimit.parse(text, 100)
