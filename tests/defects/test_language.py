"""Defects of the language: import, export, texts, and the settings of several algorithms in one command.

Each test states what is right and fails today; its mark names the point. Whoever mends a point removes its mark.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pandas as pd
import pytest

import erlbench
from erlbench.cli import cli
from tests.defects.commands import FINAL, MODULE, TINY, call, config, import_runs, save_evaluations, succeed

ROOT = Path(__file__).parents[2]
EVENTS = ROOT / "tests/importing/data/cleanrl/Pendulum-v1__ppo_continuous_action__1__1795658158"
LAYOUT = "{algo}/{env}_{seed}"
MONITOR = '#{"t_start": 0.0, "env_id": "Hopper-v5"}\nr,l,t\n1.0,10,0.1\n2.0,20,0.3\n'
HOPPER, WALKER = "Hopper-v5", "Walker2d-v5"
# A run that ends within the warm-up, so that no gradient step is made.
UNTRAINED = ("--env=InvertedPendulum-v5", "--total-timesteps=40", "--eval-episodes=1", *FINAL)


def identity(cells: pd.DataFrame) -> tuple[str, str, int]:
    """Environment, algorithm without the program's name, and seed of the one run."""
    ((env, name, seed),) = cells[["env", "name", "seed"]].itertuples(index=False)
    return env, name.partition("-")[2], seed


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (("--env", WALKER), (WALKER, "ppo_continuous_action", 1)),
        (("--algo", "sac"), ("Pendulum-v1", "sac", 1)),
        (("--seed", 4), ("Pendulum-v1", "ppo_continuous_action", 4)),
    ],
    ids=["env", "algo", "seed"],
)
def test_the_user_names_a_run_above_its_event_files(tmp_path, words, right):
    assert identity(import_runs(tmp_path / "out", EVENTS, *words)) == right


def test_the_text_of_an_event_file_names_a_run_above_its_folder(tmp_path):
    """CleanRL writes env_id, exp_name and seed as a text; the folder was given another name since."""
    folder = tmp_path / f"{WALKER}__sac__7__1795658158"
    shutil.copytree(EVENTS, folder)
    assert identity(import_runs(tmp_path / "out", folder)) == ("Pendulum-v1", "ppo_continuous_action", 1)


@pytest.mark.parametrize(
    ("words", "env"),
    [
        ((), "dm_control/walker-walk-v0"),
        (("--env", "dm_control/walker-walk-v0"), "dm_control/walker-walk-v0"),
        (("--env", WALKER), WALKER),
    ],
)
def test_a_folder_of_the_zoo_is_imported_where_its_name_is_not_the_environment(tmp_path, words, env):
    """rl-baselines3-zoo writes "-" for the "/" of an id in the name of a folder; the monitor file has the id."""
    folder = tmp_path / "logs/sac/dm_control-walker-walk-v0_1"
    save_evaluations(folder / "evaluations.npz", [100, 200])
    (folder / "monitor.csv").write_text(MONITOR.replace(HOPPER, "dm_control/walker-walk-v0"))
    cells = import_runs(tmp_path / "out", tmp_path / "logs", "--layout", LAYOUT, *words)
    assert identity(cells) == (env, "sac", 1)


@pytest.mark.parametrize("monitor", [False, True])
def test_runs_of_the_users_environment_stand_in_one_table_with_ours(tmp_path, monitor):
    """Monitor writes the id without the module; the environment has no limit of steps, so each run is given one."""
    env, results = f"{MODULE}:Unlimited-v0", tmp_path / "results"
    limit = ("--env-set", "max_episode_steps=10")
    succeed("run", "--algo", "cem", "--env", env, *limit, "--seeds", 2, *TINY, "--out", results)
    for seed in (0, 1):
        folder = tmp_path / f"logs/{seed}"
        save_evaluations(folder / "evaluations.npz", [100, 200])
        if monitor:
            (folder / "monitor.csv").write_text(MONITOR.replace(HOPPER, "Unlimited-v0"))
        words = ("--env", env, *limit, "--algo", "ppo", "--seed", seed, "--total-timesteps", 200)
        import_runs(results, folder, *words)
    succeed("report", results, "--out", tmp_path / "report")
    (table,) = (tmp_path / "report").rglob("scores.csv")
    rows = pd.read_csv(table)
    names = rows[[column for column in rows if column.casefold() in ("name", "algorithm")]].iloc[:, 0]
    assert set(names) == {"cem", "sb3-ppo"}
    envs = rows[[column for column in rows if column.casefold() in ("env", "environment")]].iloc[:, 0]
    assert envs.nunique() == 1


