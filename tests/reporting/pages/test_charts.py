"""The data of the page's charts."""

from __future__ import annotations

import json
import re

import numpy as np

from erlbench.reporting.curves import curve_frame
from erlbench.reporting.documents import Figure
from erlbench.reporting.drawing import MOST_RUNS, POINTS, ChartData
from tests.reporting.compare import read, write_report
from tests.reporting.make_runs import make_cells
from tests.reporting.make_studies import make_study


def series_of(charts, *lines):
    """The series of lines in a chart, and the lists that they point to."""
    data = curve_frame([{"label": "a", "group": "a", "panel": "x", **line} for line in lines])
    panels = {"x": {"x": "x", "y": "y"}}
    chart = charts.chart(Figure(name="f", title="", caption=[], data=data, panels=panels, paper=["x"]))
    return chart["panels"]["x"]["series"], [*charts.lists]


def test_a_list_of_numbers_stands_once_and_is_short():
    x, y = np.arange(1000.0), np.linspace(0, 1, 1000) / 3
    (first, second), lists = series_of(ChartData(), {"x": x, "y": y}, {"x": x, "y": y, "label": "b"})
    assert (first["x"], first["y"]) == (second["x"], second["y"])
    assert [len(numbers) for numbers in lists] == [POINTS, POINTS]
    assert (lists[first["x"]][-1], lists[first["y"]][-1]) == (999, 0.33333)


def test_a_page_of_many_runs_shows_a_share_of_them():
    x = np.arange(3.0)
    runs = [(f"seed {seed}", x, x + seed) for seed in range(200)]
    for count, shown in ((200, 200), (10 * MOST_RUNS, 20)):
        charts = ChartData(count)
        (series,), lists = series_of(charts, {"x": x, "y": x, "averaged": 200, "runs": runs})
        names, _, y = (lists[place] for place in series["runs"])
        assert (len(names), names[-1], lists[y[-1]]) == (shown, "seed 199", (199, 200, 201))
        assert charts.shared()["share"] == shown / 200


def test_runs_of_one_seed_and_curves_without_a_common_point_stay_apart():
    """Two runs of a seed are two lines; a mean without points has a name in the legend, and its runs."""
    x = np.arange(2.0)
    line = {"x": x[:0], "y": x[:0], "runs": [("seed 0", x, x), ("seed 0", x, x + 1)]}
    (series,), lists = series_of(ChartData(), line)
    assert (lists[series["x"]], lists[series["runs"][0]]) == ((), ("seed 0", "seed 0"))
    assert "bands" not in series


def test_published_lines_are_of_what_has_a_curve(tmp_path):
    """CEM-RL has runs, AES-RL and SAC have published means only: a line of theirs would have no name and no colour."""
    make_cells(tmp_path / "in", "HalfCheetah-v5", {"cem-rl": [9000]}, [0], steps=[0, 10**6], studies=["study"])
    page = read(write_report(tmp_path / "in", studies={"study": make_study()}, profile="paper") / "index.html")
    charts = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])["charts"]
    levels = [
        (series["group"], series["level"])
        for name, chart in charts.items() if name.startswith("study")
        for series in chart["panels"]["timesteps"]["series"] if "level" in series
    ]  # fmt: skip
    assert levels == [("CEM-RL", 10725.0)]
