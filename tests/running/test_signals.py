"""Signals: answered within a second in the middle of whatever runs, by exit code 130 and without a traceback."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from erlbench.running.command import catch_signals
from tests.calls import python
from tests.campaign.trials import finish, start, write_config
from tests.processes import wait_for
from tests.runs import check_same_as_whole, make_cell

ANSWER = 1.0  # seconds from the signal to the end of the command, the end of Python and of the workers included
SLACK = 3.0  # for machines that do other things, too; the step takes 30 seconds
ENV = "tests.environments:Stuck-v0"
SETTINGS = {"cem": {"population": 4, "elites": 2}, "td3": {"start_timesteps": 8, "batch_size": 8, "hidden": (8, 8)}}


@pytest.mark.slow
@pytest.mark.parametrize(("algo", "processes", "where"), [("cem", 0, "step"), ("cem", 1, "making"), ("td3", 1, "step")])
def test_a_signal_is_answered_while_a_step_takes_half_a_minute(tmp_path, monkeypatch, algo, processes, where):
    """Steps of C code, which Python cannot interrupt, of rollouts and of gradient tasks, with and without processes."""
    cell = make_cell(algo, tmp_path / "results", env=ENV, steps=60, eval_freq=1000, settings=SETTINGS[algo])
    config = write_config(cell, tmp_path / "config.toml")
    words = ("--config", config, "--out", tmp_path / "results", "--processes", processes)
    stuck = tmp_path / "stuck"
    monkeypatch.setenv("STUCK", str(stuck))
    monkeypatch.setenv("STUCK_IN", where)
    process = start(*words)
    wait_for(lambda: stuck.exists() or process.poll() is not None, 120, "it is never stuck")
    begun = time.monotonic()
    os.kill(process.pid, signal.SIGTERM)
    output = finish(process, 60)
    seconds = time.monotonic() - begun
    assert process.returncode == 130, output
    assert seconds < ANSWER + SLACK
    assert "Traceback" not in output
    monkeypatch.delenv("STUCK_IN")
    process = start(*words)
    output = finish(process, 120)
    assert process.returncode == 0, output
    check_same_as_whole(cell)


@pytest.mark.parametrize(("number", "delay"), [(signal.SIGINT, 0.0), (signal.SIGTERM, 0.3), (signal.SIGINT, 0.9)])
def test_a_signal_during_imports_ends_the_command_without_a_traceback(tmp_path, number, delay):
    """From the first line of the command's own on: what happens before is Python's."""
    words = "--algo cem --env InvertedPendulum-v5 --total-timesteps 1e6 --processes 0 --out"
    process = start(*words.split(), tmp_path)
    caught = Path(f"/proc/{process.pid}/status")  # in hexadecimal: the signals for which there is a handler
    wait_for(lambda: int(caught.read_text().partition("SigCgt:")[2].split()[0], 16) >> (signal.SIGTERM - 1) & 1)
    time.sleep(delay)
    process.send_signal(number)
    output = finish(process, 60)
    assert process.returncode == 130
    assert "Traceback" not in output
    assert "Error" not in output


def test_signals_are_caught_before_anything_of_the_suite_is_imported():
    done = python("-c", "import sys, erlbench.__main__; print(*(name for name in sys.modules if 'erlbench.' in name))")
    assert done.stdout == "erlbench.__main__\n"


def test_a_signal_within_the_import_of_a_library_ends_the_command():
    """The library is known to Python then, and has nothing of its own yet."""
    program = (
        "import sys, types; import erlbench.__main__ as main\n"
        "sys.modules['multiprocess'] = types.ModuleType('multiprocess')\n"
        "main._leave(15, None)"
    )
    done = python("-c", program)
    assert (done.returncode, done.stderr) == (130, "erlbench: interrupted\n")


@pytest.mark.parametrize(("number", "ends"), [(signal.SIGTERM, True), (signal.SIGHUP, False)])
def test_a_terminal_that_closes_sends_sighup_twice_and_the_run_is_saved(number, ends):
    came, stop = [], threading.Event()
    before = signal.signal(number, lambda *_: came.append(number))
    with catch_signals(stop):
        for _ in range(2):
            signal.raise_signal(number)
    signal.signal(number, before)
    assert stop.is_set()
    assert bool(came) == ends
