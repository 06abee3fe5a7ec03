"""The public Python functions, and the notebook that shows them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import erlbench
from erlbench.errors import ErlbenchError, UsageError
from tests.reporting.make_runs import make_run

NOTEBOOK = Path(__file__).parents[1] / "docs" / "first-steps.ipynb"
STUDY = """[studies.mine]
title = "Mine"
kind = "scores"
entries = [{ algo = "cem" }, { algo = "td3" }]
[studies.mine.profiles.smoke]
envs = ["Pendulum-v1"]
total_timesteps = 1000
seeds = 1
[studies.mine.profiles.laptop]
envs = ["Pendulum-v1"]
total_timesteps = 2000
seeds = 2
"""
SMALL = {"total_timesteps": 800, "eval_freq": 400, "set": {"hidden": (8, 8)}, "processes": 0}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    return erlbench.run("cem", "Pendulum-v1", seeds=2, out=str(folder), **SMALL)


@pytest.mark.parametrize(
    ("terminal", "notebook", "quiet", "shown"),
    [
        (True, False, None, True),
        (False, True, None, True),
        (False, False, None, False),
        (False, False, False, True),
        (True, True, True, False),
    ],
)
def test_progress_is_shown_to_those_who_look(tmp_path, monkeypatch, terminal, notebook, quiet, shown):
    seen = []
    monkeypatch.setattr(
        "erlbench.running.command.run_cells", lambda cells, options: seen.append(options.verbosity) or 0
    )
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    shell = SimpleNamespace(kernel=1) if notebook else None
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    erlbench.run("cem", "Pendulum-v1", out=str(tmp_path), **SMALL, **({} if quiet is None else {"quiet": quiet}))
    assert seen == [0 if shown else -1]


def test_frames_hold_what_the_files_say(results):
    cells, evaluations = results.cells, results.evaluations
    assert list(cells.columns[:3]) == ["env", "name", "seed"]
    assert cells[["env", "name", "seed", "status"]].values.tolist() == [
        ["Pendulum-v1", "cem", s, "done"] for s in (0, 1)
    ]
    assert cells["settings.hidden"].tolist() == [(8, 8), (8, 8)]
    last = evaluations.groupby("seed").last()
    assert last["return_mean"].tolist() == cells["score"].tolist()
    assert [sum(row) / len(row) for row in last["returns"]] == pytest.approx(cells["score"].tolist(), rel=1e-12)
    assert all(length == 200 for row in evaluations["lengths"] for length in row)
    episodes = results.episodes
    assert episodes.groupby("seed")["l"].sum().tolist() == cells["timesteps"].tolist()
    assert set(results.tasks["kind"]) == {"es", "evaluation"}
    assert results.generations["generation"].tolist() == [1, 1]
    assert len(erlbench.load_results(Path(cells["path"][0]).parents[1]).runs) == 2


def test_nan_in_a_file_is_a_missing_number(tmp_path):
    folder = make_run(tmp_path, "Foo-v5", "esac", 0, [0, 10])
    (folder / "train.csv").write_text(
        "generation,timesteps,train_time_s,mean_return,sigma\n1,10,1,nan,nan\n2,20,2,1.5,nan\n"
    )
    (folder / "eval.csv").write_text(
        "timesteps,train_time_s,return_mean,return_std,returns,lengths\n10,1,3.5,nan,,\n20,2,4.5,2,5 4,1 1\n"
    )
    results = erlbench.load_results(tmp_path)
    rows = results.generations
    assert rows[["mean_return", "sigma"]].dtypes.tolist() == [float, float]
    assert rows["mean_return"].isna().tolist() == [True, False]
    assert rows["mean_return"].mean() == 1.5
    assert results.evaluations["return_std"].mean() == 2
    assert results.evaluations["returns"].tolist() == [(), (5.0, 4.0)]


@pytest.mark.parametrize("status", ["failed", "running", "interrupted"])
def test_only_a_finished_run_has_a_final_score(tmp_path, status):
    make_run(tmp_path, "Foo-v5", "cem", 0, [0, 10])
    make_run(tmp_path, "Foo-v5", "cem", 1, [0, -999], status=status, total=100_000)
    cells = erlbench.load_results(tmp_path).cells
    assert cells["score"].dropna().tolist() == [10]
    assert cells["status"].tolist() == ["done", status]


def test_damaged_rows_are_told(tmp_path, capsys):
    path = make_run(tmp_path, "Foo-v5", "cem", 0, [0, 10]) / "eval.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:-1], "1,2\n", lines[-1]]))
    results = erlbench.load_results(tmp_path)
    assert results.evaluations["return_mean"].tolist() == [0, 10]
    assert capsys.readouterr().err.startswith(f"warning: {path}:3: ")


def test_what_is_done_is_only_read(results, tmp_path):
    folder = Path(results.cells["path"][0]).parents[2]
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("eval.csv")}
    again = erlbench.run("cem", "Pendulum-v1", seeds=2, out=str(folder), **SMALL)
    assert again.cells.equals(results.cells)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("eval.csv")} == times
    page = erlbench.report(folder, out=tmp_path / "report")
    assert any("| cem |" in table.read_text() for table in page.parent.rglob("*.md"))


def test_a_report_takes_the_options_of_the_command(tmp_path):
    for name, scores in {"cem": [0, 100, 300], "td3": [0, 200, 100]}.items():
        make_run(tmp_path, "Foo-v5", name, 0, scores)
    more = {"x": "timesteps", "formats": ("png", "pdf")}
    page = erlbench.report(tmp_path, out=tmp_path / "report", at=1000, reach=(50, 150), **more)
    assert "All runs after 1,000 training steps" in page.read_text()
    assert {path.suffix for path in page.parent.rglob("curves-*")} == {".png", ".pdf"}
    assert {"reach.md", "scores.md"} <= {table.name for table in page.parent.rglob("*.md")}
    for options, message in {
        "at": ("soon", "--at soon: no training steps or minutes"),
        "baselin": ("td3", "has no option 'baselin'; did you mean 'baseline'"),
        "metric": ("finale", "did you mean 'final'"),
        "smooth": (5, "has no option 'smooth'"),
    }.items():
        with pytest.raises(UsageError, match=re.escape(message[1])):
            erlbench.report(tmp_path, out=tmp_path / "report", **{options: message[0]})
    with pytest.raises(UsageError, match="--at cuts all runs"):
        erlbench.report(tmp_path, out=tmp_path / "report", at=1000, study="aes-rl-table-1")


def test_a_report_takes_the_inputs_of_the_command(tmp_path, monkeypatch):
    """Studies of the user, the profile that the folder is named after, and runs to open the report with."""
    kept, results = tmp_path / "kept", tmp_path / "laptop"
    make_run(kept, "Foo-v5", "kept-one", 0, [0, 100])
    for name in ("cem", "td3"):
        make_run(results, "Pendulum-v1", name, 0, [0, 100])
    make_run(results, "Pendulum-v1", "cem", 1, [0, 100, 200])
    (tmp_path / "studies.toml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    page = erlbench.report(results, out=tmp_path / "report", study="mine", reference=kept)
    assert "Profile: laptop." in (page.parent / "mine" / "scores.md").read_text()  # most runs fit smoke
    assert "kept-one" in (page.parent / "reference" / "scores.md").read_text()
    assert "kept-one" not in (page.parent / "mine" / "scores.md").read_text()
    for options, message in (
        ({"reference": tmp_path / "none"}, f"there is no folder {tmp_path / 'none'}"),
        ({"study": "mien"}, "did you mean 'mine'"),
    ):
        with pytest.raises(UsageError, match=re.escape(message)):
            erlbench.report(results, out=tmp_path / "report", **options)


def test_mistakes_are_errors_not_exits(tmp_path):
    with pytest.raises(UsageError, match="did you mean 'cem'"):
        erlbench.run("ceem", "Pendulum-v1", out=str(tmp_path))
    with pytest.raises(UsageError, match=r"'total_timestep'.*'total_timesteps'"):
        erlbench.run("cem", "Pendulum-v1", total_timestep=3)
    with pytest.raises(UsageError, match=r"^set .*a dict .*population.*, not 5$"):
        erlbench.run("cem", "Pendulum-v1", set=5, out=str(tmp_path))
    with pytest.raises(UsageError, match=r"^set .*a dict .*, not 'population=3'$"):
        erlbench.run("cem", "Pendulum-v1", set="population=3", out=str(tmp_path))
    with pytest.raises(UsageError, match="env_set of erlbench"):
        erlbench.run("cem", "Pendulum-v1", env_set=5, out=str(tmp_path))
    with pytest.raises(UsageError, match=r"algorithm.*\b5\b"):
        erlbench.run(5, "Pendulum-v1", out=str(tmp_path))
    with pytest.raises(UsageError, match=r"^load_policy\(\) .*, not 5$"):
        erlbench.load_policy(5)
    with pytest.raises(UsageError, match="names no seed"):
        erlbench.run("cem", "Pendulum-v1", seeds=[], out=str(tmp_path))
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError, match=re.escape(str(folder))):
            erlbench.load_results(folder)
    with pytest.raises(UsageError, match=r"\b5\b"):
        erlbench.load_results(5)
    with pytest.raises(ErlbenchError, match="reward of step 5"):
        erlbench.run("cem", "tests.environments:Broken-reward-v0", out=str(tmp_path), anyway=True, **SMALL)


def test_a_script_needs_no_guard(tmp_path):
    """Workers do not import the script again."""
    script = tmp_path / "script.py"
    script.write_text(
        "import erlbench\n"
        "r = erlbench.run('cem', 'Pendulum-v1', total_timesteps=400, set={'hidden': 8}, processes=2, "
        f"out={str(tmp_path)!r})\nprint(len(r.cells), r.cells.status[0])\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "1 done\n", done.stderr


def test_importing_it_is_light():
    code = "import sys, erlbench; print([m for m in ('numpy', 'pandas', 'torch') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


@pytest.mark.slow
def test_the_notebook_runs(tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": os.fspath(tmp_path)}}).execute()
    total = float(notebook.cells[-1].outputs[-1].data["text/plain"].strip("np.float64()"))
    assert total > 50  # the pole stays up longer than without control, which is 10 steps
    assert (tmp_path / "notebook-report" / "index.html").is_file()


def test_a_refused_run_says_why(tmp_path):
    folder = str(tmp_path)
    results = erlbench.run("cem", "Pendulum-v1", out=folder, **SMALL)
    with open(results.runs[0] / "eval.csv", "a") as file:
        file.write("more")
    with pytest.raises(ErlbenchError, match="verify"):
        erlbench.run("cem", "Pendulum-v1", out=folder, **SMALL)
