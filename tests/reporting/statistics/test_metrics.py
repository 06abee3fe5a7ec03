from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from erlbench.reporting.score import area, final, final_10
from erlbench.reporting.statistics import (
    align,
    band_kind,
    max_of_average,
    mean_curve,
    minutes_per_million,
    minutes_per_million_after,
)
from tests.reporting.compare import find_rows
from tests.reporting.make_runs import make_run


def read(path):
    return find_rows([path], pytest.fail)


def test_metrics_of_one_run_by_hand(tmp_path):
    make_run(tmp_path, "Ant-v5", "cem", 0, [0, 10, 30], steps=[0, 1000, 4000])
    (run,) = read(tmp_path)
    assert final(run) == 30
    assert area(run) == pytest.approx((5 * 1000 + 20 * 3000) / 4000)
    assert math.isnan(final_10(run))


def test_final_10_is_the_mean_of_the_last_ten(tmp_path):
    make_run(tmp_path, "Ant-v5", "cem", 0, range(12))
    assert final_10(read(tmp_path)[0]) == 6.5


def test_max_of_average_is_taken_over_the_average_curve(tmp_path):
    make_run(tmp_path, "Ant-v5", "cem", 0, [0, 10, 0, 100])
    make_run(tmp_path, "Ant-v5", "cem", 1, [0, 0, 6], status="running", total=3000)
    assert max_of_average(read(tmp_path)) == 5.0  # not 100: only one run got that far


def test_minutes_per_million_with_and_without_warm_up(tmp_path):
    # 2000 warm-up steps of 1 ms and 2000 trained steps of 10 ms: 22 s for 4000 steps.
    make_run(tmp_path, "Ant-v5", "cem", 0, [0] * 5, warmup=2000, seconds_per_step=0.01)
    (run,) = read(tmp_path)
    assert minutes_per_million(run) == pytest.approx(22 / 4000 * 1e6 / 60)
    e = run.evaluations
    after = minutes_per_million_after(e.timesteps, e.train_time_s, e.critic_updates)
    assert after == (pytest.approx(0.01 * 1e6 / 60), 1000)


def test_no_gradient_steps_no_figure_after_warm_up():
    x = np.arange(3.0)
    assert math.isnan(minutes_per_million_after(x, x, np.zeros(3))[0])
    assert math.isnan(minutes_per_million_after(x, x, np.array([0.0, 0.0, 5.0]))[0])


def test_align_interpolates_and_does_not_extrapolate():
    x, values = align([(np.array([0.0, 2.0]), np.array([0.0, 4.0])), (np.array([0.0, 1.0]), np.array([1.0, 3.0]))])
    assert_array_equal(x, [0, 1])
    assert_array_equal(values, [[0, 2], [1, 3]])


def test_the_mean_stops_where_the_first_run_ends():
    runs = [(0, (np.arange(3.0), np.array([0.0, 2.0, 8.0]))), (1, (np.array([0.0, 1.0]), np.array([2.0, 4.0])))]
    line = mean_curve(runs)
    assert {name: values.tolist() for name, values in line.items()} == {
        "x": [0, 1], "y": [1, 3], "low": [0, 2], "high": [2, 4]
    }  # fmt: skip


def test_a_thinned_curve_keeps_both_ends():
    line = mean_curve([(0, (np.arange(1000.0), np.arange(1000.0))), (1, (np.arange(500.0), np.zeros(500)))], most=20)
    assert (len(line["x"]), line["x"][0], line["x"][-1], line["y"][-1]) == (20, 0, 499, 249.5)


def test_interval_band_lies_around_the_mean():
    rng = np.random.default_rng(0)
    line = mean_curve([(seed, (np.arange(3.0), rng.normal(size=3))) for seed in range(6)], interval=True)
    assert (line["low"] < line["interval_low"]).all()
    assert (line["interval_low"] < line["y"]).all()
    assert (line["y"] < line["interval_high"]).all()
    assert (line["interval_high"] < line["high"]).all()


def test_one_band_for_a_figure():
    assert band_kind([6, 9]) == "interval"
    assert band_kind([6, 5]) == "range"
    assert band_kind([6, 6], "range") == "range"
    assert band_kind([]) == "range"


def test_no_runs_no_curve():
    assert not any(map(len, mean_curve([]).values()))
    assert math.isnan(max_of_average([]))
