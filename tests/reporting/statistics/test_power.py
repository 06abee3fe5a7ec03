from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.stats.power import TTestIndPower

from erlbench.reporting.significance import smallest_difference, std_upper_limit, welch_power


@pytest.mark.parametrize(("effect", "n"), [(0.5, 5), (1.0, 10), (2.0, 4), (0.2, 200), (6.0, 3)])
def test_power_equals_statsmodels_for_equal_spreads(effect, n):
    ours = welch_power(effect * 7, 7, 7, n, n)
    assert ours == pytest.approx(TTestIndPower().power(effect, n, 0.05), abs=1e-9)


@pytest.mark.parametrize("level", [0.05, 0.05 / 6, 0.001])
def test_power_is_a_number_and_grows_everywhere(level):
    for n, m, spread in ((2, 2, 1.0), (5, 5, 0.5), (10, 4, 3.0), (40, 60, 0.1)):
        found = [welch_power(d, 1.0, spread, n, m, level=level) for d in np.linspace(0, 30, 301)]
        assert np.isfinite(found).all()
        assert (np.diff(found) > -1e-7).all()


def test_power_at_the_ends():
    assert welch_power(0, 1, 1, 5, 5) == pytest.approx(0.05)
    assert welch_power(1e9, 1, 1, 5, 5) == 1.0
    assert welch_power(1, 0, 0, 5, 5) == 1.0
    assert math.isnan(welch_power(1, 1, 1, 1, 5))


def test_smallest_difference_has_the_power():
    d = smallest_difference(90, 150, 5, 8)
    assert welch_power(d, 90, 150, 5, 8) == pytest.approx(0.8)
    assert math.isnan(smallest_difference(0, 0, 5, 5))
    assert math.isnan(smallest_difference(1, 1, 1, 5))


def test_upper_limit_of_the_spread_covers():
    rng = np.random.default_rng(1)
    limits = [std_upper_limit(rng.normal(size=5).std(ddof=1), 5) for _ in range(4000)]
    assert np.mean(np.array(limits) >= 1) == pytest.approx(0.8, abs=0.02)
