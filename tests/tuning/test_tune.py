"""`erlbench tune`: it finds what is better, counts its budget, and goes on."""

import sqlite3
import sys
import tomllib

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from erlbench import tuning
from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.running.command import run_cells
from erlbench.running.folder import RunFolder
from erlbench.tuning import parse_space
from tests.calls import call, refuse, succeed
from tests.tables import cells

CEM = registry.find("cem").settings_type


def command(out, options):
    """A search for CEM on a sphere, with these options."""
    return [*f"tune --algo cem --env function:sphere --processes 0 {options} --out".split(), out]


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


REFUSED = """
sigma            | 1..2     | 'sigma'
population       | -        | a range
initial_variance | 0..1:log | :log
population       | 1..4     | at least 2
antithetic       | true     | two values
population       | 5-9      | LOW..HIGH
antithetic       | 0..1     | for numbers
"""


@pytest.mark.parametrize(("name", "text", "message"), cells(REFUSED))
def test_what_cannot_be_searched(name, text, message):
    with pytest.raises(UsageError, match=message):
        parse_space({name: text.strip("-")}, CEM, "cem")


def test_settings_that_go_only_with_the_searched_ones_are_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "tune", lambda cells, *rest: sys.exit(int(cells[0].settings.population)))
    assert call(*command(tmp_path, "--set elites=20 --search population=40..50")).exit_code == 40
    refuse("elites", *command(tmp_path, "--set elites=20 --search population=4..8"))


def test_it_finds_the_better_value_and_counts_its_budget(tmp_path):
    tmp_path /= "my search?"
    options = "--search initial_variance=1e-12,1e-1 --set cem.population=8 --seeds 2 --env-set dimension=3"
    words = command(tmp_path, f"{options} --total-timesteps 300")
    succeed(*words, "--trials", 2)  # a search in parts
    result = call(*words, "--trials", 6)
    assert (result.exit_code, "best: initial_variance=1e-1" in result.stdout) == (0, True), result.stderr
    assert sqlite3.connect(tmp_path / "optuna.db").execute("select count(*) from trials").fetchone() == (6,)
    runs = [path.parent for path in tmp_path.glob("trial-*/**/status.json")]
    spent = sum(int(RunFolder(run).status()["timesteps"]) for run in runs)
    assert f"tuned with 6 trials, {spent:,} training steps" in result.stdout
    best = tomllib.loads((tmp_path / "best.toml").read_text())
    assert (best["settings"], best["total_timesteps"]) == ({"initial_variance": "1e-1", "population": 8}, 300)
    assert best["env_settings"] == {"dimension": 3}
    assert f"{spent:,} training steps in all" in (tmp_path / "best.toml").read_text()
    assert {run.name for run in runs} == {"seed-1000", "seed-1001"}
    assert f" erlbench run --config '{tmp_path / 'best.toml'}' --seeds 10" in result.stdout
    assert succeed(*words, "--trials", 6) == result.stdout  # no trial is left
    assert "0.1" in succeed("run", "--config", tmp_path / "best.toml", "--dry-run")


def test_another_search_in_the_same_folder_is_refused(tmp_path):
    options = "--search population=4..8 --seeds 1 --total-timesteps 100 --trials"
    succeed(*command(tmp_path, f"{options} 1"))
    for other in ("--set hidden=8", "--total-timesteps 200", "--search antithetic=true,false"):
        assert call(*command(tmp_path, f"{options} 2 {other}")).exit_code == 2
    succeed(*command(tmp_path, f"{options} 2"))


def test_a_damaged_database_and_what_cannot_be_tuned_is_named(tmp_path):
    file = tmp_path / "optuna.db"
    options = "--search population=4..8 --total-timesteps 60 --trials 1"
    file.mkdir()
    for _ in range(2):
        refuse(f"{file} cannot be used: ", *command(tmp_path, options))
        if file.is_dir():
            file.rmdir()
            file.write_bytes(b"SQLite format 3\0" + b"\1" * 9000)
    for more, named in (
        ("--env function:rastrigin", "--env: one is tuned at a time, not function:sphere, function:rastrigin"),
        ("--algo cma-es,pgpe", "--algo: one is tuned at a time, not cem, cma-es, pgpe"),
        ("--total-timesteps a", "--total"),
        ("--set cem.population=5", "--set cem.population"),
    ):
        refuse(named, *command(tmp_path / "other", f"{options} {more}"))


def test_values_that_do_not_fit_together_end_their_trial_only(tmp_path):
    options = "--search population=4,40 --set elites=10 --seeds 1 --total-timesteps 300 --trials 6"
    result = call(*command(tmp_path, options))
    assert (result.exit_code, "best: population=40" in result.stdout) == (0, True)
    assert "failed (population=4): " in result.stderr


@pytest.mark.slow
def test_a_trial_that_trains_nobody_has_no_value(tmp_path):
    """Its score would be an untrained policy's, which no report compares."""
    words = "tune --algo ddpg --env InvertedPendulum-v5 --seeds 1 --total-timesteps 300 --trials 3 --processes 0"
    words += " --search start_timesteps=20,300 --set hidden=4 --set critic_hidden=4 --set batch_size=4 --out"
    result = call(*words.split(), tmp_path)
    assert (result.exit_code, "best: start_timesteps=20" in result.stdout) == (0, True)
    assert "failed (start_timesteps=300): it made no gradient step" in result.stderr


def test_after_an_interruption_the_same_command_goes_on_with_the_trial(tmp_path, monkeypatch):
    """In its folder, with its values; what comes after it is as in a search without interruptions."""
    options = "--search initial_variance=1e-4..1e-1:log --seeds 1 --total-timesteps 60 --trials 3"
    succeed(*command(tmp_path / "whole", options))
    calls = []

    def interrupted(cells, options):
        calls.append(cells[0])
        return 130 if len(calls) == 2 else run_cells(cells, options)

    monkeypatch.setattr(tuning, "run_cells", interrupted)
    first = call(*command(tmp_path / "parts", options))
    assert (first.exit_code, "with trial-001" in first.stderr) == (130, True)
    succeed(*command(tmp_path / "parts", options))
    assert calls[1] == calls[2]
    configs = [
        sorted((path.relative_to(folder), path.read_text()) for path in folder.rglob("config.toml"))
        for folder in (tmp_path / "whole", tmp_path / "parts")
    ]
    assert len(configs[0]) == 3
    assert configs[0] == configs[1]
