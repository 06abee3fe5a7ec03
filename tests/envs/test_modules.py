"""Environments of a module in the current folder, as the installed command finds them, in every process."""

import gymnasium
import pytest

from erlbench.envs.registry import make
from erlbench.errors import UsageError
from tests.calls import python

MODULE = """
import gymnasium
from gymnasium.envs.classic_control import PendulumEnv
gymnasium.register("Mine-v0", PendulumEnv, max_episode_steps=10)
"""
JUMPING = """
from gymnasium.envs.classic_control import PendulumEnv

class Jumping(PendulumEnv):
    pass
"""


def run(folder, *more):
    # As the console script: with the folder of the script, not the current one, on the path.
    code = f"import sys; sys.path = [p for p in sys.path if p not in ('', {str(folder)!r})]\n"
    code += "from erlbench.__main__ import main; main()"
    words = "run --algo cem --total-timesteps 50 --set hidden=8"
    return python("-c", code, *words.split(), *more, cwd=folder)


def test_a_module_in_the_current_folder_is_found_by_the_workers_too_and_its_settings_are_known(tmp_path):
    (tmp_path / "mine.py").write_text(MODULE)
    done = run(tmp_path, "--env", "mine:Mine-v0", "--processes", "1", "--eval-episodes", "1", "--env-set", "g=9.5")
    assert done.returncode == 0, done.stderr
    assert "done" in done.stderr


def test_classes_of_one_name_in_two_modules_are_two_environments(write_module):
    for module in ("first_pendulums", "second_pendulums"):
        write_module(module, JUMPING)
    for module in ("first_pendulums", "second_pendulums", "first_pendulums"):
        assert type(make(f"{module}:Jumping", 9)[0].unwrapped).__module__ == module


def test_one_id_of_two_modules_is_two_environments(write_module):
    names = ("first_registered", "second_registered")
    for module in names:
        write_module(module, f"{JUMPING}\nimport gymnasium\ngymnasium.register('Twice-v0', '{module}:Jumping')\n")
    try:
        for module in (*names, *names):
            assert type(make(f"{module}:Twice-v0", 9)[0].unwrapped).__module__ == module
    finally:
        del gymnasium.registry["Twice-v0"]


def test_another_module_s_id_takes_the_place_of_no_class_where_an_environment_is_made(write_module):
    write_module("leaping", JUMPING.replace("Jumping", "Leaping"))
    gymnasium.register("Leaping-v0", "leaping:Leaping")
    try:
        with pytest.raises(UsageError, match="no version"):
            make("leaping:Leaping", 9)
    finally:
        del gymnasium.registry["Leaping-v0"]


def test_a_module_that_is_not_here_is_told_with_what_to_do(tmp_path):
    done = run(tmp_path, "--env", "mine:Mine-v0")
    assert done.returncode == 2
    assert "No module named 'mine'; start from its folder, or set PYTHONPATH" in done.stderr
    (tmp_path / "mine.py").write_text("")
    assert "typed without .py" in run(tmp_path, "--env", "mine.py:Mine-v0").stderr
    (tmp_path / "mine.py").write_text("import not_here\n")
    done = run(tmp_path, "--env", "mine:Mine-v0")
    assert "No module named 'not_here'" in done.stderr
    assert "PYTHONPATH" not in done.stderr
