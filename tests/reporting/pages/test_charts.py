"""The data of the page's charts: which band a figure has, and which run is drawn as the mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from erlbench.reporting import build_report
from erlbench.reporting.curves import curve_frame
from erlbench.reporting.documents import Figure
from erlbench.reporting.drawing import MOST_RUNS, POINTS, ChartData
from erlbench.reporting.options import PaperStyle
from tests.reporting.compare import charts_of, curves_of, means_of, page_of, runs_of
from tests.reporting.make_runs import make_run
from tests.reporting.make_studies import make_study


def drawn(folder: Path, band: str = "auto") -> Figure:
    """The learning curves of the only environment."""
    figure = curves_of(page_of(folder, lambda _: None, metric="final"), paper=PaperStyle(band=band))
    assert figure is not None
    return figure


def line(x, **values):
    return {"label": "a", "group": "a", "panel": "x", "x": x, **values}


def charted(charts, lines):
    """The chart of some lines."""
    return charts.chart(
        Figure(name="f", title="", caption=[], data=curve_frame(lines), panels={"x": {"x": "x", "y": "y"}}, paper=["x"])
    )


@pytest.mark.parametrize(
    ("counts", "wanted", "band"),
    [((6, 6), "auto", "interval"), ((6, 5), "auto", "range"), ((6, 6), "range", "range"), ((1, 1), "auto", "range")],
)
def test_a_figure_has_one_band(tmp_path, counts, wanted, band):
    for name, count in zip(("cem", "td3"), counts, strict=True):
        for seed in range(count):
            make_run(tmp_path, "Foo-v5", name, seed, [0, 100 + seed])
    assert drawn(tmp_path, wanted).band == band


def test_the_finished_run_is_its_own_mean(tmp_path):
    make_run(tmp_path, "Foo-v5", "cem", 0, [0, -999], status="failed", total=2000)
    make_run(tmp_path, "Foo-v5", "cem", 1, [0, 500, 1000])
    figure = drawn(tmp_path)
    (mean,) = means_of(figure).values()
    assert (mean.averaged, mean.y.tolist()) == (1, [0, 500, 1000])
    assert runs_of(figure) == {"cem": ["seed 0 (failed)"]}


def test_a_list_of_numbers_stands_once_and_is_short():
    charts = ChartData()
    x, y = np.arange(1000.0), np.linspace(0, 1, 1000) / 3
    first, second = charted(charts, [line(x, y=y), line(x, y=y, label="b")])["panels"]["x"]["series"]
    assert (first["x"], first["y"]) == (second["x"], second["y"])
    assert [len(one) for one in charts.lists] == [POINTS, POINTS]
    assert [*charts.lists][first["x"]][-1] == 999
    assert [*charts.lists][first["y"]][-1] == 0.33333


def test_a_page_of_many_runs_shows_a_share_of_them():
    x = np.arange(3.0)
    lines = [line(x, y=x, averaged=200, runs=[(f"seed {seed}", x, x + seed) for seed in range(200)])]
    for count, shown in ((200, 200), (10 * MOST_RUNS, 20)):
        charts = ChartData(count)
        names, _, y = charted(charts, lines)["panels"]["x"]["series"][0]["runs"]
        assert (len([*charts.lists][names]), [*charts.lists][names][-1]) == (shown, "seed 199")
        assert [*charts.lists][[*charts.lists][y][-1]] == (199, 200, 201)
        assert charts.shared()["share"] == shown / 200


def test_runs_of_one_seed_and_curves_without_a_common_point_stay_apart():
    """Two runs of a seed are two lines; a mean without points has a name in the legend, and its runs."""
    x = np.arange(2.0)
    lines = [line(x[:0], y=x[:0], runs=[("seed 0", x, x), ("seed 0", x, x + 1)])]
    charts = ChartData()
    (series,) = charted(charts, lines)["panels"]["x"]["series"]
    assert [*charts.lists][series["x"]] == ()
    assert [*charts.lists][series["runs"][0]] == ("seed 0", "seed 0")
    assert "bands" not in series


def test_published_lines_are_of_what_has_a_curve(tmp_path):
    """CEM-RL has runs, AES-RL and SAC have published means only: a line of theirs would have no name and no colour."""
    for seed in range(3):
        make_run(tmp_path / "in", "HalfCheetah-v5", "cem-rl", seed, [0, 9000], steps=[0, 10**6], studies=["study"])
    index = build_report([tmp_path / "in"], tmp_path / "out", {"study": make_study()}, "paper", lambda warning: None)
    levels = {
        name: [(one["group"], one["level"]) for one in chart["panels"]["timesteps"]["series"] if "level" in one]
        for name, chart in charts_of(index).items() if name.startswith("study")
    }  # fmt: skip
    assert [found for found in levels.values() if found] == [[("CEM-RL", 10725.0)]]
