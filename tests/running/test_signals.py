"""Signals: answered within a second in the middle of whatever runs, by exit code 130 and without a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.campaign.trials import finish, start, write_config
from tests.processes import wait_for
from tests.runs import all_rows, heed_interrupts, make_cell, run

ANSWER = 1.0  # seconds from the signal to the end of the command, the end of Python and of the workers included
SLACK = 3.0  # for machines that do other things, too; the step takes 30 seconds
ENV = "tests.environments:Stuck-v0"
SETTINGS = {"cem": {"population": 4, "elites": 2}, "td3": {"start_timesteps": 8, "batch_size": 8, "hidden": (8, 8)}}


def is_caught(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return True  # it has ended
    (caught,) = [line.split()[1] for line in lines if line.startswith("SigCgt")]
    return bool(int(caught, 16) >> (number - 1) & 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algo", "processes", "where"),
    [("cem", 0, "step"), ("cem", 1, "step"), ("cem", 1, "making"), ("td3", 0, "step"), ("td3", 1, "step")],
)
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
    assert "To go on:\n" in output
    assert "Traceback" not in output
    monkeypatch.delenv("STUCK_IN")
    process = start(*words)
    output = finish(process, 120)
    assert process.returncode == 0, output
    whole = make_cell(algo, tmp_path / "whole", env=ENV, steps=60, eval_freq=1000, settings=SETTINGS[algo])
    assert run(whole) == 0
    assert all_rows(cell.directory) == all_rows(whole.directory)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_imports_ends_the_command_without_a_traceback(tmp_path, number):
    """From the first line of the command's own on: what happens before is Python's."""
    codes = []
    for moment in range(8):
        command = [sys.executable, "-m", "erlbench", "run", "--algo", "cem", "--env", "InvertedPendulum-v5",
                   "--total-timesteps", "1e6", "--processes", "0", "--out", str(tmp_path)]  # fmt: skip
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts)
        wait_for(lambda process=process: is_caught(process.pid, signal.SIGTERM), 60, "it never begins")
        time.sleep(0.15 * moment)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        codes.append(process.returncode)
        assert "Traceback" not in errors
        assert "Error" not in errors
    assert codes == [130] * len(codes)


def test_a_signal_within_the_import_of_a_library_ends_the_command():
    """The library is known to Python then, and has nothing of its own yet."""
    program = (
        "import sys, types; import erlbench.__main__ as main\n"
        "sys.modules['multiprocess'] = types.ModuleType('multiprocess')\n"
        "main._leave(15, None)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "erlbench: interrupted\n")
