"""`erlbench doctor`: what it finds on this machine, and what it advises where something is missing."""

from __future__ import annotations

import configparser
from collections import namedtuple
from pathlib import Path

from click.testing import CliRunner

from erlbench import doctor
from erlbench.cli import cli
from erlbench.playing import renderer
from erlbench.resources import cores

SETUP = Path(__file__).parents[1] / "setup.cfg"
DEVELOPERS = {"dev", "docs", "bench"}


def findings() -> dict[str, doctor.Finding]:
    return {finding.what: finding for finding in doctor.examine()}


def test_it_tells_what_is_there():
    result = CliRunner().invoke(cli, ["doctor"])
    assert result.exit_code == 0
    assert f"{cores()} cores for this process" in result.stdout
    assert "shared memory" in result.stdout


def test_every_extra_for_users_is_looked_for():
    config = configparser.ConfigParser()
    config.read(SETUP)
    assert set(doctor.EXTRAS) == set(config["options.extras_require"]) - DEVELOPERS


def test_it_advises(monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: usage(2**26, 0, 2**26))  # Docker's 64 MiB
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    monkeypatch.setattr(renderer, "works", lambda backend: False)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    found = findings()
    assert found["shared memory"].advice == "free some; in a container: docker run --shm-size=2g"
    assert found["extra box2d"].advice == "pip install 'erlbench[box2d]'"
    assert found["films"].advice == "sudo apt install libegl1 or libosmesa6"
    assert found["window"].advice == "erlbench play RUN --video film.mp4"


def test_runs_need_shared_memory(monkeypatch):
    monkeypatch.setattr(doctor.os, "access", lambda path, mode: False)
    assert findings()["shared memory"].serious
    assert CliRunner().invoke(cli, ["doctor"]).exit_code == 1
