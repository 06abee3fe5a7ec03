"""`erlbench list`: algorithms, environments, studies."""

from __future__ import annotations

import math
import re

import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.envs import catalogue
from erlbench.files import plain_values


def invoke(*words: object):
    return CliRunner().invoke(cli, [str(word) for word in words])


def test_list_algorithms():
    result = invoke("list", "algos")
    assert result.exit_code == 0
    rows = {line.split()[0]: line for line in result.stdout.splitlines()}
    assert {"td3", "cem", "cem-rl", "p-cem-rl", "aes-rl"} <= set(rows)
    one = [" ".join(line.split()) for line in invoke("list", "algos", "aes-rl").stdout.splitlines()]
    assert "aes-rl: 5 workers (--workers)" in one
    assert "Presets of aes-rl (--algo aes-rl@PRESET)" in one
    assert any(line.startswith("batch_size ") for line in one)
    assert not any("td3 (--set" in line for line in one)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["algos", "cma-es", "cem"], ["cma-es", "cem"]),
        (["algos", "CEM-RL"], ["cem-rl", "p-cem-rl", "multi-actor-td3"]),
        (["envs", "hopper"], ["Hopper-v4", "Hopper-v5"]),
        (["studies", "table", "aes-rl"], ["aes-rl-table-1", "aes-rl-table-2", "aes-rl-table-3"]),
    ],
)
def test_words_filter_a_list(words, names):
    lines = invoke("list", *words).stdout.splitlines()
    assert [name for name in names if any(line.startswith(f"{name} ") for line in lines)] == names
    assert not any(line.startswith(("td3 ", "Ant-v5 ")) for line in lines)


def test_a_class_is_listed_as_run_takes_it():
    lines = invoke("list", "algos", "algorithms.cem:CEM").stdout
    assert "Settings of algorithms.cem:CEM (--set SETTING=VALUE)" in lines
    assert "population" in lines


def test_a_word_that_nothing_has():
    result = invoke("list", "envs", "Hoper-v5")
    assert result.exit_code == 2
    assert "did you mean 'Hopper-v5'?" in result.stderr


def test_list_environments():
    result = invoke("list", "envs")
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "Walker2d-v5 17 6 1000 @paper" in lines
    assert "erlbench/CyclicMDP-v0 3 3 2000 discrete" in lines
    verbose = invoke("list", "envs", "-v").stdout
    assert "Settings of Hopper-v5 (--env-set)" in verbose
    assert "healthy_z_range" in verbose


def test_defaults_of_an_environment_are_shown_as_they_are_given():
    lines = [
        " ".join(line.split())
        for line in invoke("list", "envs", "Walker2d-v5", "HumanoidStandup-v5").stdout.splitlines()
    ]
    assert "healthy_z_range [0.8,2.0]" in lines
    assert "impact_cost_range [-inf,10.0]" in lines
    assert "exclude_current_positions_from_observation true" in lines
    assert "camera_name" in lines  # None is nothing that can be given
    shown = dict(line.split(" ", 1) for line in lines if line.startswith(("healthy", "impact", "exclude", "xml_file")))
    assert plain_values(shown)["healthy_z_range"] == [0.8, 2.0]
    assert plain_values(shown)["impact_cost_range"] == [-math.inf, 10.0]
    assert plain_values(shown)["exclude_current_positions_from_observation"] is True


@pytest.mark.parametrize(
    ("name", "row", "changes"),
    [
        ("Hopper-v5@paper", "Hopper-v5@paper 11 3 1000", "paper reward +1 on the step that terminates an episode"),
        (
            "Ant-v5@paper",
            "Ant-v5@paper 111 8 1000",
            "paper include_cfrc_ext_in_observation=false, contact_cost_weight=0.0, "
            "reward +1 on the step that terminates an episode, 84 observations added, always 0",
        ),
        (
            "Reacher-v5@paper",
            "Reacher-v5@paper 11 2 50",
            "paper a step pays for the state that it starts from, 1 observation added, always 0",
        ),
        ("Swimmer-v5@v5", "Swimmer-v5 8 2 1000", "v5 nothing"),
    ],
)
def test_an_environment_with_its_preset_is_listed_with_what_that_changes(name, row, changes):
    result = invoke("list", "envs", name)
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[1].startswith(row)
    assert changes in lines
    assert ("contact_cost_weight 0.0" in lines) == name.startswith("Ant")
    assert sum(line.startswith("paper ") for line in lines) == 1


def test_a_preset_that_an_environment_lacks_is_not_listed():
    result = invoke("list", "envs", "Hopper-v5@papre")
    assert result.exit_code == 2
    assert "'papre'; did you mean 'paper'?" in result.stderr
    assert "did you mean 'Hopper-v5'?" in invoke("list", "envs", "Hoper-v5@paper").stderr


def test_a_missing_extra_does_not_keep_environments_from_being_listed(monkeypatch):
    monkeypatch.setattr(catalogue, "find_spec", lambda module: None)
    result = invoke("list", "envs", "-v")
    assert result.exit_code == 0
    assert "extra box2d (not installed)" in result.stdout
    assert "extra dm-control (not installed)" in result.stdout
    assert "Settings of dm_control" not in result.stdout


def test_list_studies():
    result = invoke("list", "studies", "aes-rl-figure-3", "esac-table-1", "goodai-lander")
    assert result.exit_code == 0
    assert "Profiles of aes-rl-figure-3" in result.stdout
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "total_generations = 300" in lines
    assert any(line.startswith("paper 5 0 45 ") for line in lines)


MINE = """\
[studies.mine]
title = "Mine"
claim = "The first is better."
envs = ["function:sphere"]
seeds = 3
total_timesteps = 1_000_000
entries = [{ algo = "cma-es" }, { algo = "cem" }]
compare = [{ first = "cma-es", second = "cem", metric = "curve", from = 100, to = 900_000, more-by = "5 %" }]
"""


def test_a_study_is_listed_with_its_claim_its_runs_and_their_price(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "studies.toml").write_text(MINE)
    run = tmp_path / "results" / "mine" / "function_sphere" / "cem" / "seed-001"
    run.mkdir(parents=True)
    (run / "status.json").write_text('{"status": "done"}')
    lines = [re.split(" {2,}", line.strip()) for line in invoke("list", "studies", "mine").stdout.splitlines()]
    assert lines[1] == ["mine", "-", "1 of 6", "The first is better."]
    assert ['more-by = "5 %"'] in lines
    seeds, done, missing, hours = lines[-1][1:]
    assert (seeds, done, missing) == ("3", "1", "5")
    assert 0 < float(hours) < 100


def test_list_nothing_known():
    result = invoke("list", "algorithms")
    assert result.exit_code == 2
    assert "algos, envs, studies" in result.stderr


def test_an_environment_of_others_is_shown_with_its_settings_and_their_kinds():
    result = CliRunner().invoke(cli, ["list", "envs", "tests.faults:Typed-v0"])
    assert result.exit_code == 0
    assert "2 numbers" in result.output
    lines = {line.split()[0]: line for line in result.output.splitlines() if line.strip()}
    assert "a whole number" in lines["body"]
    assert "[0.1]" in lines["weights"]
    assert "made by" in result.output
    result = CliRunner().invoke(cli, ["list", "envs", "tests.faults:Whole-v0"])
    assert "whole numbers" in result.output
    assert CliRunner().invoke(cli, ["list", "envs", "tests.faults:Nothing-v0"]).exit_code == 2
