"""Learning curves, the grid of environments, and columns: their data, captions, files, and style."""

import matplotlib as mpl
import pytest
from numpy.testing import assert_allclose

from erlbench.errors import UsageError
from erlbench.experiment.study import Entry, Profile
from erlbench.reporting import drawing
from erlbench.reporting.drawing import draw
from erlbench.reporting.figures import axis_label, columns_of_train, environments_grid
from erlbench.reporting.options import PaperStyle, ReportOptions, parse_panels, read_style, select_items
from tests.files import edit_rows
from tests.reporting.compare import comparison_of, curves_of, means_of, page_of, read, runs_of, write_report
from tests.reporting.make_runs import make_cells, make_run
from tests.reporting.make_studies import make_study
from tests.tables import cells

ENDS = {
    "timesteps": 3000, "time": 30, "generation": 3, "episodes": 8, "updates": 3000, "simulator-steps": 3000,
    "all-steps": 11_000,
}  # fmt: skip


def test_a_figure_over_each_axis(tmp_path):
    make_run(tmp_path, "Ant-v5", "cem", 0, [0, 4, 8, 4])
    page = page_of(tmp_path)
    for name, end in ENDS.items():
        figure = curves_of(page, x=name)
        assert figure.paper == [name]
        assert means_of(figure, name)["cem (1 run)"].x[-1] == pytest.approx(end)
    units = [axis_label("time", end)[0] for end in (119.0, 120.0, 7200.0, 2e5)]
    assert units == [f"Training time ({unit})" for unit in ("seconds", "minutes", "hours", "days")]


@pytest.mark.parametrize(
    ("env", "settings", "frames", "paper"),
    [
        ("ALE/Pong-v5@paper", "", 4, ["frames", "time"]),
        ("ALE/Pong-v5", "frame_skip = 2", 2, ["frames", "time"]),
        ("Ant-v5", "frame_skip = 2", None, ["timesteps", "time"]),
    ],
)
def test_only_axes_of_atari_count_frames(tmp_path, env, settings, frames, paper):
    make_run(tmp_path, env, "openai-es", 0, [0, 4, 8], settings=f"[env_settings]\n{settings}\n")
    figure = curves_of(page_of(tmp_path))
    assert figure.paper == paper
    assert [[*curve.x] for curve in figure.data[figure.data.panel == "frames"].itertuples()] == (
        [[0, 1000 * frames, 2000 * frames]] if frames else []
    )


def test_an_axis_without_values_is_warned_of(tmp_path):
    make_run(tmp_path / "in", "Ant-v5", "cem", 0, [0, 4, 8])
    warnings = []
    write_report(tmp_path / "in", warnings.append, x="frames")
    assert [text for text in warnings if "Ant-v5" in text and "frames" in text]


def test_a_drawn_figure_has_means_band_and_single_runs(tmp_path, monkeypatch):
    drawn = []

    def look(figure, path, formats):
        if path.name != "grid":
            (axes,) = figure.axes
            (line,), (single, band) = axes.lines, axes.collections
            assert [path.vertices[:, 1].tolist() for path in single.get_paths()][3] == [0, 2, 9, 9]  # seed 3
            drawn.append((axes.get_xlabel(), line.get_ydata(), band.get_paths()[0].vertices[:, 1].max()))

    monkeypatch.setattr(drawing, "write_figure", look)
    for seed in range(5):
        make_run(tmp_path / "results", "Ant-v5", "cem", seed, [0, 4, 8 + 2 * seed, 4])
    style = PaperStyle(smooth=2, band="range")
    write_report(tmp_path / "results", x="time", paper=style, formats=("png",))
    ((label, y, highest),) = drawn
    assert label == "Training time (seconds)"
    assert highest == 10  # the best run's average of 4 and 16, and of 16 and 4
    assert_allclose(y, [0, 2, 8, 8])


