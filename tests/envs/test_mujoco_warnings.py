"""MuJoCo's warnings: silent about deprecated model files, loud about a simulation that blew up, no log file."""

import subprocess
import sys
from pathlib import Path

import pytest

MAKE = "from erlbench.envs.registry import make; env = make('{}')[0].unwrapped; env.reset(seed=0)"
BLOW_UP = "; env.data.qvel[:] = float('nan'); env.step(env.action_space.sample())"


def run(code: str, folder: Path) -> str:
    """What a Python process that runs the code in the folder prints to standard error."""
    # An exception inside MuJoCo's callback would abort the process, so warnings are made errors here.
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    assert list(folder.iterdir()) == []  # no MUJOCO_LOG.TXT
    return done.stderr


@pytest.mark.parametrize("env", ["HalfCheetah-v5", "Hopper-v5"])
def test_making_an_environment_prints_nothing(env: str, tmp_path: Path) -> None:
    assert run(MAKE.format(env), tmp_path) == ""


def test_an_unstable_simulation_is_still_reported(tmp_path: Path) -> None:
    assert "The simulation is unstable" in run(MAKE.format("Hopper-v5") + BLOW_UP, tmp_path)


def test_what_a_model_has_that_will_go_is_said_once(tmp_path: Path) -> None:
    """By whoever describes the environment: the driver asks once, workers only make it."""
    describe = "from erlbench.envs.registry import describe_problem; print(describe_problem('{}').deprecated)"
    command = [sys.executable, "-c", describe.format("HalfCheetah-v5") + ";" + MAKE.format("HalfCheetah-v5")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.count("settotalmass") == 1
    assert done.stderr == ""
    command = [sys.executable, "-c", describe.format("Hopper-v5")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "()\n"
