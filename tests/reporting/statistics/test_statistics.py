"""Estimates, curves, intervals, corrections and power: by hand, and beside scipy and statsmodels."""

import math
from statistics import fmean, median, stdev

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.proportion import proportion_confint

from erlbench.reporting import statistics
from erlbench.reporting.significance import (
    compare,
    detectable,
    holm,
    rank_test,
    smallest_difference,
    std_upper_limit,
    unseen_failures,
    welch_power,
)
from erlbench.reporting.statistics import bootstrap_interval, expanded_tail, superiority_interval


@pytest.mark.parametrize("size", [2, 3, 4, 7, 8, 20])
def test_estimates_and_their_intervals_equal_other_code(size):
    x = np.random.default_rng(size).normal(50, 10, size)
    ours = [estimate(x) for estimate in (statistics.mean, statistics.median, statistics.std, statistics.iqm)]
    assert ours == pytest.approx([fmean(x), median(x), stdev(x), stats.trim_mean(x, 0.25)])
    assert statistics.iqm_over_environments(np.split(x, 2) if size % 2 == 0 else [x]) == pytest.approx(ours[3])
    assert statistics.mean_interval(x) == pytest.approx(stats.ttest_1samp(x, 0).confidence_interval())
    for count in (0, 1, size):
        theirs = proportion_confint(count, size, method="wilson")
        assert statistics.share_interval(count, size) == pytest.approx(theirs, abs=1e-12)


def test_estimates_of_too_few_values_and_improvements():
    assert statistics.improvement(12550, 10725) == pytest.approx(17.02, abs=0.005)  # AES-RL paper, Table 3
    assert statistics.improvement(-100, -200) == 50
    unknown = [
        *(locate([]) for locate in (statistics.mean, statistics.median, statistics.iqm)),
        statistics.std([1.0]),
        statistics.improvement(1, 0),
        *statistics.mean_interval([1.0]),
        *statistics.share_interval(0, 0),
    ]
    assert np.isnan(unknown).all()


def test_pooled_estimates_by_hand():
    assert statistics.probability_of_improvement([[1, 2], [5]], [[2, 3], [4]]) == pytest.approx((0.125 + 1) / 2)
    parts = np.sort(np.repeat([1, 9, 2, 4, 5, 7], [6, 6, 3, 3, 3, 3]))[4:-4]  # of 24, less a sixth at either end
    assert statistics.iqm_over_environments([[1, 9], [2, 4, 5, 7]]) == pytest.approx(parts.mean())
    assert np.isnan([statistics.iqm_over_environments(strata) for strata in ([[1.0], []], [])]).all()


def test_a_mean_curve_by_hand():
    """It has the points of all runs as far as the first one ends, and both ends where it is thinned."""
    x, nothing = np.arange(3.0), (np.empty(0), np.empty(0))
    runs = [(0, (x, x)), (0, (x[:2], x[:2] + 4)), (1, (x[::2], 10 + x[::2])), (2, nothing)]
    line = {name: values.tolist() for name, values in statistics.mean_curve(runs).items()}
    assert line == {"x": [0, 1], "y": [6, 7], "low": [0, 1], "high": [10, 11]}
    assert not any(map(len, statistics.mean_curve([(0, (x, x)), (0, (x + 3, x))]).values()))
    thin = statistics.mean_curve([(0, (np.arange(500.0), np.arange(500.0)))])["y"]
    assert (len(thin), thin[0], thin[-1]) == (200, 0, 499)


def test_a_band_is_an_interval_where_every_curve_has_six_seeds():
    words = [statistics.band_words(statistics.band_kind(seeds)) for seeds in ([6, 9], [5, 9])]
    assert ["interval" in band for band in words] == [True, False]


def test_a_unit_of_time_counts_at_least_two():
    assert [statistics.time_unit(end)[0] for end in (7199, 7200, 172_800)] == ["minutes", "hours", "days"]


def test_a_moving_average_is_that_of_pandas():
    values = np.random.default_rng(0).normal(size=50)
    for window in (1, 2, 20):
        smooth = statistics.points(np.arange(50.0), values, window)[1]
        assert_allclose(smooth, pd.Series(values).rolling(window, min_periods=1).mean(), atol=1e-12)
    x, y = statistics.points(
        np.array([0.0, 1.0, 1.0, np.nan, 1.5, 2.0]), np.array([1.0, 2.0, 3.0, 4.0, np.inf, 5.0]),
    )  # fmt: skip
    assert x.tolist() == [0, 1, 2]
    assert y.tolist() == [1, 3, 5]


@pytest.mark.parametrize("value", [63.17, -46.04, 1e300, 1e-300])
def test_scores_that_differ_by_rounding_are_ties(value):
    """A mean over other evaluations of the same constant differs in the last digit."""
    same, more = [value] * 6, [value * (1 + 1.1e-12)] * 6
    rounded = [value * (1 + 0.9e-12)] * 6
    assert rank_test(same, rounded) == 1.0
    assert compare(same, rounded)["probability_better"] == 0.5
    assert statistics.dense_ranks(same[:1], rounded[:1]) == (1, 1)
    assert statistics.dense_ranks([-1e9, 1], [1 + 1e-9])[1] == 3
    assert rank_test(same, more) == pytest.approx(2 / math.comb(12, 6))  # not the smaller p of the approximation
    assert compare(same, more)["probability_better"] == float(value < 0)