@pytest.mark.parametrize(
    ("counts", "band", "drawn"), [((6, 6), "auto", "interval"), ((6, 5), "auto", "range"), ((6, 6), "range", "range")]
)
def test_a_figure_has_one_band(tmp_path, counts, band, drawn):
    make_cells(tmp_path, "Foo-v5", {name: range(count) for name, count in zip(("cem", "td3"), counts)})
    assert curves_of(page_of(tmp_path), paper=PaperStyle(band=band)).band == drawn


def test_published_points_stand_in_the_figure(tmp_path):
    env = "InvertedPendulum-v5@paper"
    make_run(tmp_path, env, "openai-es", 0, [0, 900], steps=[0, 300_000])
    figure = curves_of(comparison_of(tmp_path, make_study(
        kind="curves", published_source="OpenAI-ES paper", table="Table 3", baseline="", not_run=(), envs_published={},
        entries=(Entry("openai-es", "openai-es", label="OpenAI-ES"),), profiles={"p": Profile((0,), 300_000, (env,))},
    )))  # fmt: skip
    trpo, es = (means_of(figure)[f"{name}, published"] for name in ("TRPO", "OpenAI-ES"))
    assert trpo.x.tolist() == [221_000, 273_000]
    assert (es.x.tolist(), es.y.tolist()) == ([62_500, 143_000, 255_000], [276.59, 519.15, 753.17])


def test_published_means_stand_in_the_figure_of_what_has_a_curve(tmp_path):
    """CEM-RL has runs, AES-RL and SAC have published means only: a line of theirs would have no name and no colour."""
    make_run(tmp_path, "HalfCheetah-v5", "cem-rl", 0, [0, 9000], steps=[0, 10**6])
    levels = curves_of(comparison_of(tmp_path)).data.set_index("group").level.dropna()
    assert levels.to_dict() == {"CEM-RL": 10725.0}


def test_a_finished_run_is_its_own_mean_beside_one_that_failed(tmp_path):
    make_run(tmp_path, "Hopper-v5", "td3", 2, [0, 50, 100], total=10_000, steps=[0, 5000, 10_000])
    make_run(tmp_path, "Hopper-v5", "td3", 3, [0, -999], total=10_000, status="failed")
    make_run(tmp_path, "Hopper-v5", "td3", 4, [], total=10_000, status="running")
    figure = curves_of(page_of(tmp_path))
    (done,) = means_of(figure).values()
    assert done.averaged == 1
    assert done.y.tolist() == [0, 50, 100]
    assert runs_of(figure)["td3"] == ["seed 3 (failed)"]


def grid_of(folder, **look):
    page, style = page_of(folder), PaperStyle(**look)
    figures = [(group, figure) for group in page.groups if (figure := curves_of(page, group, paper=style)) is not None]
    return environments_grid(page, figures, style)


def test_the_grid_has_the_style_of_the_file_and_of_matplotlibrc(tmp_path):
    for env in ("Foo-v5", "Bar-v5", "Baz-v5"):
        make_cells(tmp_path / "runs", env, {"cem": [2], "sac": [2]}, steps=[0, 2000, 3000], total=2000)
        make_cells(tmp_path / "runs", env, {"td3": [2]})
    labels, colours = {"td3": "TD3", "Foo-v5": "Foo"}, {"td3": "#123456"}
    runs = tmp_path / "runs"
    grid = grid_of(runs, algorithms=("td3", "cem"), environments=("Foo-v5",), labels=labels, colours=colours)
    assert [panel["title"] for panel in grid.panels.values()] == ["Foo"]
    assert [*zip(grid.data.label, grid.data.colour, strict=True)] == [("TD3", "#123456"), ("cem", "")]
    assert "Simulator steps used on Foo: TD3 2k, cem 3k." in grid.caption
    with mpl.rc_context({"figure.figsize": (4.0, 1.0), "text.usetex": True}):  # no LaTeX is started
        draw(grid_of(runs), tmp_path / "grid", ["svg"])
    svg = read(tmp_path / "grid.svg")
    assert 'width="288pt"' in svg
    assert svg.count('id="axes_') == 3


