"""Estimates, curves, intervals, corrections and power: by hand, and beside scipy and statsmodels."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from statsmodels.stats.power import TTestIndPower

from erlbench.reporting import statistics
from erlbench.reporting.significance import compare, detectable, holm, rank_test, smallest_difference, welch_power
from erlbench.reporting.statistics import bootstrap_interval, expanded_tail, superiority_interval


def test_estimates_of_too_few_values_and_improvements():
    assert statistics.improvement(12550, 10725) == pytest.approx(17.02, abs=0.005)  # AES-RL paper, Table 3
    assert statistics.improvement(-100, -200) == 50
    unknown = [
        *(locate([]) for locate in (statistics.mean, statistics.median, statistics.iqm)),
        statistics.std([1.0]),
        statistics.improvement(1, 0),
    ]
    assert np.isnan(unknown).all()


def test_pooled_estimates_by_hand():
    assert statistics.probability_of_improvement([[1, 2], [5]], [[2, 3], [4]]) == pytest.approx((0.125 + 1) / 2)
    assert statistics.iqm_over_environments([[2.0] * 10, [0.5] * 2]) == pytest.approx(1.25)
    assert math.isnan(statistics.iqm_over_environments([[1.0], []]))


def test_a_mean_curve_by_hand():
    """It has the points of all runs as far as the first one ends, and both ends where it is thinned."""
    runs = [(0, (np.array([0.0, 2.0, 3.0]), np.array([0.0, 4.0, 9.0]))), (1, (np.arange(2.0), np.array([1.0, 3.0])))]
    line = {name: values.tolist() for name, values in statistics.mean_curve(runs).items()}
    assert line == {"x": [0, 1], "y": [0.5, 2.5], "low": [0, 2], "high": [1, 3]}
    assert not any(map(len, statistics.mean_curve([]).values()))
    assert math.isnan(statistics.max_of_average([]))
    long = [(0, (np.arange(1000.0), np.arange(1000.0))), (1, (np.arange(500.0), np.zeros(500)))]
    thin = statistics.mean_curve(long, most=20)
    assert (len(thin["x"]), thin["x"][0], thin["x"][-1], thin["y"][-1]) == (20, 0, 499, 249.5)


def test_a_moving_average_is_numpys_convolution_once_the_window_is_full():
    values = np.random.default_rng(0).normal(size=50)
    smooth = statistics.points(np.arange(50.0), values, 20)[1]
    assert_allclose(smooth[19:], np.convolve(values, np.ones(20) / 20, mode="valid"), atol=1e-12)
    x, y = statistics.points(np.array([0.0, 1.0, 1.0, np.nan, 2.0]), np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert x.tolist() == [0, 1, 2]
    assert y.tolist() == [1, 3, 5]


@pytest.mark.parametrize("value", [63.17, -46.04, 1e300, 1e-300])
def test_scores_that_differ_by_rounding_are_ties(value):
    """A mean over other evaluations of the same constant differs in the last digit."""
    same, more = [value] * 6, [value * (1 + 1.1e-12)] * 6
    rounded = [value * (1 + 0.9e-12)] * 6
    assert rank_test(same, rounded) == 1.0
    assert compare(same, rounded)["probability_better"] == 0.5
    assert rank_test(same, more) == pytest.approx(2 / math.comb(12, 6))  # not the smaller p of the approximation
    assert compare(same, more)["probability_better"] == float(value < 0)


def test_superiority_interval_of_samples_apart_has_a_width():
    low, high = superiority_interval(0.0, (5, 5))
    assert low == pytest.approx(0.0, abs=1e-9)
    assert 0.3 < high < 0.5
    assert superiority_interval(1.0, (5, 5)) == pytest.approx((1 - high, 1.0), abs=1e-9)
    assert np.isnan([superiority_interval(0.5, (1, 5)), superiority_interval(0.5, (5, 5), (5, 1))]).all()
    assert not np.isnan(superiority_interval(0.5, (2, 2))).any()


@pytest.mark.parametrize(("n", "m", "probability"), [(6, 6, 0.5), (6, 20, 0.8), (10, 7, 0.1)])
def test_superiority_interval_solves_newcombes_equation(n, m, probability):
    """Hanley and McNeil's variance at the ends, with the mean size N in place of both."""
    for end in superiority_interval(probability, (n, m)):
        more = 1 + ((n + m) / 2 - 1) * ((1 - end) / (2 - end) + end / (1 + end))
        error = math.sqrt(end * (1 - end) * more / (n * m))
        assert abs(end - probability) == pytest.approx(stats.norm.ppf(0.975) * error)