@pytest.mark.parametrize("sizes", [[(6, 6)], [(6, 20)], [(10, 7)], [(2, 2)], [(6, 6), (5, 9), (8, 8)]])
def test_superiority_interval_solves_newcombes_equation(sizes):
    """Hanley and McNeil's variance at the ends, with the mean size N in place of both; of a mean of environments."""
    n, m = np.array(sizes).T
    for probability in (0.0, 0.1, 0.5, 0.8, 1.0):
        ends = superiority_interval(probability, *sizes)
        assert ends[0] <= probability <= ends[1]
        for end in ends:
            more = 1 + ((n + m) / 2 - 1) * ((1 - end) / (2 - end) + end / (1 + end))
            error = stats.norm.ppf(0.975) * math.sqrt((end * (1 - end) * more / (n * m)).sum()) / len(sizes)
            assert abs(end - probability) == pytest.approx(error, abs=1e-9)
    assert ends[0] < 1 == ends[1]  # a width also where all of one sample lies above the other
    assert np.isnan(superiority_interval(0.5, *sizes, (5, 1))).all()


def test_stratified_bootstrap_equals_scipys_with_expanded_tails():
    assert expanded_tail([9, 3]) == pytest.approx(stats.norm.sf(math.sqrt(3 / 2) * stats.t.ppf(0.975, 10)))
    rng = np.random.default_rng(4)
    strata = [rng.normal(i, 1, size=10) for i in range(3)]
    ours = bootstrap_interval(lambda s: statistics.iqm(np.concatenate(s)), strata, resamples=4000)
    theirs = stats.bootstrap(
        strata, lambda *s: statistics.iqm(np.concatenate(s)), n_resamples=4000, method="percentile", vectorized=False,
        rng=np.random.default_rng(5), confidence_level=1 - 2 * expanded_tail([10] * 3),
    ).confidence_interval  # fmt: skip
    assert_allclose(ours, theirs, atol=0.05)
    # Constant strata: any mixing between them would widen the interval.
    assert bootstrap_interval(lambda s: np.concatenate(s).mean(), [[0.0] * 4, [10.0] * 4], resamples=50) == (5.0, 5.0)
    assert bootstrap_interval(lambda s: 0.0, [[1.0, 2.0]]) == (0.0, 0.0)
    assert np.isnan([bootstrap_interval(lambda s: 0.0, strata) for strata in ([[1.0, 2.0], [1.0]], [])]).all()


@pytest.mark.parametrize("seeds", [1, 2, 40])
def test_the_band_of_a_mean_curve_is_the_bootstrap_interval_at_every_point(seeds):
    values = np.random.default_rng(3).normal(size=(seeds, 3))
    band = statistics.mean_curve([(seed, (np.arange(3.0), values[seed])) for seed in range(seeds)], interval=True)
    ends = [bootstrap_interval(lambda s: np.mean(s), [column], resamples=4000) for column in values.T]
    expected = ends if seeds > 1 else np.tile(values.T, 2)
    assert_allclose(np.transpose((band["low"], band["high"])), expected, atol=0.05)


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


@pytest.mark.parametrize(("effect", "n"), [(0.5, 5), (1.0, 20), (6.0, 3)])
def test_power_equals_statsmodels_for_equal_spreads(effect, n):
    theirs = TTestIndPower().power(effect, n, 0.05)
    assert welch_power(effect * 7, 7, 7, n, n, level=0.05) == pytest.approx(theirs, abs=1e-9)


def test_power_at_the_ends():
    certain, by_chance = ((1e9, 1, 1, 5, 5), (1, 0, 0, 2, 2)), ((0, 1, 1, 5, 5), (0, 0, 0, 5, 5))
    assert [welch_power(*numbers, level=0.05) for numbers in certain + by_chance] == pytest.approx([1, 1, 0.05, 0.05])
    limits = [std * math.sqrt((n - 1) / stats.chi2.ppf(0.2, n - 1)) for std, n in ((90, 6), (150, 8))]
    apart = detectable(90, 150, 6, 8, level=0.015)
    assert welch_power(apart, *limits, 18 / math.pi, 24 / math.pi, level=0.015) == pytest.approx(0.8)
    unknown = [smallest_difference(std, std, n, 5, level=0.05) for std, n in ((0, 5), (1, 1), (math.inf, 5))]
    assert np.isnan([*unknown, welch_power(1, 1, 1, 1, 5, level=0.05), std_upper_limit(1.0, 1)]).all()
    assert (1 - unseen_failures(20)) ** 20 == pytest.approx(0.05)  # no run of twenty fails in 5 % of studies
