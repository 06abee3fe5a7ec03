"""`erlbench list`: algorithms, environments, studies."""

import re

import pytest

from erlbench.envs import catalogue
from tests.calls import refuse, succeed
from tests.tables import cells


def lines_of(words):
    """What `erlbench list` prints, with single blanks."""
    return [" ".join(line.split()) for line in succeed("list", *words.split()).splitlines()]


def test_list_algorithms():
    assert {"td3", "cem", "cem-rl", "p-cem-rl", "aes-rl"} <= {line.split(" ")[0] for line in lines_of("algos")}
    lines = lines_of("algos aes-rl")
    assert {"aes-rl: 5 workers (--workers)", "Presets of aes-rl (--algo aes-rl@PRESET)"} <= {*lines}
    assert any(line.startswith("batch_size ") for line in lines)
    assert any(line.startswith("population ") for line in lines_of("algos algorithms.cem:CEM"))
    assert {"Profiles of aes-rl-figure-3", "total_timesteps = 1000000"} & {*lines_of("studies aes-rl-figure-3")}


MISTAKES = """
envs Hoper-v5@paper          | 'Hopper-v5'
envs Hopper-v5@papre         | 'paper'
algorithms                   | algos, envs, studies
machine core                 | 'core'
envs tests.faults:Nothing-v0 | Nothing-v0
"""


@pytest.mark.parametrize(("words", "named"), cells(MISTAKES))
def test_what_is_not_there_cannot_be_listed(words, named):
    refuse(named, "list", *words.split())


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("algos CEM-RL", ["cem-rl", "p-cem-rl", "multi-actor-td3"]),
        ("studies table aes-rl", ["aes-rl-table-1", "aes-rl-table-2", "aes-rl-table-3"]),
    ],
)
def test_words_filter_a_list(words, names):
    lines = lines_of(words)
    assert [name for name in names if any(line.startswith(f"{name} ") for line in lines)] == names
    assert not any(line.startswith(("td3 ", "Ant-v5 ")) for line in lines)


def test_list_environments(monkeypatch):
    assert {"Walker2d-v5 17 6 1000 @paper", "erlbench/CyclicMDP-v0 3 3 2000 discrete"} <= {*lines_of("envs")}
    assert {"Settings of Hopper-v5 (--env-set)", "healthy_z_range [0.7,inf]"} <= {*lines_of("envs -v")}
    monkeypatch.setattr(catalogue, "find_spec", lambda module: None)
    assert "extra box2d (not installed)" in succeed("list", "envs")


def test_an_environment_with_its_preset_is_listed_with_what_that_changes():
    lines = lines_of("envs Ant-v5@paper")
    assert lines[1].startswith("Ant-v5@paper 111 8 1000")
    assert "contact_cost_weight 0.0" in lines
    (changes,) = (line for line in lines if line.startswith("paper "))
    assert "84 observations" in changes


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
    run = tmp_path / "results/mine/function_sphere/cem/seed-001"
    run.mkdir(parents=True)
    (run / "status.json").write_text('{"status": "done"}')
    lines = [re.split(" {2,}", line.strip()) for line in succeed("list", "studies", "mine").splitlines()]
    assert lines[1] == ["mine", "-", "1 of 6", "The first is better."]
    assert ['more-by = "5 %"'] in lines
    seeds, done, missing, hours = lines[-1][1:]
    assert seeds == "3"
    assert done == "1"
    assert missing == "5"
    assert 0 < float(hours) < 100


def test_each_of_two_studies_of_one_name_is_listed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "studies.toml").write_text(MINE)
    for folder, title in (("a", "Mine"), ("b", "Other")):
        (tmp_path / "results" / folder).mkdir(parents=True)
        (tmp_path / "results" / folder / "study.toml").write_text(MINE.replace("Mine", title))
    lines = [re.split(" {2,}", line) for line in succeed("list", "studies", "mine").splitlines()]
    assert [line[0] for line in lines[1:3]] == ["mine in results/a", "mine in results/b"]
    assert 'title = "Other"' in succeed("list", "studies", lines[2][0])


def test_an_environment_of_others_is_shown_with_its_settings():
    lines = lines_of("envs tests.faults:Typed-v0")
    assert any(line.startswith("tests.faults:Typed-v0 ") for line in lines)
    assert "weights [0.1]" in lines
    refuse("whole numbers", "list", "envs", "tests.faults:Whole-v0")
