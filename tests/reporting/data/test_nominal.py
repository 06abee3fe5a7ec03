"""Nominal steps: from a study, from train.csv, counted, or not known; and what a report does without them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from erlbench.algorithms.registry import ALGORITHMS, find
from erlbench.errors import UsageError
from erlbench.experiment.studies import load_studies
from erlbench.experiment.study import Entry, Profile
from erlbench.reporting import build_comparison, build_report
from erlbench.reporting.data.nominal import nominal_budgets, with_nominal_steps
from erlbench.reporting.data.remarks import RemarkKind
from erlbench.reporting.data.runs import find_runs, load_run
from erlbench.reporting.figures import style
from erlbench.reporting.options import ReportOptions
from tests.reporting.compare import charts_of, page_data
from tests.reporting.make_runs import make_run
from tests.reporting.make_studies import make_study

REFERENCE = Path(__file__).parents[3] / "results" / "reference"
STEPS = [0, 1500, 3000]  # of two generations, which are 2000 nominal steps


def make_esac(folder, seed=0, nominal=("0", "1000", "2000"), name="esac"):
    """A run of ESAC outside any study, with its column in train.csv."""
    path = make_run(folder, "Ant-v5", name, seed, [0, 5, 9], steps=STEPS)
    lines = (path / "train.csv").read_text().splitlines()
    cells = ["nominal_timesteps", *nominal]
    (path / "train.csv").write_text("".join(f"{a},{b}\n" for a, b in zip(lines, cells, strict=True)))
    return path


def nominal_of(path, warn=pytest.fail):
    return with_nominal_steps(load_run(path, warn), {}, warn).evaluations.nominal


def axes_of(index, page="all-runs"):
    """The values on each axis by what has a curve, of the page's only chart of curves."""
    data = page_data(index)
    (chart,) = (chart for name, chart in data["charts"].items() if name.startswith(f"{page}-curves-"))
    found = {}
    for axis, panel in chart["panels"].items():
        for series in panel["series"]:
            found.setdefault(series["group"], {})[axis] = data["lists"][series["x"]]
    return found


def quiet(_):
    pass


def test_nominal_steps_of_a_free_run_come_from_its_train_csv(tmp_path):
    assert_array_equal(nominal_of(make_esac(tmp_path)), [0, 1000, 2000])


def test_a_damaged_row_of_nominal_steps_is_told_and_does_not_count(tmp_path):
    warnings = []
    path = make_esac(tmp_path, nominal=("0", "1000", "oops"))
    assert_array_equal(nominal_of(path, warnings.append), [0, 1000, 2000])
    assert warnings == [f"{path / 'train.csv'}:4: row left out: nominal_timesteps is 'oops', not a number"]


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        "generation,timesteps,nominal_timesteps\n",
        "generation,nominal_timesteps\n0,0\n",
        "generation,nominal_timesteps\n1,0\n",
        "nominal_timesteps\n1000\n",
        'generation,nominal_timesteps\n"' + 200_000 * "1" + '",1\n',
    ],
)
def test_without_a_whole_row_nominal_steps_are_unknown(tmp_path, content):
    path = make_esac(tmp_path)
    (path / "train.csv").unlink()
    if content is not None:
        (path / "train.csv").write_text(content)
    assert np.isnan(nominal_of(path, quiet)).all()


@pytest.mark.parametrize("name", ["td3", "sac@esac", "ddpg", "ppo"])
def test_algorithms_of_single_episodes_count_all_steps(tmp_path, name):
    assert_array_equal(nominal_of(make_run(tmp_path, "Ant-v5", name, 0, [0, 5, 9], steps=STEPS)), STEPS)


@pytest.mark.parametrize("name", ["td3", "cem"])
def test_a_run_that_does_not_name_its_algorithm_is_known_by_its_folder(tmp_path, name):
    path = make_run(tmp_path, "Ant-v5", name, 0, [0, 5, 9], steps=STEPS)
    (path / "config.toml").unlink()
    assert_array_equal(nominal_of(path, quiet), STEPS if name == "td3" else [np.nan] * 3)


@pytest.mark.parametrize(
    "name", [*(name for name in ALGORITHMS if not find(name).single_episodes), "my_module:ARS", "authors-cem-rl"]
)
def test_nominal_steps_of_all_other_algorithms_are_unknown(tmp_path, name):
    assert np.isnan(nominal_of(make_run(tmp_path, "Ant-v5", name, 0, [0, 5, 9], steps=STEPS))).all()


def test_empty_cells_of_nominal_steps_are_no_damage(tmp_path):
    assert_array_equal(nominal_of(make_esac(tmp_path, nominal=("", "1000", ""))), [0, 1000, 2000])


