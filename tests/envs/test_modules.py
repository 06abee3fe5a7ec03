"""Environments of a module in the current folder, as the installed command finds them, in every process."""

import pytest

from erlbench.envs.registry import problem
from erlbench.errors import UsageError
from tests.calls import python

SKIPPING = """
import gymnasium
from gymnasium.envs.classic_control import PendulumEnv

class Skipping(PendulumEnv):
    def __init__(self, frame_skip: int = 4, goal: float = 0.0):
        super().__init__()

gymnasium.register("Skipping-v0", Skipping, max_episode_steps=10)
"""
MODULE = """
import gymnasium
from gymnasium.envs.classic_control import PendulumEnv
gymnasium.register("Mine-v0", PendulumEnv, max_episode_steps=10)
"""


def run(folder, *more):
    # As the console script: with the folder of the script, not the current one, on the path.
    code = f"import sys; sys.path = [p for p in sys.path if p not in ('', {str(folder)!r})]\n"
    code += "from erlbench.__main__ import main; main()"
    words = "run --algo cem --total-timesteps 50 --set hidden=8"
    return python("-c", code, *words.split(), *more, cwd=folder)


def test_a_module_in_the_current_folder_is_found_by_the_workers_too(tmp_path):
    (tmp_path / "mine.py").write_text(MODULE)
    done = run(tmp_path, "--env", "mine:Mine-v0", "--processes", "1", "--eval-episodes", "1")
    assert done.returncode == 0, done.stderr
    assert "done" in done.stderr


def test_an_environment_of_a_module_has_its_own_settings(tmp_path, monkeypatch):
    """Once none of them was known, and `frame_skip` repeated each action instead."""
    (tmp_path / "skipping.py").write_text(SKIPPING)
    monkeypatch.syspath_prepend(tmp_path)
    found = problem("skipping:Skipping-v0", {"frame_skip": 2, "goal": 0.1})
    assert (found.env.kwargs, found.env.action_repeat) == ({"frame_skip": 2, "goal": 0.1}, 1)
    with pytest.raises(UsageError, match="'gaol'; did you mean 'goal'"):
        problem("skipping:Skipping-v0", {"gaol": 0.1})
    with pytest.raises(UsageError, match="did you mean 'skipping:Skipping-v0'"):
        problem("skipping:Skipping", {"max_episode_steps": 9})


def test_a_module_that_is_not_here_is_told_with_what_to_do(tmp_path):
    done = run(tmp_path, "--env", "mine:Mine-v0")
    assert done.returncode == 2
    assert "No module named 'mine'; start from its folder, or set PYTHONPATH" in done.stderr
    (tmp_path / "mine.py").write_text("import not_here\n")
    done = run(tmp_path, "--env", "mine:Mine-v0")
    assert "No module named 'not_here'" in done.stderr
    assert "PYTHONPATH" not in done.stderr
