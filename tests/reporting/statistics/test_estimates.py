"""Estimates of a cell, of several and of curves: by hand, and beside scipy and rliable."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rliable import metrics
from scipy import stats

from erlbench.reporting import statistics
from tests.reporting.compare import find_rows
from tests.reporting.make_runs import make_run


def test_locations_beside_numpy_and_scipy():
    located = (statistics.mean, statistics.median, statistics.iqm)
    for count in (1, 4, 5, 23):
        x = np.random.default_rng(count).normal(size=count)
        assert [locate(x) for locate in located] == pytest.approx([x.mean(), np.median(x), stats.trim_mean(x, 0.25)])
    assert statistics.improvement(12550, 10725) == pytest.approx(17.02, abs=0.005)  # AES-RL paper, Table 3
    assert statistics.improvement(-100, -200) == 50
    unknown = [*(locate([]) for locate in located), statistics.std([1.0]), statistics.improvement(1, 0)]
    assert np.isnan(unknown).all()


def test_pooled_estimates_beside_rliable_and_by_hand():
    rng = np.random.default_rng(4)
    x, y = rng.normal(1, 1, size=(10, 3)), rng.normal(0, 1, size=(10, 3))
    assert statistics.iqm_over_environments(list(x.T)) == pytest.approx(metrics.aggregate_iqm(x))
    better = statistics.probability_of_improvement(list(x.T), list(y.T))
    assert better == pytest.approx(metrics.probability_of_improvement(x, y))
    assert statistics.probability_of_improvement([[1, 2], [5]], [[2, 3], [4]]) == pytest.approx((0.125 + 1) / 2)
    assert statistics.iqm_over_environments([[2.0] * 10, [0.5] * 2]) == pytest.approx(1.25)
    assert math.isnan(statistics.iqm_over_environments([[1.0], []]))
    assert_allclose(statistics.performance_profile([[0.5, 1.0], [1.5, 2.0]], [0.0, 1.0, 2.0]), [1.0, 0.5, 0.0])


def test_minutes_per_million_with_and_without_warm_up(tmp_path):
    # 2000 warm-up steps of 1 ms and 2000 trained steps of 10 ms: 22 s for 4000 steps.
    make_run(tmp_path, "Ant-v5", "cem", 0, [0] * 5, warmup=2000, seconds_per_step=0.01)
    (run,) = find_rows([tmp_path], pytest.fail)
    assert statistics.minutes_per_million(run) == pytest.approx(22 / 4000 * 1e6 / 60)
    rows = run.evaluations
    after = statistics.minutes_per_million_after(rows.timesteps, rows.train_time_s, rows.critic_updates)
    assert after == (pytest.approx(0.01 * 1e6 / 60), 1000)
    for updates in ([0.0, 0.0, 0.0], [0.0, 0.0, 5.0]):
        assert math.isnan(statistics.minutes_per_million_after(np.arange(3.0), np.arange(3.0), np.array(updates))[0])


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
    assert_allclose(smooth[:19], [values[: i + 1].mean() for i in range(19)], atol=1e-12)
    x, y = statistics.points(np.array([0.0, 1.0, 1.0, np.nan, 2.0]), np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert (x.tolist(), y.tolist()) == ([0, 1, 2], [1, 3, 5])
    assert [len(part) for part in statistics.points(np.empty(0), np.empty(0), 3)] == [0, 0]