def test_what_a_run_wrote_wins_over_a_study_with_its_name_and_budget(tmp_path):
    """300,000 steps are esac-table-1's smoke budget, of which these six generations are not the cell."""
    path = make_run(tmp_path, "HalfCheetah-v5", "esac", 0, [0, 5, 9], steps=STEPS, total=300_000, generations=6)
    lines = (path / "train.csv").read_text().splitlines()
    cells = ["nominal_timesteps", "0", "1000", "2000"]
    (path / "train.csv").write_text("".join(f"{a},{b}\n" for a, b in zip(lines, cells, strict=True)))
    run = with_nominal_steps(load_run(path, quiet), nominal_budgets(load_studies().values()), quiet)
    assert_array_equal(run.evaluations.nominal, [0, 1000, 2000])


@pytest.mark.parametrize(
    ("folder", "nominal", "counted"), [("halfcheetah-300k", 6000, 305_000), ("esac", 164_000, 203_424)]
)
def test_nominal_steps_of_the_reference_runs_of_esac(folder, nominal, counted):
    for run in find_runs([REFERENCE / folder], quiet):
        if run.algo == "esac":
            evaluations = with_nominal_steps(run, {}, quiet).evaluations
            assert (evaluations.nominal[-1], evaluations.timesteps[-1]) == (nominal, counted)


