"""The public Python functions, and the notebook that shows them."""

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import erlbench
from erlbench.errors import ErlbenchError
from tests.calls import python, succeed
from tests.files import edit_json
from tests.reporting.make_runs import make_run

NOTEBOOK = Path(__file__).parents[1] / "docs" / "first-steps.ipynb"
SMALL = {"total_timesteps": 800, "eval_freq": 400, "set": {"hidden": (8, 8)}, "processes": 0}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    return erlbench.run("cem", "Pendulum-v1", seeds=2, out=str(folder), **SMALL)


def test_progress_is_shown_to_those_who_look(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "erlbench.running.command.run_cells", lambda cells, options: seen.append(options.verbosity) or 0
    )
    for terminal, notebook, more in ((1, 0, {}), (0, 1, {}), (0, 0, {}), (1, 1, {"quiet": True})):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal)
        shell = SimpleNamespace(kernel=1) if notebook else None
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
        erlbench.run("cem", "Pendulum-v1", out=str(tmp_path), **SMALL, **more)
    assert seen == [0, 0, -1, -1]


def test_frames_hold_what_the_files_say(results):
    cells, evaluations = results.cells, results.evaluations
    assert cells[["env", "name", "seed", "status", "settings.hidden"]].values.tolist() == [
        ["Pendulum-v1", "cem", seed, "done", (8, 8)] for seed in (0, 1)
    ]
    last = evaluations.groupby("seed").last()
    assert last["return_mean"].tolist() == cells["score"].tolist()
    assert [sum(row) / len(row) for row in last["returns"]] == pytest.approx(cells["score"].tolist(), rel=1e-12)
    assert {*evaluations["lengths"].sum()} == {200}
    episodes = results.episodes
    assert episodes.groupby("seed")["l"].sum().tolist() == cells["timesteps"].tolist()
    assert set(results.tasks["kind"]) == {"es", "evaluation"}
    assert results.generations["generation"].tolist() == [1, 1]
    assert len(erlbench.load_results(Path(cells["path"][0]).parents[1]).runs) == 2


def test_only_a_finished_run_has_a_final_score_and_damaged_rows_are_told(tmp_path, capsys):
    path = make_run(tmp_path, "Foo-v5", "cem", 0, [0, 10]) / "eval.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:-1], "1,2\n", lines[-1]]))
    for seed, status in enumerate(("failed", "running", "interrupted"), 1):
        make_run(tmp_path, "Foo-v5", "cem", seed, [0, -999], status=status, total=100_000)
    results = erlbench.load_results(tmp_path)
    assert results.cells["score"].dropna().tolist() == [10]
    assert results.cells["status"].tolist() == ["done", "failed", "running", "interrupted"]
    assert results.evaluations["return_mean"].tolist()[:2] == [0, 10]
    assert capsys.readouterr().err.startswith(f"warning: {path}:3: ")
    config = path.with_name("config.toml")
    config.write_text(config.read_text() + "[[[")
    assert results.cells["status"].tolist() == ["failed", "running", "interrupted"]
    assert {*results.evaluations["seed"]} == {1, 2, 3}
    assert str(config) in capsys.readouterr().err


def test_a_run_whose_evaluations_were_cut_or_have_another_score_has_none(results, tmp_path):
    run = Path(shutil.copytree(results.cells["path"][0], tmp_path / "seed-000"))
    whole = (run / "eval.csv").read_text()
    edit_json(run / "status.json", return_mean=0.0)
    for text in (whole, whole[: whole.rfind("\n", 0, -1) + 1], ""):
        (run / "eval.csv").write_text(text)
        assert erlbench.load_results(run).cells[["status", "score"]].values.tolist() == [["altered", None]]
        for shown in (run, tmp_path):
            assert " altered" in succeed("show", shown)


