"""`erlbench forecast`: which numbers of processes it takes, and algorithms whose tasks have other kinds."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from erlbench.cli import cli

CEM = ["--algo", "cem", "--env", "InvertedPendulum-v5", "--steps", "2000"]


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
    assert errors.startswith("Errors of such forecasts")


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
    assert f"there is no forecast for {algo}; " in result.stderr


def test_episodes_that_nobody_can_have_played(tmp_path):
    (tmp_path / "episodes.csv").write_text("l\n" + "9" * 400 + "\n")
    result = invoke(*CEM, "--from-run", str(tmp_path), "--processes", "2")
    assert result.exit_code == 2
    assert "of more than 1,000,000,000" in result.stderr


def test_many_generations_of_openai_es():
    """The sums of noise are freed as those of a real run are."""
    words = ["forecast", "--algo", "openai-es", "--env", "InvertedPendulum-v5", "--set", "population=4"]
    words += ["--set", "hidden=4", "--steps", "400000", "--processes", "1"]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output


def test_one_environment_is_forecast_at_a_time():
    result = CliRunner().invoke(cli, ["forecast", "--algo", "cem-rl", "--env", "HalfCheetah-v5,Hopper-v5"])
    assert (result.exit_code, "one environment is forecast at a time" in result.stderr) == (2, True)
