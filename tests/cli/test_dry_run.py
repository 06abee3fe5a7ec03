"""`erlbench run --dry-run`: what it prints, and what it finds before anything starts."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from erlbench.algorithms import registry
from erlbench.cli import cli
from erlbench.envs import catalogue


def invoke(*words: str):
    return CliRunner().invoke(cli, ["run", *words])


def test_all_extras_that_a_study_needs_are_named_before_anything_starts(tmp_path, monkeypatch):
    absent = {"stable_baselines3", "dm_control", "Box2D"}
    known = registry.importlib.util.find_spec
    for where in (registry.importlib.util, catalogue):
        monkeypatch.setattr(where, "find_spec", lambda name: None if name in absent else known(name))
    words = ["--study", "esac-table-1", "--profile", "paper", "--dry-run", "--out", str(tmp_path)]
    result = invoke(*words)
    assert result.exit_code == 2
    assert result.stderr == (
        "erlbench: packages are missing for ppo, LunarLanderContinuous-v3, dm_control/humanoid-stand-v0; install them "
        "by: pip install 'erlbench[ppo,box2d,dm-control]'\n"
    )
    result = invoke(*words, "--env", "Hopper-v5@paper")
    assert result.exit_code == 2
    assert result.stderr.endswith(": pip install 'erlbench[ppo]'\n")
    assert invoke(*words, "--env", "Hopper-v5@paper", "--algo", "esac").exit_code == 0
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_shows_everything_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke("--algo", "aes-rl", "--env", "Hopper-v5,Walker2d-v5", "--total-timesteps", "20000", "--dry-run")
    assert result.exit_code == 0
    assert "Settings of aes-rl on Hopper-v5\n" in result.stdout
    # The paper's range differs.
    assert "aes-rl on Walker2d-v5: as above, but fitness_range=800.0, baseline=800.0\n" in result.stdout
    assert "results/Walker2d-v5/aes-rl/seed-000" in result.stdout
    for word in ("memory", "disk", "processes", "Nothing was run or written."):
        assert word in result.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "heading", "wall"),
    [
        ("--seeds 1 --processes 1 --jobs 8", "1 cell", "with 1 process and 1 cell at once"),
        ("--seeds 3 --processes 2 --jobs 8", "3 cells", "with 2 processes and 3 cells at once"),
        ("--seeds 3 --processes 2", "3 cells", "with 2 processes and 1 cell at once"),
        ("--seeds 8", "8 cells", "with 4 cores and 4 cells at once"),
    ],
)
def test_a_dry_run_counts_the_cells_that_run_at_once(words, heading, wall, monkeypatch):
    monkeypatch.setattr("erlbench.experiment.command.cores", lambda: 4)
    monkeypatch.setattr("erlbench.running.command.available_memory", lambda: 64e9)
    result = invoke("--algo", "cem", "--env", "Swimmer-v5", "--dry-run", *words.split())
    assert result.exit_code == 0, result.stderr
    assert heading in result.stdout.splitlines()
    assert wall in result.stdout
