"""Learning curves, the grid of environments, columns and profiles: their data, their captions, and their files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas
from numpy.testing import assert_allclose, assert_array_equal

from erlbench.experiment.study import Entry, Profile
from erlbench.records.axes import AXES
from erlbench.records.schema import EpisodeRow, row_of
from erlbench.reporting import build_report, drawing
from erlbench.reporting.curves import NUMBERED, colour_numbers, curve_frame
from erlbench.reporting.documents import Figure
from erlbench.reporting.drawing import GREY, LOOKS, PALETTE, dash_and_symbol, draw
from erlbench.reporting.figures import axis_label, columns_of_train, environments_grid
from erlbench.reporting.options import PaperStyle, ReportOptions, parse_panels
from erlbench.reporting.statistics import points, time_unit
from tests.reporting.compare import comparison_of, curves_of, means_of, page_of
from tests.reporting.make_runs import make_run, write_rows
from tests.reporting.make_studies import make_study


def no_tasks(warning):
    """The made runs have no tasks; anything else is wrong."""
    assert str(warning).endswith("tasks.csv: no task yet")


def test_a_smooth_curve_is_numpys_convolution_once_the_window_is_full():
    def smooth(values, window):
        return points(np.arange(float(len(values))), values, window)[1]

    values = np.random.default_rng(0).normal(size=50)
    assert_allclose(smooth(values, 20)[19:], np.convolve(values, np.ones(20) / 20, mode="valid"), atol=1e-12)
    assert_allclose(smooth(values, 20)[:19], [values[: i + 1].mean() for i in range(19)], atol=1e-12)
    assert_array_equal(smooth(values, 1), values)
    assert_allclose(smooth(values[:3], 99), [values[0], values[:2].mean(), values[:3].mean()])


def test_of_several_values_at_one_point_the_last_counts():
    x, y = points(np.array([0.0, 1.0, 1.0, np.nan, 2.0]), np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert_array_equal(x, [0, 1, 2])
    assert_array_equal(y, [1, 3, 5])
    assert [len(part) for part in points(np.empty(0), np.empty(0), 3)] == [0, 0]


@pytest.mark.parametrize(
    ("seconds", "unit"), [(0.0, "seconds"), (119.0, "seconds"), (120.0, "minutes"), (7200.0, "hours"), (2e5, "days")]
)
def test_the_unit_of_time_fits(seconds, unit):
    curves = [(np.array([0.0, seconds]), np.zeros(2))]
    assert axis_label("time", curves)[0] == f"Training time ({unit})"
    assert axis_label("timesteps", curves) == ("Training steps", 1.0)
    assert time_unit(3600.0 * 3) == ("hours", 3600)


@pytest.mark.parametrize(
    ("name", "end"),
    [("timesteps", 3000.0), ("time", 30.0), ("generation", 3.0), ("episodes", 8.0), ("updates", 3000.0),
     ("simulator-steps", 3000.0), ("all-steps", 3000.0 + 8000.0)],
)  # fmt: skip
def test_one_panel_over_the_axis_that_was_asked_for(tmp_path, monkeypatch, name, end):
    drawn = []

    def look(figure, path, formats):
        if path.name == "grid":
            return
        (axes,) = figure.axes
        (line,), (single, band) = axes.lines, axes.collections
        assert [path.vertices[:, 1].tolist() for path in single.get_paths()][3] == [0, 2, 9, 9]  # seed 3
        drawn.append((axes.get_xlabel(), line.get_xdata(), line.get_ydata(), band.get_paths()[0]))

    monkeypatch.setattr(drawing, "write_figure", look)
    for seed in range(5):
        make_run(tmp_path / "results", "Ant-v5", "cem", seed, [0, 4, 8 + 2 * seed, 4])
    options = ReportOptions(x=name, paper=PaperStyle(smooth=2, band="range"), formats=("png",))
    index = build_report([tmp_path / "results"], tmp_path / "report", {}, None, no_tasks, options)
    ((label, x, y, band),) = drawn
    assert label == AXES[name].label + (" (seconds)" if name == "time" else "")
    assert x[-1] == pytest.approx(end)
    assert_allclose(y, [0, 2, 8, 8])
    assert band.vertices[:, 1].max() == 10  # the best run's average of 4 and 16, and of 16 and 4
    text = (index.parent / "all-runs" / "index.md").read_text(encoding="utf-8")
    assert f"over {AXES[name].words}; budget 3,000 steps. Lines: mean of the finished runs" in text
    assert "band: lowest to highest run." in text
    assert "the moving average over its last 2 evaluations" in text


def test_published_points_stand_in_the_figure_and_on_the_page(tmp_path):
    make_run(tmp_path / "in", "InvertedPendulum-v5@paper", "openai-es", 0, [0, 900], steps=[0, 300_000])
    study = make_study(
        kind="curves", published_source="OpenAI-ES paper", table="Table 3", baseline="", not_run=(), envs_published={},
        entries=(Entry("openai-es", "openai-es", label="OpenAI-ES"),),
        profiles={"p": Profile((0,), 300_000, ("InvertedPendulum-v5@paper",))},
    )  # fmt: skip
    page = comparison_of(tmp_path / "in", study, None)
    figure = curves_of(page)
    assert figure.caption[-1] == (
        "Grey: points of the curves of TRPO (open squares) and OpenAI-ES (open diamonds) in OpenAI-ES paper, Table 3."
    )
    means = means_of(figure)
    trpo, es = means["TRPO, published"], means["OpenAI-ES, published"]
    assert (trpo.symbol, trpo.x.tolist()) == ("square-open", [221_000, 273_000])
    assert (es.symbol, es.x.tolist()) == ("diamond-open", [62_500, 143_000, 255_000])
    assert es.y.tolist() == [276.59, 519.15, 753.17]


def test_published_curves_over_generations_stand_in_the_colours_of_our_runs(tmp_path):
    env = "pybullet_envs_gymnasium:AntBulletEnv-v0"
    make_run(tmp_path / "in", env, "openai-es", 0, [5.0 * n for n in range(71)], steps=[1000 * n for n in range(71)])
    study = make_study(
        kind="curves", published_source="GoodAI blog", table="plot", baseline="", not_run=(), x="generation",
        envs_published={env: "AntPyBulletEnv-v0"},
        entries=(Entry("openai-es", "openai-es", label="ES", published="OptimES 1ep pop100"),),
        profiles={"p": Profile((0,), 70_000, (env,))},
    )  # fmt: skip
    page = comparison_of(tmp_path / "in", study, None)
    figure = curves_of(page)
    ours, theirs = means_of(figure, "generation").values()
    assert (theirs.x.tolist(), theirs.y.tolist()) == ([20, 40, 60], [340, 380, 410])
    assert theirs.number == ours.number
    assert "GoodAI blog, plot" in figure.caption[-1]


# ---- runs that are not finished


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


def test_runs_without_an_evaluation_are_drawn_by_their_training(tmp_path):
    running(tmp_path, 0, [1.0, 3.0, 5.0])
    running(tmp_path, 1, [3.0, 5.0, 7.0, 9.0])
    figure = curves_of(page_of(tmp_path))
    [(label, mean)] = means_of(figure).items()
    assert label == "td3, training (2 running)"
    assert mean.look == "training"
    assert_allclose(mean.x, [100, 200, 300])  # as far as the shorter one
    assert_allclose(mean.y, [2.0, 3.0, 4.0])
    assert_allclose(means_of(figure, "time")[label].x, [0.0, 2.0, 4.0])
    assert "Dashed" in figure.caption[0]
    assert "evaluations" not in figure.caption[0]  # of which there is none


def test_finished_runs_keep_their_curve_beside_those_that_run(tmp_path):
    make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 50, 100], total=10_000, steps=[0, 5000, 10_000])
    running(tmp_path, 1, [1.0, 3.0], status="interrupted")
    figure = curves_of(page_of(tmp_path))
    done, dashed = means_of(figure).values()
    assert done.y.tolist() == [0, 50, 100]
    assert dashed.label == "td3, training (1 interrupted)"
    assert done.number == dashed.number
    assert "return of the evaluations" in figure.caption[0]
    assert "Dashed" in figure.caption[0]


# ---- looks, and the grid of environments


def test_no_two_of_as_many_as_there_are_colours_share_one_and_no_two_of_more_look_alike():
    names = ["mine", "cem@a", "cem@b", *NUMBERED]
    few = colour_numbers(names[: len(PALETTE)])
    assert sorted(few.values()) == [*range(len(PALETTE))]
    assert len(set(colour_numbers(names).values())) == len(names)


def test_curves_differ_without_their_colours():
    """The first eight, which is all that a figure has as a rule: each has a dash and a marker that no other has."""
    looks = [dash_and_symbol("curve", number, "") for number in range(64)]
    assert (len({dash for dash, _ in looks[:8]}), len({symbol for _, symbol in looks[:8]})) == (4, 8)
    assert len({(number % len(PALETTE), *look) for number, look in enumerate(looks)}) == 64
    for name in (name for name in LOOKS if name != "curve"):
        dash, symbol = dash_and_symbol(name, 0, "")
        assert symbol == ""
        assert dash not in {dash for dash, _ in looks}
    assert dash_and_symbol("published", GREY, "square-open")[1] == "square-open"


def grid_of(folder, **look):
    page, style = page_of(folder), PaperStyle(**look)
    figures = [(group, figure) for group in page.groups if (figure := curves_of(page, group, paper=style)) is not None]
    return environments_grid(page, figures, style)


def test_order_selection_and_colours_are_those_of_the_style(tmp_path):
    for env in ("Foo-v5", "Bar-v5"):
        for name in ("cem", "sac", "td3"):
            make_run(tmp_path, env, name, 0, [0, 1, 2])
    labels, colours = {"td3": "TD3", "Foo-v5": "Foo"}, {"td3": "#123456"}
    grid = grid_of(tmp_path, algorithms=("td3", "cem"), environments=("Foo-v5",), labels=labels, colours=colours)
    assert [panel["title"] for panel in grid.panels.values()] == ["Foo"]
    assert [*zip(grid.data.label, grid.data.colour, strict=True)] == [("TD3", "#123456"), ("cem", "")]


def test_a_figure_has_the_size_of_matplotlibrc_and_starts_no_latex(tmp_path, monkeypatch):
    import matplotlib as mpl

    for env in ("Foo-v5", "Bar-v5", "Baz-v5"):
        make_run(tmp_path / "runs", env, "cem", 0, [0, 1, 2])
    with mpl.rc_context({"figure.figsize": (4.0, 1.0), "text.usetex": True}):
        draw(grid_of(tmp_path / "runs"), tmp_path / "grid", ["svg", "png"])
    svg = (tmp_path / "grid.svg").read_text()
    assert 'width="288pt"' in svg
    assert svg.count('id="axes_') == 3


@pytest.mark.parametrize("count", [1, 2, 4, 7])
@pytest.mark.parametrize("length", [10, 30, 80, 300])
def test_legend_and_title_are_no_wider_than_the_figure(tmp_path, monkeypatch, count, length):
    boxes = []

    def look(figure: Canvas, *_):
        figure.draw_without_rendering()
        texts = (figure.legends[0], figure._suptitle)  # no public name
        boxes.extend((text.get_window_extent(), figure.bbox.width) for text in texts)

    monkeypatch.setattr(drawing, "write_figure", look)
    names = [f"{'OpenAI-ES, episode ' * 20}"[: length - 1] + str(i) for i in range(count)]
    x = np.arange(5.0)
    data = curve_frame({"label": name, "name": name, "number": i, "x": x, "y": x} for i, name in enumerate(names))
    look = {"heading": "Env (setting 1) " * 12, "panels": {"": {"x": "", "y": ""}}, "paper": [""]}
    figure = Figure(name="f", title="", caption=[], data=data, **look)
    draw(figure, tmp_path / "figure", ["png"])
    assert all(box.x0 >= 0 and box.x1 <= width for box, width in boxes)


# ---- columns of train.csv


def add_column(path, name, values):
    """Append a column to a run's train.csv."""
    file = path / "train.csv"
    lines = file.read_text().splitlines()
    cells = [name, *map(str, values)]
    file.write_text("".join(f"{line},{cell}\n" for line, cell in zip(lines, cells, strict=True)))


