"""Labels at the ends of curves."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.text import Text

from erlbench.reporting.figures import style
from erlbench.reporting.figures.axis import AXES, time_unit
from erlbench.reporting.figures.labels import label_ends, spread
from erlbench.reporting.figures.model import Sheet


def test_labels_with_room_stay_where_they_are():
    assert spread([0.1, 0.5, 0.9], 0.1) == [0.1, 0.5, 0.9]


def test_labels_that_are_too_near_move_apart_about_their_middle():
    assert spread([0.5, 0.5], 0.1) == pytest.approx([0.45, 0.55])
    assert spread([0.2, 0.5, 0.5, 0.52], 0.1) == pytest.approx([0.2, 0.40666667, 0.50666667, 0.60666667])


def test_ten_labels_at_one_height_do_not_overlap():
    with style.new_figure(2.75, Sheet()) as figure:
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1])
        label_ends(axes, [(0.5, f"algorithm {i}", "black") for i in range(10)])
        figure.draw_without_rendering()
        boxes = sorted((Text.get_window_extent(text) for text in axes.texts), key=lambda box: box.y0)
        assert all(low.y1 <= high.y0 + 0.5 for low, high in zip(boxes, boxes[1:], strict=False))
        assert {text.get_text() for text in axes.texts} == {f"algorithm {i}" for i in range(10)}


@pytest.mark.parametrize(
    ("seconds", "unit"), [(0.0, "seconds"), (119.0, "seconds"), (120.0, "minutes"), (7200.0, "hours"), (2e5, "days")]
)
def test_the_unit_of_time_fits(seconds, unit):
    assert time_unit(seconds)[0] == unit
    assert AXES["time"].unit(seconds)[0] == f"Training time ({unit})"
    assert AXES["timesteps"].unit(seconds) == ("Training steps", 1.0)
    assert np.isclose(dict([time_unit(3600.0 * 3)])["hours"], 3600)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("length", [10, 30, 55, 80])
def test_no_legend_is_wider_than_its_figure(count, length):
    names = [f"{'OpenAI-ES, episode ' * 5}"[: length - 1] + str(i) for i in range(count)]
    with style.new_figure(4.0, Sheet()) as figure:
        axes = figure.subplots()
        lines = [axes.plot([0, 1], [0, i])[0] for i in range(count)]
        columns = style.legend_columns(names, Sheet().width)
        legend = figure.legend(lines, names, loc="outside lower center", ncols=columns)
        figure.draw_without_rendering()
        box = legend.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width
        assert columns > 1 or count == 1 or length > 40  # and no narrower than need be
