"""Curves of runs that are not finished: training returns, dashed and marked."""

from __future__ import annotations

import json

import numpy as np
import pytest

from erlbench.records.schema import EpisodeRow, row_of
from erlbench.reporting.data.published import load_published
from erlbench.reporting.figures.curves import Curves
from erlbench.reporting.figures.training import DASHED
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.request import requested_report
from tests.reporting.compare import page_of
from tests.reporting.make_runs import make_run, write_rows


def running(results, seed, returns, status="running"):
    folder = make_run(results, "Hopper-v5", "td3", seed, [], total=10_000, status=status)
    rows = [
        row_of(EpisodeRow, {"r": value, "l": 100, "t": 2.0 * i, "kind": "rl", "task": i, "timesteps": 100 * (i + 1)})
        for i, value in enumerate(returns)
    ]
    (folder / EpisodeRow.file).unlink()
    write_rows(folder, EpisodeRow, rows, '{"env_id": "Hopper-v5", "t_start": 0.0}')
    state = json.loads((folder / "status.json").read_text())
    mean = float(np.mean(returns[-100:]))
    (folder / "status.json").write_text(json.dumps({**state, "timesteps": 100 * len(returns), "training_return": mean}))
    return folder


def plot_of(results):
    page = page_of(results)
    return Curves(load_published(), ReportOptions()).plot(page, page.groups[0])


def test_runs_without_an_evaluation_are_drawn_by_their_training(tmp_path):
    running(tmp_path, 0, [1.0, 3.0, 5.0])
    running(tmp_path, 1, [3.0, 5.0, 7.0, 9.0])
    plot = plot_of(tmp_path)
    [series] = plot.panels["timesteps"].series
    assert series.label == "td3, training (2 running)"
    assert series.look == DASHED
    np.testing.assert_allclose(series.x, [100, 200, 300])  # as far as the shorter one
    np.testing.assert_allclose(series.y, [2.0, 3.0, 4.0])
    np.testing.assert_allclose(plot.panels["time"].series[0].x, [0.0, 2.0, 4.0])
    assert "Dashed" in plot.caption[0]
    assert "evaluations" not in plot.caption[0]  # of which there is none


def test_finished_runs_keep_their_curve_beside_those_that_run(tmp_path):
    make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 50, 100], total=10_000, steps=[0, 5000, 10_000])
    running(tmp_path, 1, [1.0, 3.0], status="interrupted")
    done, dashed = plot_of(tmp_path).panels["timesteps"].series
    assert done.y.tolist() == [0, 50, 100]
    assert dashed.label == "td3, training (1 interrupted)"
    assert done.colour == dashed.colour
    caption = plot_of(tmp_path).caption[0]
    assert "return of the evaluations" in caption
    assert "Dashed" in caption


def test_a_run_with_evaluations_on_the_way_shows_these(tmp_path):
    make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 50], total=10_000, steps=[0, 5000], status="running")
    [series] = plot_of(tmp_path).panels["timesteps"].series
    assert series.look != DASHED


@pytest.mark.slow
def test_the_report_of_running_runs_has_their_curve_and_their_return(tmp_path):
    running(tmp_path / "results", 0, [1.0, 3.0, 5.0])
    page = requested_report(ReportOptions(results=(tmp_path / "results",), out=tmp_path / "report"))
    assert (tmp_path / "report" / "all-runs" / "curves-Hopper-v5-10000.png").stat().st_size > 1000
    text = (page.parent / "index.md").read_text()
    assert "seed 0: running, 300 of 10,000 steps, training return 3.0" in text
