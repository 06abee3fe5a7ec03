"""Automatic mutation tuning against PyTorch's Huber loss and the paper's identity."""

import numpy as np
import pytest

from erlbench.algorithms.search.esac import raw_step, rewards, smooth_l1, tuned


def test_smooth_l1_by_hand_and_as_torch_has_it():
    import torch

    assert smooth_l1(0.5, 0.0) == 0.125
    assert smooth_l1(3.0, 1.0) == 1.5
    assert smooth_l1(1.0, 3.0) == 1.5
    for x, y in np.random.default_rng(0).normal(scale=2.0, size=(50, 2)):
        theirs = torch.nn.functional.smooth_l1_loss(torch.tensor(x), torch.tensor(y)).item()
        assert smooth_l1(x, y) == pytest.approx(theirs, rel=1e-12)


def test_step_by_hand():
    """0.005 / (10 * 0.005) * 0.125 for ranks, which are +0.5 for the best and 0 on average whatever the returns."""
    returns = np.array([3.0, -1.0, 100.0, 7.0])
    assert raw_step(rewards(returns, True), 0.005, 0.005, 10) == pytest.approx(0.0125)
    assert raw_step(rewards(returns, False), 0.005, 0.005, 10) == pytest.approx(0.1 * (100.0 - 27.25 - 0.5))
    assert raw_step(np.full(4, 2.0), 0.005, 0.005, 10) == 0.0
    assert raw_step(np.array([np.nan, 1.0, 1.5]), 1.0, 1.0, 1) == pytest.approx(0.5 * 0.25**2)
    assert raw_step(np.array([np.nan, -np.inf]), 1.0, 1.0, 1) == 0.0


def test_the_step_is_clipped_and_never_negative():
    assert tuned(0.005, 0.0125, 1e-4) == pytest.approx(0.0051)
    assert tuned(0.005, 5e-5, 1e-4) == pytest.approx(0.00505)
    random = np.random.default_rng(0)
    sigma = 0.005
    for _ in range(100):
        following = tuned(sigma, raw_step(random.normal(size=10), sigma, 1e-3, 50), 1e-4)
        assert 0.0 <= following - sigma <= 1e-4 + 1e-15
        sigma = following
