"""`erlbench tune`: it finds what is better, prunes, counts its budget, and goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import tomllib

import optuna
import pytest
from click.testing import CliRunner
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from erlbench.algorithms import registry
from erlbench.cli import cli
from erlbench.errors import UsageError
from erlbench.records.schema import EvaluationRow, row_of
from erlbench.running.results import RunDirectory
from erlbench.tuning import parse_space, tuner
from tests.processes import wait_for
from tests.runs import csv_rows, heed_interrupts, make_cell

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
    spent = sum(int(RunDirectory(run).status()["timesteps"]) for run in runs)
    pruned = sum(trial.state.name == "PRUNED" for trial in study.trials)
    assert (
        f"tuned with 6 trials{f', {pruned} of them pruned' if pruned else ''}, {spent:,} training steps"
        in result.stdout
    )
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


def test_a_trial_without_a_future_is_pruned(tmp_path, monkeypatch):
    """The evaluations of later trials are reported while they run, and Optuna's word is heeded."""
    asked = []

    def should_prune(trial):
        asked.append(trial.number)
        return trial.number >= 1

    monkeypatch.setattr(optuna.Trial, "should_prune", should_prune)
    monkeypatch.setattr("erlbench.running.shown.REFRESH", 0.0)
    words = ["--search", "population=10..12", "--seeds", 1, "--total-timesteps", 4000, "--trials", 3]
    words += ["--processes", 1, "--env", "Pendulum-v1", "--eval-freq", 500, "--set", "hidden=8"]
    result = invoke(tmp_path, *words)
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count("pruned (population=") == 2
    assert set(asked) == {0, 1, 2}
    statuses = [RunDirectory(path.parent).status() for path in sorted(tmp_path.glob("trial-*/**/status.json"))]
    assert [status["status"] for status in statuses] == ["done", "interrupted", "interrupted"]


@pytest.mark.parametrize(
    ("budget", "every", "first"), [(9000, 1000, 3000), (10_000, 1000, 4000), (3000, 1000, 1000), (1000, 2000, None)]
)
def test_no_trial_is_pruned_in_the_first_third_of_its_first_run(tmp_path, budget, every, first):
    """The first evaluations say little: of 24 trials on HalfCheetah, 20 were pruned after two of 20 evaluations.

    The first row of eval.csv is the evaluation before the training.
    """
    cell, steps = make_cell("cem", tmp_path, steps=budget, eval_freq=every), range(0, budget, every)
    study = tuner._study([cell], {}, tmp_path)
    good = {number: 1.0 for number, _ in enumerate(steps, 1)}
    for _ in range(tuner.STARTUP):
        study.add_trial(optuna.trial.create_trial(value=1.0, intermediate_values=good))
    pruning, pruned = tuner.Pruning(study.ask(), [], 0, threading.Event()), []
    for number, at in enumerate(steps):
        pruning(row_of(EvaluationRow, {"evaluation": number, "final": 0, "return_mean": 0.0}))
        pruned += [at] if pruning.is_set() else []
    assert pruned[:1] == ([] if first is None else [first])


def test_another_search_in_the_same_folder_is_refused(tmp_path):
    words = ["--search", "population=4..8", "--seeds", 1, "--total-timesteps", 100]
    assert invoke(tmp_path, *words, "--trials", 1).exit_code == 0
    for other in (["--env", "function:rastrigin"], ["--total-timesteps", 200], ["--search", "antithetic=true,false"]):
        result = invoke(tmp_path, *words, "--trials", 2, *other)
        assert (result.exit_code, str(tmp_path) in result.stderr) == (2, True), other
    assert invoke(tmp_path, *words, "--trials", 2).exit_code == 0


def test_a_search_of_another_algorithm_in_the_same_folder_is_refused(tmp_path):
    words = ["--search", "hidden=8,16", "--seeds", 1, "--total-timesteps", 100, "--trials", 1]
    assert invoke(tmp_path, *words).exit_code == 0
    best = (tmp_path / "best.toml").read_bytes()
    for other in ("openai-es", "cem@no-extra-division"):
        result = invoke(tmp_path, *words, "--algo", other)
        assert result.exit_code == 2
        assert result.stderr.startswith(f"erlbench: {tmp_path} holds another search (of cem)")
    assert (tmp_path / "best.toml").read_bytes() == best
    assert [path.name for path in tmp_path.glob("trial-*/*/*")] == ["cem"]
    assert invoke(tmp_path, *words).exit_code == 0


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


