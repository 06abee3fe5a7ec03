"""Whose run a file is: the user's names, then the text of the files, then the names of their folders."""

import shutil
import tomllib
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

    def call(*paths, **names):
        import_runs(paths, tmp_path / "out", origin="Jane Doe", **names)
        cells = erlbench.load_results(tmp_path / "out").cells
        return list(cells[["env", "name", "seed"]].itertuples(index=False, name=None))

    return call


def test_monitors_of_several_environments_need_the_users_name(imported, tmp_path):
    for name, env in (("1", "A-v1"), ("2", "B-v1"), ("\udce9", "None")):  # the last name is no text in UTF-8
        write_monitor(tmp_path / f"logs/{name}.monitor.csv", env)
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


@pytest.mark.parametrize("name", ["../../sac", "--out"])
def test_hostile_names_in_event_files_are_refused_even_where_they_are_overruled(imported, tmp_path, name):
    folder = write_events(tmp_path / "A-v1__sac__3__7", (5, 6), {"exp_name": name})
    with pytest.raises(UsageError, match="algo"):
        imported(folder, algo="sac")
    assert not (tmp_path / "out").exists()


def test_a_misspelt_setting_of_the_environment_is_refused(imported, tmp_path):
    path, names = write_evaluations(tmp_path / "evaluations.npz"), {"env": "Pendulum-v1", "algo": "ppo", "seed": 0}
    with pytest.raises(UsageError, match="max_episode_steps"):
        imported(path, **names, env_set={"max_episode_step": 50})
    imported(path, **names, env_set={"max_episode_steps": 50})
    (config,) = tmp_path.rglob("config.toml")
    assert tomllib.loads(config.read_text())["env_settings"] == {"max_episode_steps": 50}


EVENTS = Path(__file__).parent / "data/cleanrl/Pendulum-v1__ppo_continuous_action__1__1795658158"
WALKER = "dm_control/walker-walk-v0"


@pytest.mark.parametrize("names", [{}, {"env": "Walker2d-v5"}, {"algo": "sac"}, {"seed": 4}])
def test_the_users_names_stand_above_the_text_of_event_files_and_that_above_the_folders(imported, tmp_path, names):
    folder = shutil.copytree(EVENTS, tmp_path / "Walker2d-v5__sac__7__1795658158")
    expected = {"env": "Pendulum-v1", "algo": "ppo_continuous_action", "seed": 1} | names
    assert imported(folder, **names) == [(expected["env"], f"cleanrl-{expected['algo']}", expected["seed"])]


def test_a_folder_of_the_zoo_is_imported_where_its_name_is_not_the_environment(imported, tmp_path):
    """rl-baselines3-zoo writes "-" for the "/" of an id in the name of a folder; the monitor file has the id."""
    folder = tmp_path / "logs/sac/dm_control-walker-walk-v0_1"
    write_evaluations(folder / "evaluations.npz")
    write_monitor(folder / "monitor.csv", WALKER)
    assert imported(tmp_path / "logs", layout=LAYOUT) == [(WALKER, "sb3-sac", 1)]
    assert ("Walker2d-v5", "sb3-sac", 1) in imported(tmp_path / "logs", layout=LAYOUT, env="Walker2d-v5")


def test_a_link_or_its_target_may_have_the_names(imported, tmp_path):
    (tmp_path / "logs").mkdir()
    for place, link in (("store/17", "logs/ppo/A-v1_3"), ("store/ppo/A-v1_4", "logs/latest")):
        write_evaluations(tmp_path / place / "evaluations.npz")
        (tmp_path / link).parent.mkdir(exist_ok=True)
        (tmp_path / link).symlink_to(tmp_path / place)
    assert imported(tmp_path / "logs", layout=LAYOUT) == [("A-v1", "sb3-ppo", 3), ("A-v1", "sb3-ppo", 4)]


@pytest.mark.parametrize("settings", [{}, {"max_episode_steps": 5}])
def test_no_module_that_a_file_names_is_imported(imported, tmp_path, monkeypatch, settings):
    (tmp_path / "named_in_a_file.py").write_text("raise SystemExit('executed')\n")
    monkeypatch.syspath_prepend(tmp_path)
    path = write_monitor(tmp_path / "monitor.csv", "named_in_a_file:Tank-v0")
    assert imported(path, algo="ppo", seed=0, env_set=settings) == [("named_in_a_file:Tank-v0", "sb3-ppo", 0)]