def test_the_figure_of_columns_has_a_panel_per_name_and_the_runs_means(tmp_path):
    warnings = []
    for seed, sigma in enumerate(([1.0, 2.0, 3.0], [3.0, 2.0, 1.0])):
        path = make_run(tmp_path / "results", "Ant-v5", "esac", seed, [0, 1, 2])
        add_column(path, "sigma", sigma)
        add_column(path, "score_es", ["nan", 5.0 + seed, 7.0])
        add_column(path, "score_sac", ["", "nan", 4.0])
    options = ReportOptions(columns=parse_panels("sigma,score_es+score_sac,typo"))
    build_report([tmp_path / "results"], tmp_path / "report", {}, None, warnings.append, options)
    page = page_of(tmp_path / "results")
    figure = columns_of_train(page, page.groups[0], options, lambda _: None)
    steps = [0.0, 1000.0, 2000.0]
    (sigma,) = means_of(figure, "sigma").values()
    assert (sigma.x.tolist(), sigma.y.tolist()) == (steps, [2.0, 2.0, 2.0])
    both = {label: (own.x.tolist(), own.y.tolist()) for label, own in means_of(figure, "score_es+score_sac").items()}
    assert both == {"score_es": (steps[1:], [5.5, 7.0]), "score_sac": (steps[2:], [4.0])}
    assert "no train.csv of Ant-v5 has a value in a column 'typo'; nothing is drawn for it" in map(str, warnings)
    text = (tmp_path / "report" / "all-runs" / "index.md").read_text(encoding="utf-8")
    assert r"columns of train.csv over training steps (sigma; score\_es, score\_sac)" in text
    assert (tmp_path / "report" / "all-runs" / "columns-Ant-v5-2000.png").stat().st_size > 1000


def test_columns_are_averaged_over_the_finished_runs(tmp_path):
    for seed, status, generations in ((0, "failed", [1, 2, 3]), (1, "done", [4, 5, 6])):
        path = make_run(tmp_path, "Foo-v5", "cem", seed, [0, 5, 10], status=status)
        add_column(path, "sigma", generations)
    page = page_of(tmp_path, lambda _: None)
    figure = columns_of_train(page, page.groups[0], ReportOptions(columns=parse_panels("sigma")), pytest.fail)
    (sigma,) = means_of(figure, "sigma").values()
    assert sigma.y.tolist() == [4, 5, 6]
