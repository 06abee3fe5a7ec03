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
    means, ranks = theirs.ttest_ind(usevar="unequal")[1], max(rank_tests(x, y))
    assert (found.welch, found.rank) == (pytest.approx(means), pytest.approx(ranks))
    assert found.p == pytest.approx(2 * min(means, ranks))
    assert found.probability == pytest.approx(scipy_stats.mannwhitneyu(x, y).statistic / 77)
    assert found.probability_interval[0] < found.probability < found.probability_interval[1]


def rank_tests(x, y):
    return scipy_stats.mannwhitneyu(x, y, method="exact").pvalue, scipy_stats.brunnermunzel(x, y).pvalue


def test_unequal_spreads_about_one_middle_are_no_difference():
    """Two of ten wide runs lie below ten steady ones, eight above: Mann and Whitney's test alone finds a difference."""
    x, y = [-30.0, -25, 1, 2, 3, 4, 5, 6, 7, 8], np.linspace(-0.5, 0.5, 10)
    exact, placements = rank_tests(x, y)
    assert exact < 0.025 < placements
    assert compare(x, y).rank == pytest.approx(placements)
    assert compare(x, y).p > 0.05


def test_equal_runs_differ_in_nothing():
    assert compare([1.0] * 5, [1.0] * 5).rank == 1


def test_what_is_detectable_is_found_with_the_power_that_is_named_where_the_spread_is_at_its_limit():
    x = np.array([-1.0, 1.0] * 5) * 900 * math.sqrt(0.9)
    found = compare(x, x)
    assert found.stds == pytest.approx((900, 900))
    limit = 900 * math.sqrt(9 / scipy_stats.chi2.ppf(0.2, 9))
    assert TTestIndPower().power(found.detectable / limit, 10, 0.05 / 2) == pytest.approx(0.8)
    assert found.at_level(0.01).detectable > found.detectable


def test_runs_that_separate_are_found_by_their_ranks_where_their_spread_hides_it():
    """Two skewed samples without overlap, as evolution strategies leave them on a function."""
    x, y = [-0.2, -0.5, -0.9, -1.3, -1.7], [-49.0, -120.0, -380.0, -900.0, -1480.0]
    found = compare(x, y)
    assert found.welch > 0.05
    assert found.p == pytest.approx(2 * 0.0079365, rel=1e-4)


@pytest.mark.parametrize(("n", "m"), [(1, 2), (4, 4), (3, 20)])
def test_below_five_runs_there_are_only_the_points(n, m):
    found = compare(np.arange(n), np.arange(m) + 3.5)
    assert found.difference == pytest.approx(np.arange(n).mean() - (np.arange(m) + 3.5).mean())
    hidden = (*found.interval, found.p, found.rank, found.probability, *found.probability_interval)
    assert all(map(math.isnan, hidden))
    assert math.isnan(found.detectable) == (n < 2)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_does_not_count_what_was_not_tested():
    adjusted = holm([float("nan"), 0.02, 0.03])
    assert math.isnan(adjusted[0])
    assert adjusted[1:] == pytest.approx([0.04, 0.04])
