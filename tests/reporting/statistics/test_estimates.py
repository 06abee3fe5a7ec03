from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rliable import metrics
from scipy import stats as scipy_stats

from erlbench.reporting import statistics


def test_location_and_spread_by_hand():
    values = [1.0, 2.0, 3.0, 10.0]
    assert statistics.mean(values) == 4.0
    assert statistics.median(values) == 2.5
    assert statistics.std(values) == pytest.approx(math.sqrt(50 / 3))
    assert statistics.iqm(values) == 2.5
    assert statistics.iqm([5.0, 1.0, 3.0]) == 3.0


def test_too_few_values_are_no_number():
    assert math.isnan(statistics.mean([]))
    assert math.isnan(statistics.median([]))
    assert math.isnan(statistics.iqm([]))
    assert math.isnan(statistics.std([1.0]))


def test_improvement_is_relative_to_the_magnitude():
    assert statistics.improvement(12550, 10725) == pytest.approx(17.02, abs=0.005)  # AES-RL paper, Table 3
    assert statistics.improvement(-100, -200) == 50
    assert math.isnan(statistics.improvement(1, 0))


@pytest.mark.parametrize("count", [1, 4, 5, 10, 23])
def test_iqm_equals_scipys_trimmed_mean(count):
    x = np.random.default_rng(count).normal(size=count)
    assert statistics.iqm(x) == pytest.approx(scipy_stats.trim_mean(x, 0.25))


def test_probability_of_improvement_by_hand_and_with_mann_whitney():
    assert statistics.probability_of_improvement([[1, 2], [5]], [[2, 3], [4]]) == pytest.approx((0.125 + 1) / 2)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=7), rng.normal(size=9)
    u = scipy_stats.mannwhitneyu(x, y).statistic
    assert statistics.probability_of_improvement([x], [y]) == pytest.approx(u / 63)


def test_performance_profile_by_hand():
    assert_allclose(statistics.performance_profile([[0.5, 1.0], [1.5, 2.0]], [0.0, 1.0, 2.0]), [1.0, 0.5, 0.0])


def test_environments_weigh_the_same():
    assert statistics.iqm_over_environments([[2.0] * 10, [0.5] * 2]) == pytest.approx(1.25)
    assert statistics.iqm_over_environments([[2.0] * 10, [0.5]]) == pytest.approx(1.25)
    assert math.isnan(statistics.iqm_over_environments([[1.0], []]))


@pytest.mark.parametrize("runs", [1, 3, 5, 10])
def test_equally_many_runs_give_the_plain_interquartile_mean(runs):
    strata = np.random.default_rng(runs).normal(size=(3, runs))
    assert statistics.iqm_over_environments(list(strata)) == pytest.approx(statistics.iqm(strata))


def test_equal_to_rliable():
    rng = np.random.default_rng(4)
    x, y = rng.normal(1, 1, size=(10, 3)), rng.normal(0, 1, size=(10, 3))
    assert statistics.iqm(x) == pytest.approx(metrics.aggregate_iqm(x))
    assert statistics.probability_of_improvement(list(x.T), list(y.T)) == pytest.approx(
        metrics.probability_of_improvement(x, y)
    )
