"""What curves are drawn over, and how they are smoothed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from erlbench.errors import UsageError
from erlbench.experiment.study import AXES as NAMES
from erlbench.experiment.study import Entry, Profile
from erlbench.reporting import build_report
from erlbench.reporting.data.nominal import nominal_budgets, with_nominal_steps
from erlbench.reporting.data.published import load_published
from erlbench.reporting.data.runs import find_runs
from erlbench.reporting.data.study_comparisons import comparisons_of
from erlbench.reporting.figures.axis import AXES, Axis, moving_average
from erlbench.reporting.figures.curves import Curves
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.paper_style import PaperStyle
from tests.reporting.compare import charts_of, page_of
from tests.reporting.make_runs import make_run
from tests.reporting.make_studies import make_study


def no_tasks(warning):
    """The made runs have no tasks; anything else is wrong."""
    assert str(warning).endswith("tasks.csv: no task yet")


def test_moving_average_is_numpys_convolution_once_the_window_is_full():
    values = np.random.default_rng(0).normal(size=50)
    smoothed = moving_average(values, 20)
    assert_allclose(smoothed[19:], np.convolve(values, np.ones(20) / 20, mode="valid"), atol=1e-12)
    assert_allclose(smoothed[:19], [values[: i + 1].mean() for i in range(19)], atol=1e-12)
    assert_array_equal(moving_average(values, 1), values)
    assert_allclose(moving_average(values[:3], 99), [values[0], values[:2].mean(), values[:3].mean()])
    assert len(moving_average(np.empty(0), 5)) == 0


def test_of_several_values_at_one_point_the_last_counts():
    x, y = Axis.series(np.array([0.0, 1.0, 1.0, np.nan, 2.0]), np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 1)
    assert_array_equal(x, [0, 1, 2])
    assert_array_equal(y, [1, 3, 5])
    assert [len(part) for part in Axis.series(np.empty(0), np.empty(0), 3)] == [0, 0]


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

    monkeypatch.setattr("erlbench.reporting.figures.style.save", look)
    for seed in range(5):
        make_run(tmp_path / "results", "Ant-v5", "cem", seed, [0, 4, 8 + 2 * seed, 4])
    options = ReportOptions(x=name, paper=PaperStyle(smooth=2, band="range"))
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


def test_runs_that_generations_end_say_so(tmp_path):
    path = make_run(tmp_path / "results", "Ant-v5", "cem", 0, [0, 1], total=9_000_000)
    config = path / "config.toml"
    config.write_text(config.read_text().replace("workers =", "total_generations = 1\nworkers ="))
    index = build_report([tmp_path / "results"], tmp_path / "report", {}, None, no_tasks)
    text = (index.parent / "all-runs" / "index.md").read_text(encoding="utf-8")
    assert "budget 1 generations or 9,000,000 steps." in text
    assert "after 1 generations or 9,000,000 training steps (1,000 to 1,000 steps)" in text
    assert "Ant-v5, 1 generations" in text


def test_budgets_that_end_after_the_same_generations_have_names_of_their_own(tmp_path):
    """ESAC and ES of the ESAC paper's table 1: 60 and 50 episodes a generation, as many generations."""
    for name, most in (("esac", 60), ("es", 50)):
        make_run(tmp_path / "in", "Ant-v5", name, 0, [0, 1], total=most * 2000, generations=2)
    page = page_of(tmp_path / "in")
    names = [page.group_name(group) for group in page.groups]
    assert names == ["Ant-v5, 2 generations or 100k steps", "Ant-v5, 2 generations or 120k steps"]
    assert build_report([tmp_path / "in"], tmp_path / "out", {}, None, no_tasks).is_file()


def test_nominal_steps_are_the_papers(tmp_path, monkeypatch):
    """Two generations of ESAC with 1500 steps each are two episodes of full length, 2000; SAC's steps are steps."""
    make_run(tmp_path, "HalfCheetah-v5", "esac", 0, [0, 5, 9], steps=[0, 1500, 3000], total=120_000, generations=2)
    make_run(tmp_path, "HalfCheetah-v5", "sac", 0, [0, 5, 9], total=2000)
    entries = (Entry("sac", "sac"), Entry("esac", "esac", nominal=60))
    study = make_study(entries=entries, baseline="sac", profiles={"p": Profile((0,), 2000, ("HalfCheetah-v5",))})
    esac, sac = (
        with_nominal_steps(run, nominal_budgets([study]), pytest.fail) for run in find_runs([tmp_path], pytest.fail)
    )
    assert_array_equal(AXES["nominal"].of(esac.evaluations), esac.evaluations.generation * 1000)
    assert_array_equal(AXES["nominal"].of(sac.evaluations), sac.evaluations.timesteps)
    assert AXES["nominal"].train(esac.evaluations) == ("generation", 1000)
    assert AXES["nominal"].train(sac.evaluations) == ("timesteps", 1)
    other = make_study(entries=entries, baseline="sac", profiles={"p": Profile((0,), 3000, ("HalfCheetah-v5",))})
    assert np.isnan(
        AXES["nominal"].of(with_nominal_steps(esac, nominal_budgets([other]), pytest.fail).evaluations)
    ).all()


