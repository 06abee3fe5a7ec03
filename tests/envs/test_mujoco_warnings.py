"""MuJoCo's warnings: silent about deprecated model files, loud about a simulation that blew up, no log file."""

from tests.calls import python


def test_making_an_environment_says_nothing_and_an_unstable_simulation_is_reported(tmp_path):
    code = (
        "import sys; from erlbench.envs.registry import make\n"
        "env = make('HalfCheetah-v5')[0].unwrapped; env.reset(seed=0)\n"
        "sys.stderr.write('made:'); env.data.qvel[:] = float('nan'); env.step(env.action_space.sample())\n"
    )
    # An exception inside MuJoCo's callback would abort the process, so warnings are made errors here.
    done = python("-W", "error::RuntimeWarning", "-c", code, cwd=tmp_path, check=True)
    assert (done.stdout, done.stderr.startswith("made:")) == ("", True)
    assert "The simulation is unstable" in done.stderr
    assert list(tmp_path.iterdir()) == []  # no MUJOCO_LOG.TXT
