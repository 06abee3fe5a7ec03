from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats import weightstats
from statsmodels.stats.power import TTestIndPower

from erlbench.reporting.statistics.significance import compare, holm, welch


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


def test_difference_beside_statsmodels():
    rng = np.random.default_rng(3)
    x, y = rng.normal(10, 2, 7), rng.normal(8, 5, 11)
    found = compare(x, y)
    theirs = weightstats.CompareMeans(weightstats.DescrStatsW(x), weightstats.DescrStatsW(y))
    assert found.difference == pytest.approx(x.mean() - y.mean())
    assert found.interval == pytest.approx(theirs.tconfint_diff(usevar="unequal"))
    assert found.p == pytest.approx(theirs.ttest_ind(usevar="unequal")[1])
    assert found.probability == pytest.approx(scipy_stats.mannwhitneyu(x, y).statistic / 77)
    assert found.probability_interval[0] < found.probability < found.probability_interval[1]


def test_what_is_detectable_is_found_with_the_power_that_is_named_where_the_spread_is_at_its_limit():
    x = np.array([-1.0, 1.0] * 5) * 900 * math.sqrt(0.9)
    found = compare(x, x)
    assert found.stds == pytest.approx((900, 900))
    limit = 900 * math.sqrt(9 / scipy_stats.chi2.ppf(0.2, 9))
    assert TTestIndPower().power(found.detectable / limit, 10, 0.05) == pytest.approx(0.8)
    assert found.at_level(0.01).detectable > found.detectable


def test_difference_of_single_runs():
    found = compare([1.0], [3.0, 5.0])
    assert found.difference == -3.0
    assert found.probability == 0.0
    assert all(map(math.isnan, (*found.interval, found.p, found.detectable, *found.probability_interval)))


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_does_not_count_what_was_not_tested():
    adjusted = holm([float("nan"), 0.02, 0.03])
    assert math.isnan(adjusted[0])
    assert adjusted[1:] == pytest.approx([0.04, 0.04])
