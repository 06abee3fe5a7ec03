"""MuJoCo's warnings: silent about deprecated model files, loud about a simulation that blew up, no log file."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(("env", "deprecated"), [("HalfCheetah-v5", True), ("Hopper-v5", False)])
def test_making_says_nothing_describing_names_what_will_go_and_an_unstable_simulation_is_reported(
    env, deprecated, tmp_path
):
    """The driver describes an environment once; workers only make it."""
    code = (
        "import sys; from erlbench.envs.registry import describe_problem, make\n"
        f"env = make('{env}')[0].unwrapped; env.reset(seed=0); print(describe_problem('{env}').deprecated)\n"
        "sys.stderr.write('made:'); env.data.qvel[:] = float('nan'); env.step(env.action_space.sample())\n"
    )
    # An exception inside MuJoCo's callback would abort the process, so warnings are made errors here.
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.count("settotalmass") == deprecated
    assert done.stderr.startswith("made:")
    assert "The simulation is unstable" in done.stderr
    assert list(tmp_path.iterdir()) == []  # no MUJOCO_LOG.TXT
