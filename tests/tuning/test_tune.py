"""`erlbench tune`: it finds what is better, counts its budget, and goes on."""

from __future__ import annotations

import resource
import subprocess
import sys
import tomllib
from functools import partial

import optuna
import pytest
from click.testing import CliRunner
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from erlbench import tuning
from erlbench.algorithms import registry
from erlbench.cli import cli
from erlbench.errors import UsageError
from erlbench.running.command import run_cells
from erlbench.running.folder import RunFolder
from erlbench.tuning import parse_space

CEM = registry.find("cem").settings_type


def invoke(out, *words: object):
    given = ["tune", "--algo", "cem", "--env", "function:sphere", "--processes", "0", "--out", out, *words]
    return CliRunner().invoke(cli, [str(word) for word in given])


def test_the_space():
    texts = {
        "initial_variance": "1e-4..1e-1:log",
        "population": "4..8",
        "hidden": "8,16-16",
        "antithetic": "true,false",
    }
    assert parse_space(texts, CEM, "cem") == {
        "initial_variance": FloatDistribution(1e-4, 1e-1, log=True),
        "population": IntDistribution(4, 8),
        "hidden": CategoricalDistribution(("8", "16-16")),
        "antithetic": CategoricalDistribution(("true", "false")),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sigma=1..2", "unknown setting 'sigma' of cem"),
        ("population=", "--search population needs a range"),
        ("population=8..4", "the lower end stands first"),
        ("initial_variance=0..1:log", "is above 0 with :log"),
        ("initial_variance=1..2:ln", "not :ln"),
        ("population=1..4", "must be at least 2"),
        ("population=4.5..6", "must be an integer"),
        ("antithetic=true", "needs two values at least"),
        ("antithetic=0..1", "an interval is for numbers"),
        ("hidden=32..64", "an interval is for numbers"),
    ],
)
def test_what_cannot_be_searched(text, message):
    name, _, what = text.partition("=")
    with pytest.raises(UsageError) as caught:
        parse_space({name: what}, CEM, "cem")
    assert message in str(caught.value)


def test_it_finds_the_better_value_and_counts_its_budget(tmp_path):
    words = ["--search", "initial_variance=1e-12,1e-1", "--seeds", 2, "--total-timesteps", 300, "--trials"]
    result = invoke(tmp_path, *words, 6)
    assert result.exit_code == 0, result.stderr
    assert "best: initial_variance=1e-1" in result.stdout
    study = optuna.load_study(study_name="cem", storage=f"sqlite:///{tmp_path / 'optuna.db'}")
    assert len(study.trials) == 6
    runs = [path.parent for path in tmp_path.glob("trial-*/**/status.json")]
    spent = sum(int(RunFolder(run).status()["timesteps"]) for run in runs)
    assert f"tuned with 6 trials, {spent:,} training steps" in result.stdout
    best = tomllib.loads((tmp_path / "best.toml").read_text())
    assert best["settings"] == {"initial_variance": "1e-1"}
    assert f"{spent:,} training steps in all" in (tmp_path / "best.toml").read_text()
    assert {run.name for run in runs} == {"seed-1000", "seed-1001"}
    again = invoke(tmp_path, *words, 6)
    assert again.stderr == ""  # no trial is left
    assert again.stdout == result.stdout
    dry = CliRunner().invoke(cli, ["run", "--config", str(tmp_path / "best.toml"), "--dry-run"])
    assert dry.exit_code == 0, dry.stderr
    assert "0.1" in dry.stdout


def test_another_search_in_the_same_folder_is_refused(tmp_path):
    words = ["--search", "population=4..8", "--seeds", 1, "--total-timesteps", 100]
    assert invoke(tmp_path, *words, "--trials", 1).exit_code == 0
    for other in (["--env", "function:rastrigin"], ["--total-timesteps", 200], ["--search", "antithetic=true,false"]):
        result = invoke(tmp_path, *words, "--trials", 2, *other)
        assert (result.exit_code, str(tmp_path) in result.stderr) == (2, True), other
    assert invoke(tmp_path, *words, "--trials", 2).exit_code == 0


