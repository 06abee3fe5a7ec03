from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from erlbench.reporting.statistics import estimates

scipy_stats = pytest.importorskip("scipy.stats")


def test_location_and_spread_by_hand():
    values = [1.0, 2.0, 3.0, 10.0]
    assert estimates.mean(values) == 4.0
    assert estimates.median(values) == 2.5
    assert estimates.std(values) == pytest.approx(math.sqrt(50 / 3))
    assert estimates.iqm(values) == 2.5
    assert estimates.iqm([5.0, 1.0, 3.0]) == 3.0


def test_too_few_values_are_no_number():
    assert math.isnan(estimates.mean([]))
    assert math.isnan(estimates.median([]))
    assert math.isnan(estimates.iqm([]))
    assert math.isnan(estimates.std([1.0]))


def test_improvement_is_relative_to_the_magnitude():
    assert estimates.improvement(12550, 10725) == pytest.approx(17.02, abs=0.005)  # AES-RL paper, Table 3
    assert estimates.improvement(-100, -200) == 50
    assert math.isnan(estimates.improvement(1, 0))


@pytest.mark.parametrize("count", [1, 4, 5, 10, 23])
def test_iqm_equals_scipys_trimmed_mean(count):
    x = np.random.default_rng(count).normal(size=count)
    assert estimates.iqm(x) == pytest.approx(scipy_stats.trim_mean(x, 0.25))


def test_probability_of_improvement_by_hand_and_with_mann_whitney():
    assert estimates.probability_of_improvement([[1, 2], [5]], [[2, 3], [4]]) == pytest.approx((0.125 + 1) / 2)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=7), rng.normal(size=9)
    u = scipy_stats.mannwhitneyu(x, y).statistic
    assert estimates.probability_of_improvement([x], [y]) == pytest.approx(u / 63)


def test_performance_profile_by_hand():
    assert_allclose(estimates.performance_profile([[0.5, 1.0], [1.5, 2.0]], [0.0, 1.0, 2.0]), [1.0, 0.5, 0.0])


def test_bootstrap_interval_equals_scipys():
    x = np.random.default_rng(1).normal(10, 2, size=12)
    low, high = estimates.bootstrap_interval(lambda s: estimates.mean(s[0]), [x], resamples=5000)
    theirs = scipy_stats.bootstrap(
        (x,), np.mean, n_resamples=5000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.06)


def test_bootstrap_resamples_within_strata():
    # Constant strata: any mixing between them would widen the interval.
    interval = estimates.bootstrap_interval(
        lambda s: estimates.mean(np.concatenate(s)), [[0.0] * 4, [10.0] * 4], resamples=50
    )
    assert interval == (5.0, 5.0)


def test_bootstrap_needs_two_values_in_each_stratum():
    assert all(map(math.isnan, estimates.bootstrap_interval(lambda s: 0.0, [[1.0, 2.0], [1.0]])))


def test_bootstrap_band_equals_the_interval_at_every_point():
    values = np.random.default_rng(3).normal(size=(8, 3))
    low, high = estimates.bootstrap_mean_band(values, resamples=4000)
    for i in range(3):
        column = estimates.bootstrap_interval(lambda s: estimates.mean(s[0]), [values[:, i]], resamples=4000)
        assert (low[i], high[i]) == pytest.approx(column, abs=0.05)


def test_stratified_interval_equals_scipys():
    rng = np.random.default_rng(4)
    strata = [rng.normal(i, 1, size=10) for i in range(3)]
    ours = estimates.bootstrap_interval(lambda s: estimates.iqm(np.concatenate(s)), strata, resamples=4000)
    theirs = scipy_stats.bootstrap(
        strata, lambda *s: estimates.iqm(np.concatenate(s)), n_resamples=4000, method="percentile", vectorized=False,
        rng=np.random.default_rng(5),
    ).confidence_interval  # fmt: skip
    assert_allclose(ours, theirs, atol=0.05)


def test_equal_to_rliable():
    metrics = pytest.importorskip("rliable.metrics")
    rng = np.random.default_rng(4)
    x, y = rng.normal(1, 1, size=(10, 3)), rng.normal(0, 1, size=(10, 3))
    assert estimates.iqm(x) == pytest.approx(metrics.aggregate_iqm(x))
    assert estimates.probability_of_improvement(list(x.T), list(y.T)) == pytest.approx(
        metrics.probability_of_improvement(x, y)
    )
