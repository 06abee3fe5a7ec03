from __future__ import annotations

import math

import numpy as np
import pytest

from erlbench.reporting.statistics.significance import holm, incomplete_beta, welch

scipy_stats = pytest.importorskip("scipy.stats")
scipy_special = pytest.importorskip("scipy.special")


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 7), (5, 5), (10, 10), (30, 4)])
def test_welch_equals_scipys(n, m):
    rng = np.random.default_rng(n)
    for shift in (0.0, 1.0, 20.0):
        x, y = rng.normal(0, 1, n), rng.normal(shift, 3, m)
        theirs = scipy_stats.ttest_ind(x, y, equal_var=False).pvalue
        assert welch(x, y) == pytest.approx(theirs, rel=1e-8, abs=1e-15)


def test_welch_cannot_test_single_values_or_no_spread():
    assert math.isnan(welch([1.0], [2.0, 3.0]))
    assert math.isnan(welch([1.0, 1.0], [2.0, 2.0]))


@pytest.mark.parametrize(("x", "a", "b"), [(0.3, 2, 0.5), (0.999, 5, 0.5), (0.01, 7.3, 0.5), (0.5, 0.7, 3), (0, 1, 1)])
def test_incomplete_beta_equals_scipys(x, a, b):
    assert incomplete_beta(x, a, b) == pytest.approx(scipy_special.betainc(a, b, x), rel=1e-10)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_does_not_count_what_was_not_tested():
    adjusted = holm([float("nan"), 0.02, 0.03])
    assert math.isnan(adjusted[0])
    assert adjusted[1:] == pytest.approx([0.04, 0.04])