@pytest.mark.parametrize("truths", [[0.95, 0.9, 0.7, 0.5], [0.5] * 6, [0.98] * 6])
def test_interval_over_environments_has_a_width_where_samples_are_apart_and_holds_the_truth(truths):
    low, high = superiority_interval(0.0, (6, 6), (6, 6))
    assert superiority_interval(1.0, (6, 6), (6, 6)) == pytest.approx((1 - high, 1.0), abs=1e-9)
    assert low == 0 < high < superiority_interval(0.0, (6, 6))[1]
    rng, shifts, held = np.random.default_rng(3), math.sqrt(2) * stats.norm.ppf(truths), 0
    for _ in range(300):
        x, y = rng.normal(shifts[:, None], 1, (len(shifts), 6)), rng.normal(0, 1, (len(shifts), 6))
        below, above = superiority_interval(statistics.probability_of_improvement(x, y), *[(6, 6)] * len(shifts))
        held += below <= np.mean(truths) <= above
    assert held >= 0.92 * 300


def test_stratified_bootstrap_equals_scipys_with_expanded_tails():
    assert expanded_tail([5]) == pytest.approx(0.00095, abs=1e-5)  # sqrt(5 / 4) x 2.776 = 3.104 standard deviations
    assert expanded_tail([10_000]) == pytest.approx(0.025, abs=1e-4)
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
    pooled = statistics.iqm_over_environments
    assert bootstrap_interval(pooled, strata) == bootstrap_interval(pooled, strata, resamples=1000)
    assert bootstrap_interval(lambda s: 0.0, [[1.0, 2.0]]) == (0.0, 0.0)
    assert np.isnan(bootstrap_interval(lambda s: 0.0, [[1.0, 2.0], [1.0]])).all()


def test_bootstrap_band_equals_the_interval_at_every_point():
    values = np.random.default_rng(3).normal(size=(8, 3))
    low, high = statistics.bootstrap_mean_band(values, resamples=4000)
    for i in range(3):
        column = bootstrap_interval(lambda s: statistics.mean(s[0]), [values[:, i]], resamples=4000)
        assert (low[i], high[i]) == pytest.approx(column, abs=0.05)


def test_a_mean_curve_has_an_interval_from_two_seeds_on():
    curves = [(seed, (np.arange(3.0), np.arange(3.0) + seed)) for seed in (0, 2)]
    line = statistics.mean_curve(curves, interval=True)
    assert_allclose((line["low"], line["y"], line["high"]), np.add.outer([0, 1, 2], np.arange(3)))
    alone = statistics.mean_curve(curves[:1], interval=True)
    assert_allclose((alone["low"], alone["high"]), (alone["y"], alone["y"]))


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
    limits = [std * math.sqrt((n - 1) / stats.chi2.ppf(0.2, n - 1)) for std, n in ((90, 6), (150, 8))]
    apart = detectable(90, 150, 6, 8, level=0.015)
    assert welch_power(apart, *limits, 18 / math.pi, 24 / math.pi, level=0.015) == pytest.approx(0.8)
    unknown = welch_power(1, 1, 1, 1, 5), smallest_difference(0, 0, 5, 5), smallest_difference(1, 1, 1, 5)
    assert np.isnan(unknown).all()
