"""The table of other packages' environments: what is printed of one that trains, and of one that is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.third_party import ENVIRONMENTS, OF_MUJOCO, REFUSED, TRAINS, Tried, table, tried

SCRIPTS = Path(sys.executable).parent  # of the environment that the tests run in


@pytest.mark.slow
def test_an_environment_is_trained_three_times_and_compared(tmp_path):
    now = tried(Tried("Gymnasium", "CartPole-v1", "trained"), SCRIPTS, tmp_path / "runs")
    assert now.startswith(TRAINS)
    done = sorted(path.parents[2].parent.name for path in (tmp_path / "runs").rglob("policy.safetensors"))
    assert done == ["killed", "one", "two"]


@pytest.mark.slow
def test_a_refusal_is_quoted(tmp_path):
    now = tried(Tried("Gymnasium", "CartPole-v99", "refused"), SCRIPTS, tmp_path / "runs")
    assert now.startswith(REFUSED)
    assert "CartPole-v99" in now


def test_at_least_twenty_environments_of_ten_packages_are_tried():
    assert len(ENVIRONMENTS) >= 20
    assert len({one.package for one in ENVIRONMENTS}) >= 10
    assert {one.mujoco for one in ENVIRONMENTS} == set(OF_MUJOCO)
    assert len({one.folder for one in ENVIRONMENTS}) == len(ENVIRONMENTS)


def test_the_table_names_settings_that_choose_the_task():
    chosen = Tried("a", "b:c-v0", "x", ("level=3", "max_episode_steps=9"))
    lines = list(table({chosen: "refused: one | two; try three"}))
    assert lines[2] == "| a, `b:c-v0` `level=3` | x | refused: one / two |"
