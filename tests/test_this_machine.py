"""`erlbench list machine`: what it finds on this machine, and what it advises where something is missing."""

import configparser
from collections import namedtuple
from pathlib import Path

import pytest

from erlbench import playing, this_machine
from erlbench.machine.process import cores
from erlbench.words import counted
from tests.calls import call, python, succeed

SETUP = Path(__file__).parents[1] / "setup.cfg"
DEVELOPERS = {"dev", "docs", "bench"}


def findings():
    return {finding.what: finding for finding in this_machine.examine()}


def test_every_extra_for_users_is_looked_for():
    config = configparser.ConfigParser()
    config.read(SETUP)
    assert set(this_machine.EXTRAS) == set(config["options.extras_require"]) - DEVELOPERS


def test_it_advises(monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(this_machine.shutil, "disk_usage", lambda path: usage(2**26, 0, 2**26))  # Docker's 64 MiB
    monkeypatch.setattr(this_machine, "find_spec", lambda name: None)
    monkeypatch.setattr(playing, "can_draw", lambda backend: False)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    found = findings()
    assert f"{counted(cores(), 'core')} for this process" in succeed("list", "machine")
    assert found["shared memory"].advice == "free some; in a container: docker run --shm-size=2g"
    assert found["extra box2d"].advice == "pip install 'erlbench[box2d]'"
    assert found["films"].advice == "sudo apt install libegl1 or libosmesa6"
    assert found["window"].advice == "erlbench play RUN --video film.mp4"


@pytest.mark.slow
def test_a_renderer_that_mujoco_does_not_know_stops_every_run(monkeypatch):
    """MuJoCo then cannot be imported; the commands say so, without a traceback, and so does `list machine`."""
    monkeypatch.setenv("MUJOCO_GL", "foo")
    assert findings()["films"].serious
    assert call("list", "machine").exit_code == 1
    words = "-m erlbench run --algo cem --env InvertedPendulum-v5 --dry-run"
    done = python(*words.split())
    assert done.returncode == 2
    assert "MUJOCO_GL: foo" in done.stderr
