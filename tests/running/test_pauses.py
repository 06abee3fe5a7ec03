"""What counts as a pause: the whole run stood still. Work, sleep and a held lock of Python do not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from erlbench.running.rows import Clock
from tests.runs import csv_rows

ROOT = Path(__file__).parents[2]
TASKS = {
    "works": "end = time.monotonic() + 5\nwhile time.monotonic() < end: pass",
    "sleeps": "time.sleep(5)",
    "holds Python's lock": "ctypes.PyDLL(None).usleep(5_000_000)",
}
PROGRAM = """
import ctypes, sys, time
from erlbench.running.rows import Pauses
pauses = Pauses()
time.sleep(1.2)
print("begun", flush=True)
{task}
time.sleep(1.2)
print(sum(end - begin for begin, end in pauses.spans))
pauses.close()
"""


def program(task: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(task=task)], stdout=subprocess.PIPE, text=True, cwd=ROOT,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline() == "begun\n"
    return process


@pytest.mark.slow
@pytest.mark.parametrize("what", TASKS)
def test_a_long_task_is_no_pause(what):
    output, _ = program(TASKS[what]).communicate(timeout=60)
    assert float(output) == 0


@pytest.mark.slow
@pytest.mark.parametrize("what", ["works", "sleeps"])
def test_a_stopped_process_pauses(what):
    process = program(TASKS[what])
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGSTOP)
    time.sleep(5)
    os.killpg(process.pid, signal.SIGCONT)
    output, _ = process.communicate(timeout=60)
    assert float(output) == pytest.approx(5, abs=1)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [0, 2])
def test_a_run_that_is_stopped_says_for_how_long(tmp_path, processes):
    """The pause stays in the training time; eval.csv, status.json and events.csv have it."""
    command = [
        sys.executable, "-m", "erlbench", "run", "--algo", "cem", "--env", "erlbench/Latency-v0", "--env-set",
        "seconds_per_step=0.005", "--env-set", "mean_length=20", "--total-timesteps", "1600", "--eval-freq", "400",
        "--eval-episodes", "1", "--processes", str(processes), "--out", str(tmp_path), "-q",
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    episodes = tmp_path / "erlbench_Latency-v0" / "cem" / "seed-000" / "episodes.csv"
    while not (episodes.exists() and len(episodes.read_text().splitlines()) > 4):
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGSTOP)
    time.sleep(5)
    os.killpg(process.pid, signal.SIGCONT)
    assert process.wait(60) == 0
    folder = episodes.parent
    last = csv_rows(folder / "eval.csv")[-1]
    assert float(last["paused_s"]) == pytest.approx(5, abs=1)
    assert float(last["train_time_s"]) > 5 + 1600 * 0.005 / max(1, processes) - 1
    assert json.loads((folder / "status.json").read_text())["paused_s"] == float(last["paused_s"])
    assert [row["event"] for row in csv_rows(folder / "events.csv")] == ["paused"]


def test_only_pauses_of_the_training_count():
    moment = [100.0]
    clock = Clock(lambda: moment[0])
    clock.start()
    clock.pause(90.0, 103.0)  # begun before the clock
    moment[0] = 110.0
    clock.end_training()
    clock.pause(110.0, 120.0)
    assert clock.paused == 3.0
    again = Clock(lambda: moment[0])
    again.restore(clock.state())
    assert again.paused == 3.0
