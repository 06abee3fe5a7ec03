"""Runs whose settings ask for endless steps, and large files: an answer in time, signals that work, little memory."""

import multiprocessing
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import tomli_w

from erlbench.verification import UNKNOWN, comparison
from erlbench.verification.comparison import run_again
from tests.calls import refuse
from tests.processes import wait_for
from tests.runs import heed_interrupts, make_cell, run, verify

ERLBENCH = Path(sys.executable).with_name("erlbench")
SMALL = {"population": 4, "elites": 2}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run of a robot that is done."""
    cell = make_cell("cem", tmp_path_factory.mktemp("whole"), "Hopper-v5", steps=200, settings=SMALL)
    assert run(cell) == 0
    return cell.directory


@pytest.fixture
def changed(whole, tmp_path):
    """Copy the run, with other settings of its environment."""

    def change(**settings):
        folder = Path(shutil.copytree(whole, tmp_path / "changed"))
        config = tomllib.loads((folder / "config.toml").read_text())
        config["run"].pop("workers", None)  # which the command line gives to no run of this algorithm
        (folder / "config.toml").write_text(tomli_w.dumps({**config, "env_settings": settings}))
        return folder

    return change


def policies(folder):
    return [check for check in verify(folder) if check.name in ("policy", "policies")]


@pytest.fixture
def endless(changed):
    """The run with a step that takes a day, all of it in C."""
    return changed(frame_skip=1_000_000_000)


@pytest.mark.slow
def test_a_step_that_does_not_end_is_named_with_the_seconds(endless, monkeypatch):
    monkeypatch.setattr(comparison, "SECONDS", 3.0)
    monkeypatch.setattr(comparison, "STEPS_PER_SECOND", 1e9)
    monkeypatch.setattr(comparison, "LONGEST", 5.0)
    monkeypatch.setattr("erlbench.cli.play.LONGEST", 3.0)
    begun = time.monotonic()
    assert {(check.outcome, "within 3 s" in check.text) for check in policies(endless)} == {(UNKNOWN, True)}
    again = run_again(endless, 0)
    assert again.outcome == UNKNOWN
    assert "within 5 s" in again.text
    assert not multiprocessing.active_children()
    assert "--seconds" not in refuse("budget of 3 s", "play", endless, "--no-video")  # an option that is gone
    assert time.monotonic() - begun < 240


def test_episodes_are_played_no_longer_than_they_were(changed):
    folder = changed(max_episode_steps=10**9, terminate_when_unhealthy=False)
    assert all("not" in check.text or check.outcome != UNKNOWN for check in policies(folder))


@pytest.mark.parametrize(
    ("words", "number"), [(["verify"], signal.SIGINT), (["play", "--no-video"], signal.SIGTERM)], ids=["verify", "play"]
)
def test_a_signal_ends_a_command_in_a_step_that_does_not_end(endless, words, number):
    line = [ERLBENCH, *words, endless]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    process = psutil.Popen(line, **pipes, preexec_fn=heed_interrupts)
    family = []

    def spins():
        """Whether another process than the first has used the processor for long, as a step that does not end does."""
        family[:] = process.children(recursive=True)
        with suppress(psutil.NoSuchProcess):
            return any(child.cpu_times().user > 3 for child in family)
        return False

    try:
        wait_for(spins, 120)
        process.send_signal(number)
        assert process.wait(60) == 130
        assert psutil.wait_procs(family, 30)[1] == []
    finally:
        for child in family:
            with suppress(psutil.NoSuchProcess):
                child.kill()
