"""Python files beside the results: a command that names none of them runs none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reporting.make_runs import make_run

ERLBENCH = Path(sys.executable).with_name("erlbench")
PROBED = (
    "org msvcrt winreg _winapi cuda cython torchcomms unicodedata2 uharfbuzz pynvml pydot cffi monkeytype numba "
    "numexpr bottleneck xarray IPython dill._dill2 tensorflow jax sitecustomize usercustomize"
)
ENVIRONMENT = """
import helper
import gymnasium
gymnasium.register("Mine-v0", "implementation:Mine", max_episode_steps=20)
"""
IMPLEMENTATION = """
from gymnasium.envs.classic_control.pendulum import PendulumEnv
def lazily():
    import later
class Mine(PendulumEnv):
    def reset(self, **more):
        lazily()
        return super().reset(**more)
"""
ALGORITHM = """
import helper
from dataclasses import dataclass
from erlbench.algorithms.cem import CEM, CEMSettings
@dataclass(frozen=True)
class MySettings(CEMSettings):
    pass
class MyCEM(CEM):
    settings_type = MySettings
"""


def run(folder, program, *words, code=0):
    environment = {**os.environ, "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run(
        [*program, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert result.returncode == code, result.stderr[-2000:]
    return result.stdout


@pytest.mark.parametrize(
    ("program", "words", "code"),
    [([ERLBENCH], ["report", "results"], 0), ([sys.executable, "-m", "erlbench"], ["verify", "results"], 1)],
)
def test_a_command_runs_no_file_that_libraries_look_for(tmp_path, program, words, code):
    make_run(tmp_path / "results", "Hopper-v5", "td3", 0, [1.0, 2.0])
    for name in PROBED.split():
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'a').write({name!r} + ' ')\n")
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\nbackend: module://org\n")
    information = tmp_path / "evil-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1\n")
    (information / "entry_points.txt").write_text(
        "[gymnasium.envs]\n__root__ = org\n[erlbench.algorithms]\nx = org:X\n"
    )
    run(tmp_path, program, *words, code=code)
    assert not (tmp_path / "sprung").exists(), (tmp_path / "sprung").read_text()


@pytest.mark.slow
def test_a_module_that_the_command_names_is_found_with_what_it_imports(tmp_path):
    for name, text in (
        ("environment", ENVIRONMENT), ("implementation", IMPLEMENTATION), ("algorithm", ALGORITHM), ("helper", ""),
        ("later", ""), ("erlbench", f"open({str(tmp_path / 'sprung')!r}, 'a')"),
    ):  # fmt: skip
        (tmp_path / f"{name}.py").write_text(text)
    words = "run --algo algorithm:MyCEM --env environment:Mine-v0 --total-timesteps 100 --eval-episodes 1 --processes 1"
    run(tmp_path, [ERLBENCH], *words.split(), "--set", "population=4", "--set", "elites=2", "--set", "hidden=8")
    (place,) = (tmp_path / "results").glob("environment*/MyCEM/seed-000")
    output = run(tmp_path, [ERLBENCH], "verify", place, "--import", "--again", "0")
    assert "cannot be verified" not in output.partition("again")[2]
    assert not (tmp_path / "sprung").exists(), "a file named as the suite was run"