def test_runs_without_nominal_steps_are_left_out_of_the_figure_and_named(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(style, "save", lambda figure, *_: drawn.append(figure.axes[0]))
    make_esac(tmp_path / "in")
    make_esac(tmp_path / "in", seed=1, nominal=("", "", ""))
    for name in ("cem", "sac", "openai-es"):
        make_run(tmp_path / "in", "Ant-v5", name, 0, [0, 5, 9], steps=STEPS)
    index = build_report([tmp_path / "in"], tmp_path / "out", {}, None, quiet, ReportOptions(x="nominal"))
    assert {line.get_xdata()[-1] for line in drawn[0].lines if len(line.get_xdata())} == {2000, 3000}
    text = (index.parent / "all-runs" / "index.md").read_text()
    assert text.count("Not drawn over nominal steps: cem, esac (seed 1), openai-es. No nominal steps are known") == 1


def test_the_pages_switch_of_axis_leaves_runs_without_nominal_steps_out(tmp_path):
    make_esac(tmp_path / "in")
    for name in ("cem", "sac"):
        make_run(tmp_path / "in", "Ant-v5", name, 0, [0, 5, 9], steps=STEPS)
    index = build_report([tmp_path / "in"], tmp_path / "out", {}, None, quiet)
    assert "Not drawn" not in (index.parent / "all-runs" / "index.md").read_text()
    axes = axes_of(index)
    assert axes["esac"]["nominal"] == [0, 1000, 2000]
    assert axes["sac"]["nominal"] == STEPS
    assert "nominal" not in axes["cem"]
    assert axes["cem"]["timesteps"] == STEPS


def test_an_environment_without_nominal_steps_has_no_curves_and_says_so(tmp_path):
    warnings = []
    make_esac(tmp_path / "in")
    make_run(tmp_path / "in", "Hopper-v5", "cem", 0, [0, 5, 9], steps=STEPS)
    options = ReportOptions(x="nominal", columns=(("actor_updates",),))
    index = build_report([tmp_path / "in"], tmp_path / "out", {}, None, warnings.append, options)
    note = "Not drawn over nominal steps: cem. No nominal steps are known for these runs."
    (missing,) = [warning for warning in warnings if warning.kind is RemarkKind.NO_CURVES]
    assert dict(missing.values)["env"] == "Hopper-v5"
    assert dict(missing.values)["reason"].startswith(note)
    assert any(f"Hopper-v5: no figure of columns. {note}" in str(warning) for warning in warnings)
    for page in ("index.md", "all-runs/index.md"):
        assert "Hopper-v5: no learning curves." in (index.parent / page).read_text()
    assert not list(index.parent.rglob("curves-Hopper*"))
    assert list(index.parent.rglob("columns-Ant*"))


def test_columns_name_the_runs_that_they_leave_out(tmp_path):
    make_esac(tmp_path / "in")
    make_run(tmp_path / "in", "Ant-v5", "cem", 0, [0, 5, 9], steps=STEPS)
    options = ReportOptions(x="nominal", columns=(("actor_updates",),))
    index = build_report([tmp_path / "in"], tmp_path / "out", {}, None, quiet, options)
    text = (index.parent / "all-runs" / "index.md").read_text()
    assert text.count("Not drawn over nominal steps: cem.") == 2  # below the curves and below the columns


def test_reference_results_have_nominal_steps(tmp_path):
    for folder in ("kept", "new"):
        make_esac(tmp_path / folder)
    index = build_report([tmp_path / "new"], tmp_path / "out", {}, None, quiet, reference=tmp_path / "kept")
    for page in ("reference", "all-runs"):
        assert axes_of(index, page)["esac"]["nominal"] == [0, 1000, 2000]


def test_nominal_steps_that_no_run_has_are_refused(tmp_path):
    make_run(tmp_path / "in", "Ant-v5", "cem", 0, [0, 5, 9], steps=STEPS)
    with pytest.raises(UsageError, match=r"--x nominal: Not drawn over nominal steps: cem\. .* such as --x timesteps"):
        build_report([tmp_path / "in"], tmp_path / "out", {}, None, quiet, ReportOptions(x="nominal"))
    assert not (tmp_path / "out").exists()


def test_a_run_without_numbers_of_generations_is_refused(tmp_path):
    path = make_esac(tmp_path / "in")
    header, *rows = (path / "eval.csv").read_text().splitlines()
    (path / "eval.csv").write_text("\n".join([header.replace(",generation,", ",other,"), *rows, ""]))
    with pytest.raises(UsageError, match=r"--x nominal: Not drawn over nominal steps: esac\."):
        build_report([tmp_path / "in"], tmp_path / "out", {}, None, quiet, ReportOptions(x="nominal"))


def test_page_and_figure_have_the_same_runs_and_band(tmp_path):
    """Seven runs of ESAC, one of which has no nominal steps: six are enough for the interval, five are not."""
    for seed in range(7):
        make_esac(tmp_path / "in", seed, nominal=("", "", "") if seed == 1 else ("0", "1000", "2000"))
    for seeds, band in ((7, "interval"), (6, "range")):
        for seed in range(seeds, 7):
            shutil.rmtree(tmp_path / "in" / "Ant-v5" / "esac" / f"seed-{seed:03d}")
        index = build_report([tmp_path / "in"], tmp_path / "out", {}, None, quiet, ReportOptions(x="nominal"))
        (chart,) = (chart for name, chart in charts_of(index).items() if "-curves-" in name)
        (line,) = chart["panels"]["nominal"]["series"]
        assert (line["averaged"], chart["band"], "interval" in line["bands"]) == (seeds - 1, band, band == "interval")
        words = {"interval": "95 % bootstrap interval", "range": "lowest to highest run"}[band]
        assert words in (index.parent / "all-runs" / "index.md").read_text()


def test_a_study_over_nominal_steps_keeps_its_panel_of_training_steps(tmp_path):
    for name in ("cem-rl", "aes-rl"):
        make_run(tmp_path / "in", "HalfCheetah-v5", name, 0, [0, 5, 9], studies=["study"])
    study = make_study("curves", x="nominal", profiles={"p": Profile((0,), 2000, ("HalfCheetah-v5",))})
    index = build_report([tmp_path / "in"], tmp_path / "out", {"study": study}, None, quiet)
    assert list((tmp_path / "out" / "study").glob("curves-*.png"))
    assert [name for name in charts_of(index) if name.startswith("study-curves")]
    assert "Not drawn over nominal steps: CEM-RL, AES-RL." in (tmp_path / "out" / "study" / "index.md").read_text()


def test_studies_that_have_no_page_count_too(tmp_path):
    entry = Entry("openai-es", "openai-es", nominal=50)
    study = make_study(entries=(entry,), profiles={"p": Profile((0,), 3000, ("HalfCheetah-v5",))})
    for side in ("a", "b"):
        make_run(tmp_path / side, "HalfCheetah-v5", "openai-es", 0, [0, 5, 9], total=150_000, generations=3)
    index = build_report([tmp_path / "a"], tmp_path / "out", {}, None, quiet, counting=[study])
    assert axes_of(index)["openai-es"]["nominal"] == [0, 1000, 2000]
    index, _ = build_comparison([tmp_path / "a", tmp_path / "b"], tmp_path / "out", quiet, counting=[study])
    assert [axes["nominal"] for axes in axes_of(index).values()] == [[0, 1000, 2000]] * 2


def test_folders_side_by_side_have_nominal_steps(tmp_path):
    for side in ("a", "b"):
        make_esac(tmp_path / side)
    index, _ = build_comparison([tmp_path / "a", tmp_path / "b"], tmp_path / "out", quiet)
    assert [axes["nominal"] for axes in axes_of(index).values()] == [[0, 1000, 2000]] * 2
