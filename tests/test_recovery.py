"""Real commands, real signals: a run that is interrupted or killed goes on and ends with the same rows."""

import os
import signal
import subprocess
import sys

import pytest

from tests.processes import alive, command, lines, processes_below, stores_of, wait_for
from tests.runs import all_rows, heed_interrupts, write_options

ARGUMENTS = (
    "--algo", "cem-rl", "--env", "InvertedPendulum-v5", "--total-timesteps", "3000", "--processes", "2",
    "--eval-freq", "500", "--eval-episodes", "2", "--set", "hidden=32-32", "--set", "batch_size=32",
    "--set", "start_timesteps=300", "--device", "cpu",
)  # fmt: skip


def start(out):
    config = write_options(out.with_name(f"{out.name}.toml"), checkpoint_every=0.2)
    words = [sys.executable, "-m", "erlbench", "run", *ARGUMENTS, "--config", config, "--out", str(out)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(words, text=True, preexec_fn=heed_interrupts, **pipes)


def folder(out):
    return out / "InvertedPendulum-v5" / "cem-rl" / "seed-000"


def workers(pid):
    """The descendants that use processor time: the workers, not their helpers."""
    return [below for below in processes_below(pid) if "forkserver" in command(below)][1:]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The rows of an uninterrupted run."""
    out = tmp_path_factory.mktemp("whole")
    process = start(out)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    return all_rows(folder(out))


@pytest.mark.usefixtures("temporary_folder")
def test_killed_workers_and_a_killed_driver_change_no_row(tmp_path, whole):
    process = start(tmp_path)
    episodes = folder(tmp_path) / "episodes.csv"
    for count in (60, 90):
        wait_for(lambda count=count: lines(episodes) > count)
        os.kill(workers(process.pid)[0], signal.SIGKILL)
    wait_for(lambda: lines(episodes) > 120)
    family, stores = processes_below(process.pid), stores_of(process.pid)
    assert stores
    process.kill()
    process.wait()
    wait_for(lambda: not alive(family))
    assert lines(episodes) < len(whole["episodes.csv"])
    again = start(tmp_path)
    _, errors = again.communicate(timeout=600)
    assert again.returncode == 0, errors
    assert all_rows(folder(tmp_path)) == whole
    events = (folder(tmp_path) / "events.csv").read_text()
    assert events.count("worker died") >= 2
    assert "resumed" in events
    assert not any(store.exists() for store in stores)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupted_run_says_how_to_go_on_and_does(tmp_path, whole, number):
    process = start(tmp_path)
    wait_for(lambda: lines(folder(tmp_path) / "episodes.csv") > 70)
    family = processes_below(process.pid)
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "To go on:\n" in errors
    assert "Traceback" not in errors
    wait_for(lambda: not alive(family))
    assert '"interrupted"' in (folder(tmp_path) / "status.json").read_text()
    again = start(tmp_path)
    again.communicate(timeout=600)
    assert again.returncode == 0
    assert all_rows(folder(tmp_path)) == whole
