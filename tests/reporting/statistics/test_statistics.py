"""Estimates, curves, intervals, corrections and power: by hand, and beside scipy and statsmodels."""

import math
from statistics import fmean, median, stdev
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.proportion import proportion_confint

from erlbench.reporting import significance, statistics
from erlbench.reporting.significance import compare, detectable, holm, rank_test, smallest_difference, welch_power
from erlbench.reporting.statistics import bootstrap_interval, expanded_tail, superiority_interval


def make_curve(seed, steps, returns, **columns):
    rows = pd.DataFrame({"timesteps": steps, "return_mean": returns, **columns}).to_records(index=False)
    return SimpleNamespace(seed=seed, evaluations=rows)


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
    assert math.isnan(statistics.max_of_average([]))
    long = [(0, (np.arange(1000.0), np.arange(1000.0))), (1, (np.arange(500.0), np.zeros(500)))]
    thin = statistics.mean_curve(long)
    assert (len(thin["x"]), thin["x"][0], thin["x"][-1], thin["y"][-1]) == (200, 0, 499, 249.5)


def test_the_average_of_seeds_over_the_steps_that_all_reached():
    """4, 3, 6.5 and 3 at 0, 500, 1000 and 1500 steps."""
    runs = [make_curve(0, [0, 1000, 2000], [4, 4, 8]), make_curve(1, [0, 500, 1000, 1500], [4, 2, 9, 0])]
    assert statistics.max_of_average(runs) == 6.5
    reached = {score: statistics.average_reached(runs, score) for score in (3.5, 4, 5, 6.5, 7)}
    assert reached == {3.5: 0, 4: 0, 5: pytest.approx(500 + 500 * 2 / 3.5), 6.5: 1000, 7: math.inf}
    assert math.isnan(statistics.average_reached([], 1.0))


def test_steps_and_minutes_and_updates_of_runs():
    seconds, updates = np.array([0.0, 60.0, 90.0, 240.0]), np.array([0, 1, 5, 9])
    run = make_curve(0, [0, 10, 20, 40], [1, 5, 7, 6], seconds=seconds, critic_updates=[0, 0, 9, 40], actor_updates=20)
    more = make_curve(1, [0, 10], 1, critic_updates=30, actor_updates=10)
    reached = [statistics.reached(run.evaluations, score) for score in (1, 5, 6, 8)]
    assert reached == [(0, 0), (10, 1), (20, 1.5), (math.inf, math.inf)]
    begun = make_curve(2, [0], 1, critic_updates=0, actor_updates=0)
    assert statistics.updates_per_step([run, more, begun, make_curve(3, [], [])]) == (2.0, 0.75)
    assert np.isnan(statistics.updates_per_step([begun])).all()
    whole = [statistics.minutes_per_million(SimpleNamespace(seconds=180, timesteps=steps)) for steps in (1500, 0)]
    assert whole == pytest.approx([2000.0, math.nan], nan_ok=True)
    after = [
        statistics.minutes_per_million_after(steps[:count], seconds[:count], updates[:count])
        for steps, count in ((np.arange(0, 400, 100), 4), (np.arange(0, 400, 100), 3), (np.zeros(4), 4), (updates, 2))
    ]
    assert np.array(after) == pytest.approx(np.array([(15000, 200), (5000, 100), *[(math.nan, 0)] * 2]), nan_ok=True)


def test_a_unit_of_time_counts_at_least_two_and_a_band_needs_six_seeds_of_every_curve():
    ends = {0: "seconds", 119: "seconds", 120: "minutes", 7199: "minutes", 7200: "hours", 172_800: "days"}
    seconds = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400}
    assert {end: statistics.time_unit(end) for end in ends} == {end: (ends[end], seconds[ends[end]]) for end in ends}
    kinds = [statistics.band_kind(seeds) for seeds in ([6, 9], [5, 9], [])]
    assert [*kinds, statistics.band_kind([9], "range")] == ["interval", "range", "range", "range"]
    assert ["interval" in statistics.band_words(kind) for kind in kinds[:2]] == [True, False]


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
    assert rank_test(same, more) == pytest.approx(2 / math.comb(12, 6))  # not the smaller p of the approximation
    assert compare(same, more)["probability_better"] == float(value < 0)


