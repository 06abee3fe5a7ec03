"""Whose run a file is: the user's names, then the text of the files, then the names of their folders."""

from __future__ import annotations

from pathlib import Path

import pytest

import erlbench
from erlbench.conversion import import_runs
from erlbench.errors import UsageError
from tests.importing.files import write_evaluations, write_events, write_monitor

LAYOUT = "{algo}/{env}_{seed}"


@pytest.fixture
def imported(tmp_path):
    """Import paths; environment, name and seed of each run."""

    def call(*paths: Path, **names: object) -> list[tuple[str, str, int]]:
        import_runs(paths, tmp_path / "out", origin="Jane Doe", **names)
        cells = erlbench.load_results(tmp_path / "out").cells
        return list(cells[["env", "name", "seed"]].itertuples(index=False, name=None))

    return call


def test_monitors_of_several_environments_need_the_users_name(imported, tmp_path):
    for number, env in enumerate(("A-v1", "B-v1", "None")):
        write_monitor(tmp_path / f"logs/{number}.monitor.csv", env)
    with pytest.raises(UsageError, match=r"A-v1 and B-v1.*--env"):
        imported(tmp_path / "logs", algo="ppo", seed=0)
    assert imported(tmp_path / "logs", algo="ppo", seed=0, env="C-v1") == [("C-v1", "sb3-ppo", 0)]


def test_a_name_that_no_run_can_have_is_overruled(imported, tmp_path):
    (tmp_path / "scores.csv").write_text("env,algo,seed,step,return\nA-v1,(1+1)-ES*,0,1,3\n")
    with pytest.raises(UsageError, match="--algo"):
        imported(tmp_path / "scores.csv")
    assert imported(tmp_path / "scores.csv", algo="es") == [("A-v1", "imported-es", 0)]
    path = write_evaluations(tmp_path / "logs/sac/we?ird [x]_3/evaluations.npz")
    assert ("B-v1", "sb3-sac", 3) in imported(path, layout=LAYOUT, env="B-v1")


def test_runs_that_a_name_makes_one_are_refused(imported, tmp_path):
    (tmp_path / "scores.csv").write_text("env,algo,seed,step,return\nA-v1,x,0,1,3\nB-v1,x,0,1,3\n")
    with pytest.raises(UsageError, match="two runs"):
        imported(tmp_path / "scores.csv", env="C-v1")


def test_text_of_event_files_names_an_environment_whose_folders_have_a_slash(imported, tmp_path):
    settings = {"exp_name": "sac", "seed": 3, "env_id": "dm_control/walker-walk-v0"}
    folder = write_events(tmp_path / "runs/dm_control/walker-walk-v0__sac__3__7", (5, 6), settings)
    assert imported(folder) == [("dm_control/walker-walk-v0", "cleanrl-sac", 3)]


@pytest.mark.parametrize("name", ["../../sac", "--out", "/etc", "..\\x"])
def test_hostile_names_in_event_files_are_refused_even_where_they_are_overruled(imported, tmp_path, name):
    folder = write_events(tmp_path / "A-v1__sac__3__7", (5, 6), {"exp_name": name})
    with pytest.raises(UsageError, match="algo"):
        imported(folder, algo="sac")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("env", "settings", "word"), [
    ("Pendulum-v1", {"max_episode_step": 50}, "max_episode_steps"),
    ("Foo-v9", {"max_episod_steps": 5}, "max_episode_steps"),
    ("Pendulum-v1", {"max_episode_steps": "many"}, "many"),
])  # fmt: skip
def test_a_misspelt_setting_of_the_environment_is_refused(imported, tmp_path, env, settings, word):
    path = write_evaluations(tmp_path / "evaluations.npz")
    with pytest.raises(UsageError, match=word):
        imported(path, env=env, algo="ppo", seed=0, env_set=settings)


def test_a_name_of_a_file_that_is_no_text_is_imported(imported, tmp_path):
    path = tmp_path / "\udce9" / "\udce9.monitor.csv"
    write_monitor(path, "A-v1")
    assert imported(path, algo="ppo", seed=0) == [("A-v1", "sb3-ppo", 0)]


@pytest.mark.parametrize("settings", [{}, {"max_episode_steps": 5}])
def test_no_module_that_a_file_names_is_imported(imported, tmp_path, monkeypatch, settings):
    (tmp_path / "named_in_a_file.py").write_text("raise SystemExit('executed')\n")
    monkeypatch.syspath_prepend(tmp_path)
    path = write_monitor(tmp_path / "monitor.csv", "named_in_a_file:Tank-v0")
    assert imported(path, algo="ppo", seed=0, env_set=settings) == [("named_in_a_file:Tank-v0", "sb3-ppo", 0)]
