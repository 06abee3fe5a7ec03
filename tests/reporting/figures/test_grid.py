"""The figure of all environments, and that curves differ by more than their colour."""

from __future__ import annotations

import numpy as np
import pytest

from erlbench.reporting.data.published import load_published
from erlbench.reporting.figures import style
from erlbench.reporting.figures.curves import Curves
from erlbench.reporting.figures.draw import draw_plot
from erlbench.reporting.figures.grid import grid_plot
from erlbench.reporting.figures.model import CURVE, GREY, PALETTE, POINTS, REFERENCE, Series
from erlbench.reporting.figures.training import DASHED
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.pages.charts import ChartData
from erlbench.reporting.paper_style import PaperStyle
from tests.reporting.compare import page_of
from tests.reporting.make_runs import make_run


def series(number, **how):
    return Series(label="", x=np.arange(3.0), y=np.arange(3.0), colour=number, **how)


def grid_of(folder, **look):
    page = page_of(folder)
    curves = Curves(load_published(), ReportOptions())
    plots = [(group, plot) for group in page.groups if (plot := curves.plot(page, group)) is not None]
    return grid_plot(page, plots, PaperStyle(**look))


def test_curves_differ_without_their_colours():
    """The first eight, which is all that a figure has as a rule: each has a dash and a marker that no other has."""
    first = [series(number) for number in range(8)]
    assert len({one.marker for one in first}) == 8
    assert len({one.dash for one in first}) == 4
    many = {(one.colour % len(PALETTE), one.dash, one.marker) for one in map(series, range(64))}
    assert len(many) == 64


def test_what_is_no_curve_of_an_algorithm_has_a_dash_of_its_own_and_no_marker():
    dashes = {series(number).dash for number in range(8)}
    for look in (REFERENCE, DASHED, POINTS):
        assert series(0, look=look).dash not in dashes
        assert series(0, look=look).marker == ""
    assert series(GREY, look=POINTS, symbol="square-open").marker == "square-open"


def test_both_renderers_take_dash_and_marker_from_the_model(tmp_path):
    make_run(tmp_path, "Foo-v5", "cem", 0, [0, 1])
    make_run(tmp_path, "Foo-v5", "td3", 0, [0, 2])
    page = page_of(tmp_path)
    plot = Curves(load_published(), ReportOptions()).plot(page, page.groups[0])
    drawn = ChartData().chart(plot).data["panels"]["timesteps"]["series"]
    assert [(one["dash"], one["symbol"]) for one in drawn] == [("solid", "triangle-down"), ("solid", "circle")]
    known = {series(number).marker for number in range(8)}
    assert known <= style.MARKERS.keys() == style.GLYPHS.keys()
    assert {series(number).dash for number in range(8)} <= style.DASHES.keys()


def test_an_algorithm_looks_the_same_in_all_panels(tmp_path):
    for env, names in (("Foo-v5", ("cem", "td3")), ("Bar-v5", ("td3",))):
        for name in names:
            make_run(tmp_path, env, name, 0, [0, 1, 2])
    plot = grid_of(tmp_path, labels={"td3": "TD3", "Foo-v5": "Foo"})
    assert {panel.title for panel in plot.panels.values()} == {"Foo", "Bar-v5"}
    looks = {(one.label, one.colour) for panel in plot.panels.values() for one in panel.series}
    assert {label for label, _ in looks} == {"cem", "TD3"}
    assert len(looks) == 2


def test_order_selection_colours_and_size_are_those_of_the_style(tmp_path):
    for env in ("Foo-v5", "Bar-v5"):
        for name in ("cem", "sac", "td3"):
            make_run(tmp_path, env, name, 0, [0, 1, 2])
    plot = grid_of(
        tmp_path, algorithms=("td3", "cem"), environments=("Foo-v5",), colours={"td3": "#123456"}, width=3.3, font=7.0
    )
    ((name, panel),) = plot.panels.items()
    assert name.startswith("Foo-v5")
    assert [(one.label, one.colour) for one in panel.series if one.look == CURVE] == [("cem", 4), ("td3", 0)]
    assert plot.sheet.palette == ("#123456", *PALETTE[1:5])
    assert (plot.sheet.width, plot.sheet.font) == (3.3, 7.0)


def test_the_figure_has_the_size_that_is_asked_for(tmp_path):
    for env in ("Foo-v5", "Bar-v5", "Baz-v5"):
        make_run(tmp_path / "runs", env, "cem", 0, [0, 1, 2])
    plot = grid_of(tmp_path / "runs", width=4.0, height=3.0, columns=2, family="serif")
    draw_plot(plot, tmp_path / "grid", ["svg", "png"])
    svg = (tmp_path / "grid.svg").read_text()
    assert 'width="288pt" height="216pt"' in svg
    assert svg.count('id="axes_') == 3


@pytest.mark.parametrize("names", [{"algorithms": ("cem",)}, {"environments": ("Foo-v5",)}])
def test_nothing_to_draw_is_no_figure(tmp_path, names):
    make_run(tmp_path, "Foo-v5", "cem", 0, [], status="running", total=1000)
    make_run(tmp_path, "Bar-v5", "td3", 0, [0, 1])
    assert grid_of(tmp_path, **names) is None
