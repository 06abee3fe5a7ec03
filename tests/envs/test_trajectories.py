"""Gymnasium's robots move as recorded with the version of MuJoCo that the reference runs have."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from benchmarks.trajectories import ROBOTS, VERSION, differences, recorded_by, table, trajectories

RECORDED = Path(__file__).with_name("trajectories-mujoco-3.17.0.npz")
ROUNDING, SOLVER = 1e-12, 1e-3  # after the first step: of the same version on another processor, of another version


@pytest.fixture(scope="module")
def recorded():
    with np.load(RECORDED) as found:
        return dict(found)


@pytest.mark.parametrize("robot", ROBOTS)
def test_the_robot_moves_as_recorded(robot, recorded):
    seeds, steps, _ = recorded[robot].shape
    found = trajectories(robot, seeds, steps)
    assert found.shape == recorded[robot].shape
    apart = np.abs(found - recorded[robot]).max(axis=(0, 2))
    same = mujoco.__version__ == str(recorded[VERSION])
    assert apart[0] <= (ROUNDING if same else SOLVER)
    if same:
        assert apart[-1] <= 1e-6 * np.abs(recorded[robot]).max()


def test_all_robots_of_version_5_are_compared():
    from erlbench.envs.registry import MUJOCO

    assert sorted(f"{robot}-v5" for robot in ROBOTS) == sorted(MUJOCO)


def test_differences_are_the_largest_of_any_number_after_each_step(recorded):
    changed = {name: values.copy() for name, values in recorded.items()}
    changed["Hopper"][1, 3, 0] += 0.5
    changed["Hopper"][0, 3, -1] -= 2.0  # a reward
    apart = differences(recorded, changed)
    assert apart["Hopper"].tolist() == pytest.approx([0, 0, 0, 2.0, 0, 0, 0, 0, 0, 0])
    assert not any(values.any() for robot, values in apart.items() if robot != "Hopper")
    assert len(table(recorded, changed)) == 2 + len(ROBOTS)


def test_an_interpreter_records_in_a_process_of_its_own():
    import sys

    found = recorded_by(sys.executable, seeds=1, steps=2)
    assert str(found[VERSION]) == mujoco.__version__
    assert np.array_equal(found["Swimmer"], trajectories("Swimmer", 1, 2))
