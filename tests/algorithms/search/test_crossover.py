"""Crossover: rows from the two parents only, and how many."""

import numpy as np
import pytest

from erlbench.algorithms.search.genetic import crossover, taken
from erlbench.policy import layer_slices, parameter_count
from erlbench.policy.spec import network_tensors

SIZES = (5, 400, 300, 3)


def parents(sizes=SIZES):
    """Two vectors without a common number."""
    size = parameter_count(sizes)
    return np.arange(size, dtype=np.float32), -1.0 - np.arange(size, dtype=np.float32)


@pytest.mark.parametrize("exchange", [False, True])
def test_rows_come_whole_from_one_of_the_parents(exchange):
    mean, winner = parents()
    kept = mean.copy(), winner.copy()
    child, other = crossover(mean, winner, network_tensors(SIZES), exchange, np.random.default_rng(1))
    np.testing.assert_array_equal(mean, kept[0])
    np.testing.assert_array_equal(winner, kept[1])
    assert child.dtype == np.float32
    for one in (child, other):
        assert ((one == mean) | (one == winner)).all()
    assert (other == mean).any()
    if exchange:  # one part overwrites the other: they are never swapped
        assert not ((child == winner) & (other == mean)).any()
    else:
        assert ((child == winner) & (other == mean)).any()
    for (weight, _), inputs in zip(layer_slices(SIZES), SIZES):
        from_winner = (child[weight] == winner[weight]).reshape(-1, inputs)
        assert (from_winner.all(1) | ~from_winner.any(1)).all()
    assert 0 < (child == winner).sum() < len(child)


@pytest.mark.parametrize(
    ("exchange", "most", "expected"),
    [
        (False, 2, np.exp(-1.0)),  # 1 - E[(1 - 1/(2R))^k] for k uniform in 0 .. 2R: 1 - (1 - 1/e)
        (False, 1, 1 - 2 * (1 - np.exp(-0.5))),  # biases: k uniform in 0 .. R
        (True, 2, (1 - (1 - np.exp(-2.0)) / 2) / 2),  # half of those that any replacement touches
        (True, 1, np.exp(-1.0) / 2),
    ],
)
def test_share_of_the_winner_s_parts(exchange, most, expected):
    random, parts = np.random.default_rng(0), 500
    shares = [len(taken(parts, int(random.integers(most * parts)), exchange, random)[0]) / parts for _ in range(2000)]
    assert np.mean(shares) == pytest.approx(expected, abs=0.015)
    if most == 2 and not exchange:
        assert np.mean(shares) == pytest.approx(0.37, abs=0.02)


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
        np.testing.assert_array_equal(to_first, np.flatnonzero(mine))
        np.testing.assert_array_equal(to_second, np.flatnonzero(theirs == 0))
