"""`erlbench forecast`: which numbers of processes it takes, and algorithms whose tasks have other kinds."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.cli.forecast import command
from erlbench.experiment.cells import Cell
from erlbench.forecasting import environment

CEM = ["--algo", "cem", "--env", "InvertedPendulum-v5", "--steps", "2000"]


@pytest.fixture(autouse=True)
def brief(monkeypatch):
    monkeypatch.setattr(environment, "SECONDS", 0.2)


def invoke(*words: str):
    return CliRunner().invoke(cli, ["forecast", *words])


def test_one_number_of_processes():
    result = invoke(*CEM, "--processes", "4")
    assert result.exit_code == 0, result.output
    assert next(line.split()[1] for line in result.stdout.splitlines() if line.startswith("cem ")) == "4"


def test_an_algorithm_without_gradient_steps_has_no_time_after_the_warm_up():
    result = invoke(*CEM, "--processes", "2")
    forecast, errors = result.stdout.split("\n\n")
    (row,) = (line.split() for line in forecast.splitlines() if line.startswith("cem "))
    assert row[3:5] == ["–", "0.00"]
    assert "nan" not in result.stdout
    assert errors.startswith("Errors of forecasts")


def test_each_short_heading_is_explained_below_the_table():
    lines = invoke(*CEM, "--processes", "2").stdout.splitlines()
    for heading in ("min/1e6", "critic/step", "staleness", "busy"):
        assert heading in lines[1].split()
        assert sum(line.startswith(f"{heading}: ") for line in lines) == 1
    assert "90 %: the 90 % quantile" in "".join(lines)


@pytest.mark.parametrize("text", ["0", "1,,2", "a", "-1", "1-3", "99999"])
def test_what_is_no_number_of_processes(text):
    result = invoke(*CEM, "--processes", text)
    assert result.exit_code == 2
    assert "--processes must be numbers" in result.stderr


def test_an_algorithm_whose_tasks_are_all_random():
    result = invoke("--algo", "cem-rl@aes-rl-code", "--env", "HalfCheetah-v5", "--steps", "5000", "--processes", "2")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("algo", ["esac", "erl"])
def test_an_algorithm_without_a_forecast_is_refused_before_its_gradient_steps_begin(algo):
    """ESAC's first ones come in its fifth generation, after more steps than are simulated by default."""
    result = invoke("--algo", algo, "--env", "HalfCheetah-v5", "--steps", "3000", "--processes", "2")
    assert result.exit_code == 2
    assert f" for {algo}; " in result.stderr


def test_episodes_that_nobody_can_have_played(tmp_path):
    (tmp_path / "episodes.csv").write_text("r,l\n0," + "9" * 12 + "\n")
    result = invoke(*CEM, "--from-run", str(tmp_path), "--processes", "2")
    assert result.exit_code == 2
    assert "from 1 to 1,000,000,000" in result.stderr


@pytest.mark.slow
def test_many_generations_of_openai_es():
    """The sums of noise are freed as those of a real run are."""
    words = ["forecast", "--algo", "openai-es", "--env", "InvertedPendulum-v5", "--set", "population=4"]
    words += ["--set", "hidden=4", "--steps", "400000", "--processes", "1"]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output


def test_one_environment_is_forecast_at_a_time():
    result = CliRunner().invoke(cli, ["forecast", "--algo", "cem-rl", "--env", "HalfCheetah-v5,Hopper-v5"])
    assert (result.exit_code, "one environment" in result.stderr) == (2, True)


def row_of(output: str, algo: str) -> list[str]:
    return next(line.split() for line in output.splitlines() if line.startswith(f"{algo} "))


def test_environments_with_other_episodes_and_steps_have_other_rows():
    """HalfCheetah never ends early; an untrained Walker2d falls at once, and its step takes longer."""
    words = ["--algo", "p-cem-rl", "--processes", "5", "--steps", "30000"]
    cheetah, walker = (invoke(*words, "--env", env).stdout for env in ("HalfCheetah-v5", "Walker2d-v5"))
    assert row_of(cheetah, "p-cem-rl")[2:] != row_of(walker, "p-cem-rl")[2:]
    assert "1,000 steps each" in cheetah
    assert "Steps: 0.072 ms" in cheetah
    mean = float(re.search(r"Episodes: ([0-9]+) steps in the mean", walker)[1])
    assert 10 < mean < 200
    step = float(re.search(r"Steps: ([0-9.]+) ms with the policy: 0.072 ms on HalfCheetah-v5", walker)[1])
    assert step > 1.2 * 0.072