def test_what_is_done_is_only_read(results, tmp_path):
    folder = Path(results.cells["path"][0]).parents[2]
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("eval.csv")}
    again = erlbench.run("cem", "Pendulum-v1", seeds=2, out=str(folder), **SMALL)
    assert again.cells.equals(results.cells)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("eval.csv")} == times
    page = erlbench.report(
        folder, out=tmp_path / "report", at=2000, reach=(-1000,), x="timesteps", formats=("png", "pdf")
    )
    assert {path.suffix for path in page.parent.rglob("curves-*")} == {".png", ".pdf"}
    assert [*page.parent.rglob("reach.md")]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: erlbench.run("cem", "Pendulum-v1", total_timestep=3), "'total_timestep'.*'total_timesteps'"),
        (lambda: erlbench.run("cem", "Pendulum-v1", set=5), "^set .*a dict .*population.*, not 5$"),
        (lambda: erlbench.run("cem", "Pendulum-v1", env_set={"g": Path()}), "'g' .*Path"),
        (lambda: erlbench.run("cem", "Pendulum-v1", set={3: 1}), "set .*3"),
        (lambda: erlbench.run(5, "Pendulum-v1"), r"algorithm.*\b5\b"),
        (lambda: erlbench.report(".", out=5), "--out .*5"),
        (lambda: erlbench.report(".", paper={"width": 3}), "--paper .*width"),
        (lambda: erlbench.load_results(""), "folders .*not as ''"),
        (lambda: erlbench.load_policy(5), r"^load_policy\(\) .*, not 5$"),
        (lambda: erlbench.report(".", at="soon"), "--at soon"),
        (lambda: erlbench.report(".", at=1000, study="aes-rl-table-1"), "--at cuts all runs"),
        (lambda: erlbench.run("cem", "tests.environments:Broken-reward-v0", anyway=True, **SMALL), "reward of step 5"),
    ],
)
def test_a_mistake_is_an_error_and_no_exit(tmp_path, monkeypatch, call, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ErlbenchError, match=message):
        call()


def test_studies_and_numbers_of_numpy_are_taken(tmp_path, monkeypatch):
    known = []
    monkeypatch.setattr("erlbench.running.command.run_cells", lambda cells, options: known.extend(cells) or 0)
    erlbench.run(study="openai-es-quadratic", profile="smoke", out=tmp_path)
    assert {cell.env for cell in known} == {"function:quadratic"}
    known.clear()
    numbers = {"seeds": np.int64(2), "total_timesteps": np.int64(600)}
    erlbench.run("cem", "Pendulum-v1", env_set={"g": np.float32(9.5)}, out=tmp_path, **numbers)
    assert [cell.seed for cell in known] == [0, 1]
    assert [(cell.total_timesteps, cell.env_settings["g"]) for cell in known] == [(600, 9.5)] * 2


def test_a_script_needs_no_guard(tmp_path):
    """Workers do not import the script again."""
    script = tmp_path / "script.py"
    script.write_text(
        "import erlbench\n"
        "r = erlbench.run('cem', 'Pendulum-v1', total_timesteps=400, set={'hidden': 8}, processes=2, "
        f"out={str(tmp_path)!r})\nprint(len(r.cells), r.cells.status[0])\n"
    )
    done = python(script)
    assert done.stdout == "1 done\n", done.stderr


PROGRAM = """
import erlbench, gymnasium
from gymnasium.envs.classic_control import PendulumEnv
from gymnasium.spaces import Box

@erlbench.maximise
class Same:
    def __init__(self, mean):
        self.mean = mean

    def ask(self):
        return self.mean[None]

    def tell(self, fitness):
        pass

def scores(env, more={"max_episode_steps": 4}):
    few = {"total_timesteps": 8, "final_episodes": 2, "eval_episodes": 2, "processes": 0, "env_set": more}
    return erlbench.run(Same, env, out=f"{reward}", **few).cells["score"].tolist()

for reward in (1.0, 2.0):  # as if the cells of a notebook ran again
    class Mine(PendulumEnv):
        observation_space = Box(-1, 1, (int(reward),))
        pay = reward

        def __init__(self):
            super().__init__()
            self.observation_space = type(self).observation_space

        def reset(self, **options):
            super().reset(**options)
            return self.observation_space.low, {}

        def step(self, action):
            return self.observation_space.low, self.pay, False, False, {}

    gymnasium.registry.pop("Registered-v0", None)
    gymnasium.register("Registered-v0", Mine, max_episode_steps=5)
    print(scores(Mine) + scores("Registered-v0", {}))
"""


def test_a_program_s_own_environments_are_those_of_now(tmp_path):
    done = python("-", input=PROGRAM, cwd=tmp_path)
    assert done.stdout == "[4.0, 5.0]\n[8.0, 10.0]\n", done.stderr


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
