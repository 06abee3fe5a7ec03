import numpy as np
import pytest

from erlbench.algorithms.search.aes_updates import freeze, online_adaptive, online_fixed, slide, success_rule


def test_online_fixed_by_hand():
    old, new, z = np.array([0.0, 1.0]), np.array([0.2, 1.0]), np.array([1.0, 1.0], np.float32)
    variance = online_fixed(np.array([0.3, 0.5]), z, old, new, 0.2, 10.0)
    np.testing.assert_allclose(variance, [0.3 + (1.0 * 0.8 - 0.3) / 10, 0.5 - 0.05])
    assert variance.dtype == np.float64


@pytest.mark.parametrize(
    ("p", "expected"),
    [(0.2, 0.3 + (0.8 - 0.3) / 4), (0.5, 0.5), (0.75, 0.25), (1.0, 1e-5), (0.0, 0.3), (-0.5, 0.3), (0.0009, 0.3)],
)
def test_online_adaptive_by_hand(p, expected):
    """z lies 1 from the old mean; from p = 1/2 on, n is 1 and the variance (1 - p); p = 1 leaves the floor."""
    old, z = np.array([0.0]), np.array([1.0], np.float32)
    variance = online_adaptive(np.array([0.3]), z, old, (1 - p) * old + p * z, p)
    np.testing.assert_allclose(variance, [expected])


def test_variance_never_falls_below_the_floor():
    zero = np.zeros(2)
    np.testing.assert_array_equal(online_fixed(np.full(2, 1e-5), zero, zero, zero, 0.5), [1e-5, 1e-5])
    np.testing.assert_array_equal(success_rule(np.full(2, 1e-5), [False] * 10), [1e-5, 1e-5])


def test_success_rule_needs_more_than_a_fifth():
    np.testing.assert_allclose(success_rule(np.array([0.1]), [True] * 2 + [False] * 8), [0.1 * 0.99])
    np.testing.assert_allclose(success_rule(np.array([0.1]), [True] * 3 + [False] * 7), [0.1 / 0.99])


def test_window_slides():
    window, history = [], []
    for outcome in [True] * 3 + [False] * 8:
        window, acts = slide(window, outcome, 3)
        history.append((sum(window), acts))
    assert history == [(1, False), (2, False), (3, False), (2, True), (1, True)] + [(0, True)] * 6


def test_window_of_the_public_code_freezes():
    window, history = [], []
    for outcome in [True, False, True] + [False] * 4:
        window, acts = freeze(window, outcome, 3)
        history.append((sum(window), acts))
    assert history == [(1, False), (1, False), (2, False)] + [(2, True)] * 4