@pytest.mark.parametrize("option", ["--config", "studies.toml", "--paper"])
def test_a_mark_of_utf8_may_begin_a_file(successes, tmp_path, monkeypatch, option):
    """As Notepad and PowerShell write it."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / (option if option == "studies.toml" else "file.toml")
    report = ("report", successes / "Always", "--out", tmp_path / "report")
    texts = {
        "--config": next((successes / "Always").rglob("config.toml")).read_text(encoding="utf-8"),
        "studies.toml": "",
        "--paper": '[labels]\ncem = "CEM"\n',
    }
    words = {
        "--config": ("run", "--config", path, "--seeds", "3,", "--out", tmp_path / "out", "--dry-run"),
        "studies.toml": ("list", "studies"),
        "--paper": (*report, "--paper", path),
    }
    path.write_text(texts[option], encoding="utf-8")
    succeed(*words[option])
    path.write_text(texts[option], encoding="utf-8-sig")
    assert "left out" not in succeed(*words[option]).output


@pytest.mark.parametrize("command", ["report", "export", "import"])
def test_accents_are_no_error_under_the_locale_c(successes, tmp_path, command):
    """Where Python is told to go by the locale alone, names of files are decoded as ASCII with escapes."""
    folder = tmp_path / "résultats"
    if command == "import":
        folder.mkdir()
        (folder / "monitor.csv").write_text(MONITOR)
    else:
        shutil.copytree(next((successes / "Always").glob("*")), folder)
    words = {
        "report": ("report", folder, "--out", tmp_path / "page"),
        "export": ("convert", folder, "--to", "sb3", "--out", tmp_path / "exporté"),
        "import": (
            "convert",
            folder,
            "--origin",
            "José Núñez",
            "--algo",
            "ppo",
            "--seed",
            "0",
            "--out",
            tmp_path / "é",
        ),
    }
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "erlbench", *map(str, words[command])],
        capture_output=True,
        timeout=120,
        env=os.environ | locale,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")


class Mute(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("error", [ValueError("file \udce9 is broken"), Mute()], ids=["no-unicode", "no-text"])
def test_the_handler_of_errors_does_not_fail(monkeypatch, error):
    """A name of a file that is no text in UTF-8 on the command line, and an exception whose text raises."""

    @click.command()
    def fail() -> None:
        raise error

    monkeypatch.setattr(cli, "get_command", lambda ctx, name: fail)
    monkeypatch.setattr(sys, "argv", ["erlbench", "show", "r\udce9sultats"])
    result = call("show")
    assert isinstance(result.exception, SystemExit)
    assert result.exit_code == 1
    assert type(error).__name__ in result.stderr


@pytest.mark.parametrize("other", ["cem", f"{MODULE}:Search"])
def test_a_setting_goes_to_the_algorithms_that_have_it(tmp_path, other):
    """What no algorithm of the command has stays a mistake."""
    words = ("run", f"--algo=td3,{other}", *UNTRAINED, "--processes=0", "--out", tmp_path)
    succeed(*words, "--set", "start_timesteps=500")
    settings = {path.parents[1].name: config(path.parent)["settings"] for path in tmp_path.rglob("config.toml")}
    assert settings.pop("td3")["start_timesteps"] == 500
    (others,) = settings.values()
    assert "start_timesteps" not in others
    assert call(*words, "--set", "start_timestep=500").exit_code == 2


def test_a_setting_may_name_its_algorithm(tmp_path):
    words = ("run", "--algo=td3,ddpg", *UNTRAINED, "--processes=0", "--out", tmp_path)
    succeed(*words, "--set", "start_timesteps=600", "--set", "td3.start_timesteps=500")
    settings = {path.parents[1].name: config(path.parent)["settings"] for path in tmp_path.rglob("config.toml")}
    assert {name: values["start_timesteps"] for name, values in settings.items()} == {"td3": 500, "ddpg": 600}


def test_import_takes_settings_of_the_environment(tmp_path):
    path = save_evaluations(tmp_path / "evaluations.npz", [100, 200])
    words = ("--env", "Pendulum-v1", "--env-set", "max_episode_steps=50", "--algo", "ppo", "--seed", 1)
    import_runs(tmp_path / "out", path, *words)
    assert config(tmp_path / "out")["env_settings"] == {"max_episode_steps": 50}


def test_an_error_that_is_no_unicode_fails_its_run_alone(tmp_path):
    """The run has failed and says why, as with any other error of an environment."""
    result = call("run", "--algo", "cem", "--env", f"{MODULE}:NoUnicode-v0", *TINY, "--out", tmp_path)
    assert isinstance(result.exception, SystemExit)
    assert result.exit_code == 1
    ((status, message),) = erlbench.load_results(tmp_path).cells[["status", "message"]].itertuples(index=False)
    assert status == "failed"
    assert "ValueError" in message


def lines_on_evaluation(*words: object) -> set[str]:
    """What is printed before a run of 10,000 steps with episodes of 200 on its evaluations."""
    command = ("run", "--algo", "cem", "--env", "Pendulum-v1", "--set", "population=5", "--total-timesteps", 10_000)
    lines = succeed(*command, "--dry-run", *words).output.splitlines()
    return {line for line in lines if "evaluat" in line.casefold()}


def test_evaluation_that_costs_more_steps_than_training_is_announced(tmp_path_factory):
    """Twenty evaluations of twenty episodes play 80,000 steps; three of one episode and a final one play 1,600."""
    out = ("--out", tmp_path_factory.mktemp("results"))  # a name that says nothing of it
    cheap = lines_on_evaluation("--eval-freq", 5000, "--eval-episodes", 1, *FINAL, *out)
    costly = lines_on_evaluation("--eval-freq", 500, "--eval-episodes", 20, *FINAL, *out)
    assert costly - cheap