def test_published_points_stand_in_the_figure_and_on_the_page(tmp_path):
    make_run(tmp_path / "in", "InvertedPendulum-v5@paper", "openai-es", 0, [0, 900], steps=[0, 300_000])
    study = make_study(
        kind="curves", published_source="OpenAI-ES paper", table="Table 3", baseline="", not_run=(), envs_published={},
        entries=(Entry("openai-es", "openai-es", label="OpenAI-ES"),),
        profiles={"p": Profile((0,), 300_000, ("InvertedPendulum-v5@paper",))},
    )  # fmt: skip
    (page,) = comparisons_of(study, find_runs([tmp_path / "in"], pytest.fail), None, pytest.fail)
    plot = Curves(load_published(), ReportOptions()).plot(page, page.groups[0])
    assert plot.caption[-1] == (
        "Grey: points of the curves of TRPO (open squares) and OpenAI-ES (open diamonds) in OpenAI-ES paper, Table 3."
    )
    (_, trpo, es) = plot.panels["timesteps"].series
    assert (trpo.label, trpo.symbol, trpo.x.tolist()) == ("TRPO, published", "square-open", [221_000, 273_000])
    assert (es.label, es.symbol, es.x.tolist()) == ("OpenAI-ES, published", "diamond-open", [62_500, 143_000, 255_000])
    assert es.y.tolist() == [276.59, 519.15, 753.17]


def test_studies_name_the_axes_of_figures():
    assert tuple(AXES) == NAMES


@pytest.mark.parametrize(
    ("own", "asked", "words"),
    [
        ("timesteps", "", "training steps and over training time without evaluation"),
        ("time", "", "training time without evaluation and over training steps"),
        ("generation", "", "generations and over training steps"),
        ("generation", "updates", "critic updates"),
    ],
)
def test_curves_are_drawn_over_the_axis_of_the_papers_figure(tmp_path, own, asked, words):
    for name in ("aes-rl", "cem-rl"):
        make_run(tmp_path / "in", "HalfCheetah-v5", name, 0, [0, 900], steps=[0, 2000])
    study = make_study(kind="curves", x=own)
    (page,) = comparisons_of(study, find_runs([tmp_path / "in"], pytest.fail), "short", pytest.fail)
    options = ReportOptions(x=asked)
    caption = Curves(load_published(), options).plot(page, page.groups[0]).caption
    assert f"return of the evaluations over {words}; budget" in caption[0]
    index = build_report([tmp_path / "in"], tmp_path / "out", {"study": study}, "short", lambda _: None, options)
    assert charts_of(index)["study-curves-HalfCheetah-v5"]["first"] == (asked or own)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"x": "generations"}, "--x generations: no such choice; did you mean 'generation'"),
        ({"x": "!"}, "there are timesteps, nominal, simulator-steps, all-steps, time, updates, generation, episodes"),
        ({"formats": ("png", "jpg")}, "--formats jpg: no such format of figures; there are png, svg, pdf"),
        ({"formats": ()}, "--formats : no such"),
    ],
)
def test_choices_that_a_report_does_not_have_are_refused(values, message):
    with pytest.raises(UsageError, match=message):
        ReportOptions(**values)


def test_published_curves_over_generations_stand_in_the_colours_of_our_runs(tmp_path):
    env = "pybullet_envs_gymnasium:AntBulletEnv-v0"
    make_run(tmp_path / "in", env, "openai-es", 0, [5.0 * n for n in range(71)], steps=[1000 * n for n in range(71)])
    study = make_study(
        kind="curves", published_source="GoodAI blog", table="plot", baseline="", not_run=(), x="generation",
        envs_published={env: "AntPyBulletEnv-v0"},
        entries=(Entry("openai-es", "openai-es", label="ES", published="OptimES 1ep pop100"),),
        profiles={"p": Profile((0,), 70_000, (env,))},
    )  # fmt: skip
    (page,) = comparisons_of(study, find_runs([tmp_path / "in"], pytest.fail), None, pytest.fail)
    plot = Curves(load_published(), ReportOptions()).plot(page, page.groups[0])
    ours, theirs = plot.panels["generation"].series
    assert (theirs.x.tolist(), theirs.y.tolist()) == ([20, 40, 60], [340, 380, 410])
    assert theirs.colour == ours.colour
    assert "GoodAI blog, plot" in plot.caption[-1]
