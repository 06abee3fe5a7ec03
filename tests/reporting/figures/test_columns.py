"""Columns of train.csv as figures."""

import pytest

from erlbench.experiment.study import Entry, Profile
from erlbench.reporting import build_report
from erlbench.reporting.data.nominal import nominal_budgets, with_nominal_steps
from erlbench.reporting.data.runs import find_runs
from erlbench.reporting.data.study_comparisons import comparisons_of
from erlbench.reporting.figures import columns as column_figure
from erlbench.reporting.figures import style
from erlbench.reporting.figures.axis import AXES
from erlbench.reporting.figures.curves import Curves
from erlbench.reporting.options import ReportOptions, parse_panels
from erlbench.reporting.paper_style import PaperStyle
from tests.reporting.compare import page_of
from tests.reporting.make_runs import make_run
from tests.reporting.make_studies import make_study


def add_column(path, name, values):
    """Append a column to a run's train.csv."""
    file = path / "train.csv"
    lines = file.read_text().splitlines()
    cells = [name, *map(str, values)]
    file.write_text("".join(f"{line},{cell}\n" for line, cell in zip(lines, cells, strict=True)))


@pytest.mark.parametrize(
    ("text", "panels"), [("", ()), ("a", (("a",),)), ("a, b+c ,", (("a",), ("b", "c"))), ("+,", ())]
)
def test_names_of_columns_make_panels(text, panels):
    assert parse_panels(text) == panels


def test_the_figure_has_a_panel_per_name_and_the_runs_means(tmp_path, monkeypatch):
    drawn, warnings = [], []
    save = style.save

    def look(figure, *where):
        drawn.append([
            [(line.get_label(), line.get_xdata().tolist(), line.get_ydata().tolist()) for line in axes.lines]
            for axes in figure.axes
        ])  # fmt: skip
        save(figure, *where)

    monkeypatch.setattr(style, "save", look)
    monkeypatch.setattr(Curves, "plot", lambda *_: None)
    for seed, sigma in enumerate(([1.0, 2.0, 3.0], [3.0, 2.0, 1.0])):
        path = make_run(tmp_path / "results", "Ant-v5", "esac", seed, [0, 1, 2])
        add_column(path, "sigma", sigma)
        add_column(path, "score_es", ["nan", 5.0 + seed, 7.0])
        add_column(path, "score_sac", ["", "nan", 4.0])
    names = "sigma,score_es+score_sac,typo"
    build_report(
        [tmp_path / "results"],
        tmp_path / "report",
        {},
        None,
        warnings.append,
        ReportOptions(columns=parse_panels(names)),
    )
    (panels,) = drawn
    steps = [0.0, 1000.0, 2000.0]
    assert panels[0][0][1:] == (steps, [2.0, 2.0, 2.0])
    assert panels[1] == [("score_es", steps[1:], [5.5, 7.0]), ("score_sac", steps[2:], [4.0])]
    assert "no train.csv of Ant-v5 has a value in a column 'typo'; nothing is drawn for it" in map(str, warnings)
    (page,) = (tmp_path / "report" / "all-runs").glob("index.md")
    text = page.read_text(encoding="utf-8")
    assert r"columns of train.csv over training steps (sigma; score\_es, score\_sac)" in text
    assert (tmp_path / "report" / "all-runs" / "columns-Ant-v5-2000.png").stat().st_size > 1000


def test_the_figure_of_a_study_is_over_the_studys_axis(tmp_path):
    """Two generations of ESAC are two episodes of full length in ESAC's figure 8, however many steps they have."""
    path = make_run(
        tmp_path, "HalfCheetah-v5", "esac", 0, [0, 5, 9], steps=[0, 1500, 3000], total=120_000, generations=2
    )
    add_column(path, "sigma", [1.0, 2.0, 3.0])
    study = make_study(
        kind="curves", x="nominal", entries=(Entry("esac", "esac", nominal=60),), baseline="", not_run=(),
        profiles={"p": Profile((0,), 2000, ("HalfCheetah-v5",))},
    )  # fmt: skip
    runs = [
        with_nominal_steps(run, nominal_budgets([study]), pytest.fail) for run in find_runs([tmp_path], pytest.fail)
    ]
    (page,) = comparisons_of(study, runs, None, pytest.fail)
    options = ReportOptions(columns=parse_panels("sigma"))
    caption = column_figure.columns_plot(page, page.groups[0], options, pytest.fail).caption
    assert "columns of train.csv over nominal steps (sigma)" in caption[0]


def test_nothing_is_drawn_without_a_value(tmp_path):
    make_run(tmp_path / "results", "Ant-v5", "cem", 0, [0, 1])
    warnings = []
    for columns in ("sigma", ""):
        options = ReportOptions(columns=parse_panels(columns))
        build_report([tmp_path / "results"], tmp_path / f"report{columns}", {}, None, warnings.append, options)
        assert not list(tmp_path.rglob("columns*"))
    assert sum("'sigma'" in str(warning) for warning in warnings) == 1


def test_columns_over_generations_smoothed(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(style, "save", lambda figure, *_: drawn.append(figure.axes[0]))
    monkeypatch.setattr(Curves, "plot", lambda *_: None)
    add_column(make_run(tmp_path / "results", "Ant-v5", "cem", 0, [0, 1, 2]), "sigma", [1.0, 3.0, 7.0])
    options = ReportOptions(columns=(("sigma",),), x="generation", paper=PaperStyle(smooth=2))
    index = build_report([tmp_path / "results"], tmp_path / "report", {}, None, lambda _: None, options)
    (axes,) = drawn
    assert axes.get_xlabel() == "Generations"
    assert (axes.lines[0].get_xdata().tolist(), axes.lines[0].get_ydata().tolist()) == ([0, 1, 2], [1, 2, 5])
    text = (index.parent / "all-runs" / "index.md").read_text(encoding="utf-8")
    assert "columns of train.csv over generations (sigma)" in text
    assert "the moving average over its last 2 rows" in text


def test_columns_are_averaged_over_the_finished_runs(tmp_path):
    make_run(tmp_path, "Foo-v5", "cem", 0, [0, 5, 10], status="failed")
    make_run(tmp_path, "Foo-v5", "cem", 1, [0, 5, 10])
    (group,) = page_of(tmp_path).groups
    read = column_figure._read(group.run_sets[0], ["generation"], AXES["timesteps"], 1, pytest.fail)
    assert len(read["generation"]) == 1