def test_evaluations_are_told_while_a_trial_runs_and_by_their_number(tmp_path):
    """So that trials can be compared and pruned; the steps at which generations end differ between trials."""
    words = ["--search", "population=10..12", "--seeds", 1, "--total-timesteps", 4000, "--eval-freq", 400]
    words += ["--trials", 1]
    given = ["tune", "--algo", "cem", "--env", "Pendulum-v1", "--processes", "1", "--out", tmp_path, *words]
    result = CliRunner().invoke(cli, [str(word) for word in given])
    assert result.exit_code == 0, result.output
    study = optuna.load_study(study_name="cem", storage=f"sqlite:///{tmp_path / 'optuna.db'}")
    told = study.trials[0].intermediate_values
    (path,) = tmp_path.rglob("eval.csv")
    returns = [float(row["return_mean"]) for row in csv_rows(path)]
    assert len(returns) > 1
    assert told == dict(enumerate(returns, 1))


@pytest.mark.slow
def test_after_ctrl_c_the_same_command_goes_on_with_the_trial(tmp_path):
    """Its values, its evaluations and its steps are kept."""
    words = ["--search", "population=10..12", "--seeds", 2, "--total-timesteps", 20_000, "--eval-freq", 2000,
             "--set", "hidden=8", "--env", "Pendulum-v1", "--trials", 2]  # fmt: skip
    given = ["tune", "--algo", "cem", "--processes", "1", "--out", tmp_path, *words]
    command = [sys.executable, "-m", "erlbench", *(str(word) for word in given)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts)
    second = tmp_path / "trial-000/Pendulum-v1/cem/seed-1001/eval.csv"  # the trial's second run
    wait_for(lambda: second.exists() and len(second.read_text().splitlines()) > 4, 120, "it does not train")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "with trial 0" in said
    storage = f"sqlite:///{tmp_path / 'optuna.db'}"
    (before,) = optuna.load_study(study_name="cem", storage=storage).trials
    assert before.state.name == "RUNNING"
    assert RunDirectory(second.parent).status()["status"] == "interrupted"

    result = CliRunner().invoke(cli, [str(word) for word in given])
    assert result.exit_code == 0, result.output
    study = optuna.load_study(study_name="cem", storage=storage)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "COMPLETE"]
    after = study.trials[0]
    assert after.params == before.params
    assert before.intermediate_values.items() <= after.intermediate_values.items()
    steps = sorted(after.intermediate_values)
    middle = next(i for i, step in enumerate(steps) if step > 20_000)
    assert steps == [*range(1, middle + 1), *range(20_001, 20_001 + len(steps) - middle)]
    statuses = [RunDirectory(path.parent).status() for path in tmp_path.glob("trial-000/**/status.json")]
    assert after.value == pytest.approx(sum(status["return_mean"] for status in statuses) / 2)
    assert f"{sum(trial.user_attrs['timesteps'] for trial in study.trials):,} training steps" in result.stdout
    assert after.user_attrs["timesteps"] == sum(status["timesteps"] for status in statuses)


def test_values_that_do_not_fit_together_end_their_trial_only(tmp_path):
    words = ["--search", "population=4,40", "--set", "elites=10", "--seeds", 1, "--total-timesteps", 300]
    result = invoke(tmp_path, *words, "--trials", 6)
    assert result.exit_code == 0, result.output
    assert "failed (population=4): " in result.stderr
    assert "best: population=40" in result.stdout


def test_a_folder_has_one_search_at_a_time(tmp_path):
    directory = RunDirectory(tmp_path)
    directory.hold()
    result = invoke(tmp_path, "--search", "population=4..8", "--total-timesteps", 100, "--trials", 1)
    directory.release()
    assert (result.exit_code, str(tmp_path) in result.stderr) == (2, True)


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
