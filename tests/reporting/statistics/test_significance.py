from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats import weightstats

from erlbench.reporting.significance import compare, detectable, holm, least_p, rank_level
from tests.audit import verdict_rates


def test_difference_beside_statsmodels():
    rng = np.random.default_rng(3)
    x, y = rng.normal(10, 2, 7), rng.normal(8, 5, 11)
    found = compare(x, y)
    theirs = weightstats.CompareMeans(weightstats.DescrStatsW(x), weightstats.DescrStatsW(y))
    interval = found["difference_low"], found["difference_high"]
    assert found["difference"] == pytest.approx(x.mean() - y.mean())
    assert interval == pytest.approx(theirs.tconfint_diff(usevar="unequal"))
    assert found["p_rank"] == pytest.approx(max(rank_tests(x, y)))
    assert found["level"] == 0.015
    assert found["probability_better"] == pytest.approx(scipy_stats.mannwhitneyu(x, y).statistic / 77)
    assert found["probability_low"] < found["probability_better"] < found["probability_high"]
    assert found["gain"] == abs(found["difference"])


def rank_tests(x, y):
    return scipy_stats.mannwhitneyu(x, y, method="exact").pvalue, scipy_stats.brunnermunzel(x, y).pvalue


def test_unequal_spreads_about_one_middle_are_no_difference():
    """Two of ten wide runs lie below ten steady ones, eight above: Mann and Whitney's test alone finds a difference."""
    x, y = [-30.0, -25, 1, 2, 3, 4, 5, 6, 7, 8], np.linspace(-0.5, 0.5, 10)
    exact, placements = rank_tests(x, y)
    assert exact < 0.025 < placements
    assert compare(x, y)["p_rank"] == pytest.approx(placements)
    assert placements > compare(x, y)["level"]


def test_equal_runs_differ_in_nothing():
    assert compare([1.0] * 6, [1.0] * 6)["p_rank"] == 1


@pytest.mark.parametrize(("n", "m", "tests"), [(6, 6, 1), (8, 8, 3), (10, 10, 1), (10, 10, 6), (20, 20, 6), (8, 20, 1)])
def test_what_is_detectable_is_found_in_about_80_of_100_studies(n, m, tests):
    rng = np.random.default_rng(0)
    spreads = [std * math.sqrt((k - 1) / scipy_stats.chi2.ppf(0.2, k - 1)) for std, k in ((1, n), (1, m))]
    found = detectable(1, 1, n, m, level=rank_level(n, m) / tests)
    x, y = found + spreads[0] * rng.normal(size=(4000, n)), spreads[1] * rng.normal(size=(4000, m))
    assert 0.7 < verdict_rates.differ(x, y, tests).mean() < 0.88


def test_the_smallest_p_is_that_of_complete_separation():
    for n, m in ((6, 6), (7, 12), (10, 10), (20, 6)):
        x, y = np.arange(n), np.arange(m) + n
        exact = scipy_stats.mannwhitneyu(x, y, method="exact").pvalue
        assert compare(x, y)["p_rank"] == pytest.approx(exact)
        assert compare(x, y)["p_rank"] == pytest.approx(least_p(n, m))


@pytest.mark.parametrize(
    ("n", "m", "level"),
    [(6, 6, 0.015), (9, 9, 0.015), (9, 40, 0.015), (40, 6, 0.015), (10, 10, 0.025), (40, 10, 0.025)],
)
def test_the_smaller_side_sets_the_level(n, m, level):
    assert rank_level(n, m) == level
    assert math.isnan(rank_level(5, 40))


def test_holm_orders_comparisons_by_p_relative_to_their_levels():
    """0.012 of 0.015 comes after 0.016 of 0.025; each is adjusted at its own level."""
    assert holm([0.012, 0.016, 0.001], [0.015, 0.025, 0.025]) == pytest.approx([0.0192, 0.032, 0.003])
    assert holm([0.9, math.nan, 0.9], [0.015, math.nan, 0.025])[0] == 1.0


def test_runs_that_separate_are_found_by_their_ranks_where_their_spread_hides_it():
    """Two skewed samples without overlap, as evolution strategies leave them on a function."""
    x, y = [-0.2, -0.5, -0.9, -1.3, -1.7, -2.0], [-49.0, -120.0, -380.0, -900.0, -1480.0, -60.0]
    assert scipy_stats.ttest_ind(x, y, equal_var=False).pvalue > 0.05
    assert compare(x, y)["p_rank"] == pytest.approx(2 / math.comb(12, 6))


@pytest.mark.parametrize(("n", "m"), [(1, 2), (4, 4), (5, 5), (3, 20)])
def test_below_six_runs_there_are_only_the_points(n, m):
    found = compare(np.arange(n), np.arange(m) + 3.5)
    assert found.pop("difference") == pytest.approx(np.arange(n).mean() - (np.arange(m) + 3.5).mean())
    hidden = [name for name, value in found.items() if math.isnan(value)]
    assert {"n", "n_against", "std", "std_against", "gain"} >= found.keys() - set(hidden)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert [*holm([0.9, 0.8])] == [1.0, 1.0]
    assert not len(holm([]))


def test_holm_does_not_count_what_was_not_tested():
    adjusted = holm([float("nan"), 0.02, 0.03])
    assert math.isnan(adjusted[0])
    assert adjusted[1:] == pytest.approx([0.04, 0.04])