def test_minutes_per_updates_are_those_per_step_where_each_step_has_one():
    words = ["--algo", "p-cem-rl", "--env", "HalfCheetah-v5", "--processes", "5", "--steps", "60000"]
    row = row_of(invoke(*words).stdout, "p-cem-rl")
    assert row[3] == row[5] != "–"


LENGTHS = {"40": 40.0, "uniform:20": 20.0, "geometric:30": 30.0, "lengths.txt": 25.0, "runs": 12.0}


@pytest.mark.parametrize("what", LENGTHS)
def test_lengths_that_are_given(tmp_path, what):
    """A number, a distribution, a file, and the runs of this environment in a folder."""
    (tmp_path / "lengths.txt").write_text("20\n30\n")
    for env, length in (("InvertedPendulum-v5", 12), ("Hopper-v5", 99)):
        run = tmp_path / "runs" / env / "cem" / "seed-000"
        run.mkdir(parents=True)
        (run / "config.toml").write_text(f'[run]\nenv = "{env}"\nname = "cem"\nseed = 0\ntotal_timesteps = 9\n')
        (run / "eval.csv").write_text("timesteps,return_mean,train_time_s\n")
        (run / "episodes.csv").write_text(f"r,l,t\n1,{length},1\n")
    place = str(tmp_path / what) if (tmp_path / what).exists() else what
    result = invoke(*CEM, "--processes", "1", "--lengths", place)
    assert result.exit_code == 0, result.output
    found = re.search(r"Episodes: ([0-9,]+) steps", result.stdout)
    assert float(found[1]) == pytest.approx(LENGTHS[what], rel=0.03)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("0", "have 1 to 1,000 steps"),
        ("1001", "have 1 to 1,000 steps"),
        ("geometric:5000", "have 1 to 1,000 steps"),
        ("geometric:", "must be N, uniform:MEAN"),
        ("normal:20", "must be N, uniform:MEAN"),
        ("-5", "must be N, uniform:MEAN"),
        ("words.txt", "has an episode whose length is no number of steps"),
        ("empty.txt", "has no episode yet"),
        ("other.csv", "no column l"),
        ("cells.csv", "cells.csv:3: "),
        (".", "no run found"),
    ],
)
def test_lengths_that_no_episode_has(tmp_path, monkeypatch, what, message):
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("words.txt", "20\nmany\n"),
        ("empty.txt", ""),
        ("other.csv", "r\n1\n"),
        ("cells.csv", "l\n1\nmany\n"),
    ):
        (tmp_path / name).write_text(text)
    result = invoke(*CEM, "--lengths", what)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_lengths_are_given_once(tmp_path):
    result = invoke(*CEM, "--lengths", "20", "--from-run", str(tmp_path))
    assert (result.exit_code, "leave one out" in result.stderr) == (2, True)


def test_costs_of_an_unknown_environment_are_taken_as_they_are(tmp_path):
    """A file of before, or of a run, does not name the environment."""
    path = tmp_path / "costs.toml"
    path.write_text("timestep = 0.001\ncritic_update = 0\nactor_update = 0\noverhead = 0\n")
    result = invoke(*CEM, "--processes", "1", "--costs", str(path), "--lengths", "100")
    assert float(row_of(result.stdout, "cem")[2]) == pytest.approx(1e6 * 0.001 / 60, rel=0.01)
    assert "Steps: 1.000 ms" in result.stdout


def test_the_critic_is_that_of_a_run_in_simulated_time():
    (option,) = (parameter for parameter in command.params if parameter.name == "critic")
    assert option.default == Cell.simulated_critic


def test_updates_that_are_not_those_of_the_costs_are_named():
    """The package's costs are of minibatches of 256; CEM-RL's have 100."""
    words = ("--env", "HalfCheetah-v5", "--processes", "1", "--steps", "30000")
    output = invoke("--algo", "cem-rl,aes-rl", *words).output
    (line,) = [line for line in output.splitlines() if line.startswith("Updates of ")]
    assert line.split()[2] == "cem-rl"
    assert re.findall(r"batch_size (\d+)", output.replace("\n", " ")) == ["256", "100"]
    assert "Updates of " not in invoke("--algo", "cem-rl,aes-rl", "--set", "batch_size=256", *words).output