@pytest.mark.parametrize("damage", ["not a database", "a folder"])
def test_a_damaged_database_is_named(tmp_path, damage):
    file = tmp_path / "optuna.db"
    if damage == "a folder":
        file.mkdir()
    else:
        file.write_bytes(b"SQLite format 3\0" + b"\1" * 9000)
    result = invoke(tmp_path, "--search", "population=4..8", "--total-timesteps", 60, "--trials", 1)
    assert result.exit_code == 2
    reason = "unable to open database file" if damage == "a folder" else "file is not a database"
    assert result.stderr == (
        f"erlbench: {file} cannot be used: {reason}; put back a copy of it, or choose another --out\n"
    )


def test_a_budget_that_is_no_number(tmp_path):
    result = invoke(tmp_path, "--search", "population=4..8", "--total-timesteps", "abc")
    assert result.exit_code == 2
    assert result.stderr.startswith("erlbench: --total-timesteps ")


def test_values_that_do_not_fit_together_end_their_trial_only(tmp_path):
    words = ["--search", "population=4,40", "--set", "elites=10", "--seeds", 1, "--total-timesteps", 300]
    result = invoke(tmp_path, *words, "--trials", 6)
    assert result.exit_code == 0, result.output
    assert "failed (population=4): " in result.stderr
    assert "best: population=40" in result.stdout


def test_a_search_in_parts_is_the_search_in_one_go(tmp_path):
    words = ["--search", "initial_variance=1e-4..1e-1:log", "--seeds", 1, "--total-timesteps", 60]
    for trials in (1, 2, 3):
        assert invoke(tmp_path / "parts", *words, "--trials", trials).exit_code == 0
    assert invoke(tmp_path / "whole", *words, "--trials", 3).exit_code == 0
    storages = [f"sqlite:///{tmp_path / name / 'optuna.db'}" for name in ("parts", "whole")]
    studies = [optuna.load_study(study_name="cem", storage=storage) for storage in storages]
    found = [[trial.params for trial in study.trials] for study in studies]
    assert found[0] == found[1]
    assert len({tuple(params.values()) for params in found[0]}) == 3


def test_best_toml_is_what_was_tuned(tmp_path):
    words = ["--search", "initial_variance=1e-3,1e-1", "--set", "population=4", "--set", "elites=2", "--seeds", 1]
    assert invoke(tmp_path, *words, "--total-timesteps", 60, "--trials", 1).exit_code == 0
    best = tomllib.loads((tmp_path / "best.toml").read_text())
    assert best["total_timesteps"] == 60
    assert best["settings"] | {"initial_variance": ""} == {"population": 4, "elites": 2, "initial_variance": ""}


def test_one_environment_is_tuned_at_a_time(tmp_path):
    words = ["--env", "function:sphere,function:rastrigin", "--search", "population=4..8", "--total-timesteps", 60]
    result = invoke(tmp_path, *words)
    assert (result.exit_code, "one environment" in result.stderr) == (2, True)


def test_after_an_interruption_the_same_command_goes_on_with_the_trial(tmp_path, monkeypatch):
    """In its folder, with its values; what comes after it is as in a search without interruptions."""
    words = ["--search", "initial_variance=1e-4..1e-1:log", "--seeds", 1, "--total-timesteps", 60, "--trials", 3]
    assert invoke(tmp_path / "whole", *words).exit_code == 0
    calls = []

    def interrupted(cells, options):
        calls.append(cells[0])
        return 130 if len(calls) == 2 else run_cells(cells, options)

    monkeypatch.setattr(tuning, "run_cells", interrupted)
    first = invoke(tmp_path / "parts", *words)
    assert (first.exit_code, "with trial-001" in first.stderr) == (130, True)
    assert invoke(tmp_path / "parts", *words).exit_code == 0
    assert calls[1] == calls[2]
    configs = [
        sorted((path.relative_to(folder), path.read_text()) for path in folder.rglob("config.toml"))
        for folder in (tmp_path / "whole", tmp_path / "parts")
    ]
    assert len(configs[0]) == 3
    assert configs[0] == configs[1]


def test_a_database_that_cannot_grow_is_named_in_one_line(tmp_path):
    command = [sys.executable, "-m", "erlbench", "tune", "--algo", "cem", "--env", "function:sphere", "--out", tmp_path]
    command += ["--search", "population=4..8", "--total-timesteps", "60", "--trials", "1", "--processes", "0"]
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (110 * 1024, 110 * 1024))
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 2
    assert done.stderr.startswith(f"erlbench: {tmp_path / 'optuna.db'} cannot be used: ")
    assert done.stderr.count("\n") == 1