def test_columns_of_train_csv_have_a_panel_per_name_and_the_means_of_seeds(tmp_path):
    """Of the finished runs; one seed ran with two kernels, and counts once."""
    results, warnings = tmp_path / "results", []
    for seed, kernel, sigma in ((0, "a", [1.0, 2.0, 3.0]), (1, "a", [3.0, 2.0, 2.0]), (1, "b", [3.0, 2.0, 0.0])):
        run = make_run(results / kernel, "Ant-v5", "esac", seed, [0, 1, 2], starts=[{"arithmetic": kernel}])
        more = {"score_es": ["nan", 5.0 + seed, 7.0], "score_sac": ["", "nan", 4.0]}
        edit_rows(run / "train.csv", sigma=sigma, **more)
    edit_rows(make_run(results, "Ant-v5", "esac", 2, [0, 1, 2], status="failed") / "train.csv", sigma=9)
    options = ReportOptions(columns=parse_panels("sigma,score_es+score_sac,sigm"))
    page = page_of(results)
    figure = columns_of_train(page, page.groups[0], options, warnings.append)
    steps = [0.0, 1000.0, 2000.0]
    (sigma,) = means_of(figure, "sigma").values()
    assert (sigma.x.tolist(), sigma.y.tolist()) == (steps, [2.0, 2.0, 2.0])
    assert (sigma.low[-1], sigma.high[-1]) == (0, 3)
    both = {label: (mean.x.tolist(), mean.y.tolist()) for label, mean in means_of(figure, "score_es+score_sac").items()}
    assert both == {"score_es": (steps[1:], [5.5, 7.0]), "score_sac": (steps[2:], [4.0])}
    assert [text for text in warnings if "'sigm'" in text and "did you mean 'sigma'" in text]


def test_columns_over_time_have_no_pauses(tmp_path):
    run = make_run(tmp_path, "Ant-v5", "cem", 0, [0, 1, 2], seconds_per_step=0.06)
    edit_rows(run / "train.csv", paused_s=60.0, train_time_s=[60.0, 120.0, 180.0])
    page, options = page_of(tmp_path), ReportOptions(columns=parse_panels("busy_processes"), x="time")
    (mean,) = means_of(columns_of_train(page, page.groups[0], options, pytest.fail), "busy_processes").values()
    assert mean.x.tolist() == [0.0, 1.0, 2.0]  # minutes


@pytest.fixture
def file(tmp_path):
    return tmp_path / "paper.toml"


def test_a_style_is_read_from_a_small_file(file):
    file.write_text('algorithms = ["td3", "cem"]\nsmooth = 3\n[labels]\ntd3 = "TD3"\n[colours]\ncem = "#112233"\n')
    style = read_style(file)
    assert style.algorithms == ("td3", "cem")
    assert style.smooth == 3
    assert style.label("td3") == "TD3"
    assert style.label("cem") == "cem"
    assert style.colours["cem"] == "#112233"


MISTAKES = r"""
colour = 3                         | unknown key 'colour'
smooth = 1000000                   | at most 10,?000
smooth = 0                         | at least 1
band = "wide"                      | one of auto, range
colours = { td3 = "url(http://x)" } | give one such as
labels = { td3 = "a\nb" }          | one line
labels = { td3 = 3 }               | must be a table
smooth =                           | cannot be read
"""


@pytest.mark.parametrize(("text", "said"), cells(MISTAKES))
def test_what_a_style_cannot_say_is_refused(file, text, said):
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_style(file)


def test_names_that_no_run_has_are_refused_and_others_choose_the_order():
    with pytest.raises(UsageError, match="did you mean 'td3'"):
        PaperStyle(algorithms=("td33",)).check(["td3", "cem"], ["Foo-v5"])
    with pytest.raises(UsageError, match="no run has the environment 'cem'"):
        PaperStyle(environments=("cem",)).check(["cem"], ["Foo-v5"])
    assert [select_items("abc", order, str) for order in ((), ("c", "a"))] == [["a", "b", "c"], ["c", "a"]]
