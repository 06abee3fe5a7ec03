"""The data of the page's charts: which band a figure has, and which run is drawn as the mean."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from erlbench.reporting import build_report
from erlbench.reporting.data.comparison import everything
from erlbench.reporting.data.cut import Moment
from erlbench.reporting.data.published import load_published
from erlbench.reporting.data.runs import find_runs
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.pages.charts import ChartData
from tests.reporting.compare import charts_of
from tests.reporting.make_runs import make_run
from tests.reporting.make_studies import make_study


def drawn(folder: Path, charts: ChartData) -> dict[str, Any]:
    """The chart of the learning curves of the only environment."""
    comparison = everything(find_runs([folder], lambda _: None), "All runs")
    (group,) = comparison.groups
    return charts.of_group(comparison, group, load_published(), "timesteps").data


@pytest.mark.parametrize(
    ("counts", "wanted", "band"),
    [((5, 5), "auto", "interval"), ((5, 4), "auto", "range"), ((5, 5), "range", "range"), ((1, 1), "auto", "range")],
)
def test_a_figure_has_one_band(tmp_path, counts, wanted, band):
    for name, count in zip(("cem", "td3"), counts, strict=True):
        for seed in range(count):
            make_run(tmp_path, "Foo-v5", name, seed, [0, 100 + seed])
    assert drawn(tmp_path, ChartData(1, wanted))["band"] == band


def test_runs_that_are_not_averaged_do_not_count_for_the_band(tmp_path):
    for seed in range(6):
        make_run(tmp_path, "Foo-v5", "cem", seed, [0, 100], status="done" if seed < 4 else "failed", total=1000)
    assert drawn(tmp_path, ChartData(1))["band"] == "range"


def test_the_finished_run_is_its_own_mean(tmp_path):
    make_run(tmp_path, "Foo-v5", "cem", 0, [0, -999], status="failed", total=2000)
    make_run(tmp_path, "Foo-v5", "cem", 1, [0, 500, 1000])
    charts = ChartData(1)
    (run_set,) = drawn(tmp_path, charts)["runSets"]
    assert run_set["curve"] is None
    assert charts.runs[run_set["only"]]["seed"] == 1
    assert len(run_set["runs"]) == 2


def test_several_runs_have_a_mean_curve(tmp_path):
    for seed in range(2):
        make_run(tmp_path, "Foo-v5", "cem", seed, [0, 5], status="failed", total=2000)
    charts = ChartData(1)
    (run_set,) = drawn(tmp_path, charts)["runSets"]
    assert (run_set["only"], charts.curves[run_set["curve"]]["axes"]["timesteps"]["runs"]) == (None, 2)


def test_a_run_that_another_page_cuts_is_another_line(tmp_path):
    make_run(tmp_path / "in", "Foo-v5", "cem", 0, [0, 10, 20, 30, 40])
    options = ReportOptions(at=Moment(2000))
    folder = tmp_path / "in"
    index = build_report([folder], tmp_path / "out", {}, None, lambda warning: None, options, reference=folder)
    data = json.loads(re.search(r'id="data">(.*?)</script>', index.read_text(), re.S)[1])
    ends = {
        name: data["arrays"][data["runs"][chart["runSets"][0]["only"]]["axes"]["timesteps"][0]][-1]
        for name, chart in data["charts"].items() if "-curves-" in name
    }  # fmt: skip
    assert ends == {"all-runs-curves-Foo-v5": 2000, "reference-curves-Foo-v5-4000": 4000}


def test_published_lines_are_of_what_has_a_curve(tmp_path):
    """CEM-RL has runs, AES-RL and SAC have published means only: a line of theirs would have no name and no colour."""
    for seed in range(3):
        make_run(tmp_path / "in", "HalfCheetah-v5", "cem-rl", seed, [0, 9000], steps=[0, 10**6], studies=["study"])
    index = build_report([tmp_path / "in"], tmp_path / "out", {"study": make_study()}, "paper", lambda warning: None)
    drawn = {name: chart["published"] for name, chart in charts_of(index).items() if name.startswith("study")}
    assert [lines for lines in drawn.values() if lines] == [[["cem-rl", 10725.0]]]
