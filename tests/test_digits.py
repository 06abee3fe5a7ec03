"""The two sides of the claim about digits: equal but for the gradient, and as good as scikit-learn's own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks import digits
from erlbench.envs.digits import images
from erlbench.envs.registry import problem
from erlbench.running.in_process import SearchHere

neural_network = pytest.importorskip("sklearn.neural_network")


def test_both_sides_start_with_the_same_weights():
    with SearchHere(
        "openai-es", digits.ENVIRONMENT, problem(digits.ENVIRONMENT), digits.SETTINGS, 3, "paper"
    ) as search:
        np.testing.assert_array_equal(search.parameters(), digits.first_weights(3))


def test_the_network_of_pytorch_is_the_policys():
    import torch

    weights = digits.first_weights(0)
    pixels, labels = images(held_out=True)
    with torch.no_grad():
        chosen = digits.network(weights)(torch.from_numpy(pixels)).argmax(1).numpy()
    assert digits.accuracy(weights) == np.mean(chosen == labels)


def test_both_sides_learn():
    for name, updates in ((digits.ES, 12), (digits.BACKPROPAGATION, 12)):
        train, _ = digits.SIDES[name]
        *_, last = itertools.islice(train(0), updates)
        assert digits.accuracy(last.parameters) > digits.accuracy(digits.first_weights(0)) + 0.1
        assert last.cpu_s > 0


def test_the_accuracy_is_within_reach_of_scikit_learns_own_network():
    """Its classifier with the same layers ends above the claim's 90 %, and so does ours, two points apart at most."""
    found = neural_network.MLPClassifier((digits.HIDDEN,), "tanh", batch_size=100, learning_rate_init=0.01, alpha=0,
                                         max_iter=30, random_state=0)  # fmt: skip
    found.fit(*images(held_out=False))
    theirs = found.score(*images(held_out=True))
    *_, last = itertools.islice(digits.backpropagation(0), 400)
    assert theirs > digits.ACCURACY
    assert digits.accuracy(last.parameters) == pytest.approx(theirs, abs=0.02)


def test_a_row_counts_updates_and_images():
    row = digits.reach(digits.BACKPROPAGATION, 0, 0.5)
    assert row.accuracy >= 0.5
    assert row.images == 100 * row.updates > 100
    assert 0 < row.cpu_s <= row.process_s