@pytest.mark.parametrize("sizes", [[(6, 6)], [(6, 20)], [(10, 7)], [(2, 2)], [(6, 6), (5, 9), (8, 8)]])
def test_superiority_interval_solves_newcombes_equation(sizes):
    """Hanley and McNeil's variance at the ends, with the mean size N in place of both; of a mean of environments."""
    for probability in (0.0, 0.1, 0.5, 0.8, 1.0):
        ends = superiority_interval(probability, *sizes)
        assert ends[0] <= probability <= ends[1]
        for end in ends:
            more = [1 + ((n + m) / 2 - 1) * ((1 - end) / (2 - end) + end / (1 + end)) for n, m in sizes]
            variances = [end * (1 - end) * part / (n * m) for part, (n, m) in zip(more, sizes, strict=True)]
            error = stats.norm.ppf(0.975) * math.sqrt(sum(variances)) / len(sizes)
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
    pooled = statistics.iqm_over_environments
    assert bootstrap_interval(pooled, strata) == bootstrap_interval(pooled, strata, resamples=1000)
    assert bootstrap_interval(lambda s: 0.0, [[1.0, 2.0]]) == (0.0, 0.0)
    assert np.isnan([bootstrap_interval(lambda s: 0.0, strata) for strata in ([[1.0, 2.0], [1.0]], [])]).all()


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


@pytest.mark.parametrize(("n", "m"), [(6, 6), (9, 6), (10, 25), (5, 20)])
@pytest.mark.parametrize("decimals", [9, 0])
def test_a_comparison_equals_scipys(n, m, decimals):
    """Without ties and with some; each of both tests has the larger p of some samples."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(10.5, 1, n).round(decimals), rng.normal(10, 3, m).round(decimals)
        welch = stats.ttest_ind(x, y, equal_var=False).confidence_interval()
        ranks = stats.mannwhitneyu(x, y, method="asymptotic" if len({*x, *y}) < n + m else "exact")
        better, level = ranks.statistic / (n * m), 0.025 if min(n, m) > 9 else 0.015
        p, gap = max(ranks.pvalue, stats.brunnermunzel(x, y).pvalue), x.mean() - y.mean()
        tested = [welch.low, welch.high, p, level, better, *superiority_interval(better, (n, m))]
        expected = [n, m, stdev(x), stdev(y), gap, *(tested if min(n, m) > 5 else [math.nan] * 7)]
        assert [*compare(x, y).values()] == pytest.approx(
            [*expected, gap if better > 0.5 and min(n, m) > 5 else -gap], nan_ok=True
        )


@pytest.mark.parametrize(("n", "m"), [(3, 9), (9.5, 4.2), (30, 6)])
@pytest.mark.parametrize("level", [0.05, 0.01])
def test_power_is_that_of_the_noncentral_t(n, m, level):
    parts = np.array([4 / n, 49 / m])
    freedom = parts.sum() ** 2 / (parts**2 / (n - 1, m - 1)).sum()  # Satterthwaite's
    critical, least = stats.t.ppf(1 - level / 2, freedom), smallest_difference(2, 7, n, m, level=level)
    for difference in (-3.0, 0.5, 9.0, 20.0, least):
        beyond = stats.nct(freedom, difference / math.sqrt(parts.sum()))
        expected = beyond.sf(critical) + np.nan_to_num(beyond.cdf(-critical))  # scipy has none far out
        assert welch_power(difference, 2, 7, n, m, level=level) == pytest.approx(expected, abs=1e-7)
    assert expected == pytest.approx(0.8)


def test_power_at_the_ends():
    assert welch_power(1.0, 1, 1, 20, 20) == pytest.approx(TTestIndPower().power(1.0, 20, 0.05), abs=1e-9)
    assert welch_power(1e9, 1, 1, 5, 5) == welch_power(1, 0, 0, 2, 2) == 1.0
    assert welch_power(0, 0, 0, 5, 5) == 0.05
    limits = [std * math.sqrt((n - 1) / stats.chi2.ppf(0.2, n - 1)) for std, n in ((90, 6), (150, 8))]
    apart = detectable(90, 150, 6, 8, level=0.015)
    assert welch_power(apart, *limits, 18 / math.pi, 24 / math.pi, level=0.015) == pytest.approx(0.8)
    assert significance.std_upper_limit(3.0, 2) > 3
    unknown = welch_power(1, 1, 1, 1, 5), smallest_difference(0, 0, 5, 5), smallest_difference(1, 1, 1, 5)
    assert np.isnan([*unknown, smallest_difference(math.inf, 1, 5, 5), significance.std_upper_limit(1.0, 1)]).all()


def test_the_fewest_seeds_that_are_enough():
    fewest = [significance.fewest_seeds(lambda n, least=least: n >= least) for least in (0, 2, 3, 8192, 8193)]
    assert fewest == [2, 2, 3, 8192, None]
    for tests in (1, 6, 7, 10, 36, 1000):
        p = {n: stats.mannwhitneyu(np.arange(n), np.arange(n) + n, method="exact").pvalue for n in range(6, 20)}
        first = next(n for n in p if tests * p[n] <= (0.015 if n < 10 else 0.025))
        assert significance.seeds_for_tests(tests) == first
    for seeds in (1, 6, 20):
        assert (1 - significance.unseen_failures(seeds)) ** seeds == pytest.approx(0.05)
