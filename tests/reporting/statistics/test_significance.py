"""Levels, corrections and the power of tests of two samples, beside statsmodels and simulations.

tests/audit/test_verdicts.py has the tests themselves.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestIndPower

from erlbench.reporting.significance import (
    detectable,
    holm,
    rank_level,
    smallest_difference,
    std_upper_limit,
    unseen_failures,
    welch_power,
)
from tests.audit import verdict_rates


@pytest.mark.parametrize(("n", "m", "tests"), [(6, 6, 1), (10, 20, 6)])
def test_what_is_detectable_is_found_in_about_80_of_100_studies(n, m, tests):
    rng = np.random.default_rng(0)
    spreads = [std * math.sqrt((k - 1) / stats.chi2.ppf(0.2, k - 1)) for std, k in ((1, n), (1, m))]
    apart = detectable(1, 1, n, m, level=rank_level(n, m) / tests)
    x, y = apart + spreads[0] * rng.normal(size=(4000, n)), spreads[1] * rng.normal(size=(4000, m))
    assert 0.7 < verdict_rates.differ(x, y, tests).mean() < 0.88


@pytest.mark.parametrize(
    ("n", "m", "level"), [(6, 6, 0.015), (9, 40, 0.015), (40, 6, 0.015), (10, 10, 0.025), (40, 10, 0.025)]
)
def test_the_smaller_side_sets_the_level(n, m, level):
    assert rank_level(n, m) == level
    assert math.isnan(rank_level(5, 40))


@pytest.mark.parametrize(
    ("values", "adjusted"),
    [
        ([[0.01, 0.04, 0.03]], [0.03, 0.06, 0.06]),
        ([[0.9, 0.8]], [1.0, 1.0]),
        ([[]], []),
        ([[math.nan, 0.02, 0.03]], [math.nan, 0.04, 0.04]),
        # 0.012 of 0.015 comes after 0.016 of 0.025; each is adjusted at its own level.
        ([[0.012, 0.016, 0.001], [0.015, 0.025, 0.025]], [0.0192, 0.032, 0.003]),
    ],
)
def test_holm_by_hand(values, adjusted):
    assert holm(*values) == pytest.approx(adjusted, nan_ok=True)


@pytest.mark.parametrize(("effect", "n"), [(0.5, 5), (1.0, 10), (0.2, 200), (6.0, 3)])
def test_power_equals_statsmodels_for_equal_spreads(effect, n):
    ours = welch_power(effect * 7, 7, 7, n, n)
    assert ours == pytest.approx(TTestIndPower().power(effect, n, 0.05), abs=1e-9)


def test_power_at_the_ends():
    assert welch_power(0, 1, 1, 5, 5) == pytest.approx(0.05)
    assert welch_power(1e9, 1, 1, 5, 5) == welch_power(1, 0, 0, 5, 5) == 1.0
    assert welch_power(smallest_difference(90, 150, 5, 8), 90, 150, 5, 8) == pytest.approx(0.8)
    unknown = welch_power(1, 1, 1, 1, 5), smallest_difference(0, 0, 5, 5), smallest_difference(1, 1, 1, 5)
    assert np.isnan(unknown).all()


def test_limits_of_what_samples_show():
    rng = np.random.default_rng(1)
    limits = [std_upper_limit(rng.normal(size=5).std(ddof=1), 5) for _ in range(4000)]
    assert np.mean(np.array(limits) >= 1) == pytest.approx(0.8, abs=0.02)
    for seeds in (6, 20):
        assert (1 - unseen_failures(seeds)) ** seeds == pytest.approx(0.05)
