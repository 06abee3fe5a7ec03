"""Cells as jobs of submitit's local executor: the same rows, preemption, Ctrl-C, failures."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import lines, processes_below, wait_for
from tests.runs import all_rows, heed_interrupts

pytestmark = pytest.mark.slow

SMALL = ["hidden=16-16", "batch_size=16", "start_timesteps=300"]
COMMAND = [sys.executable, "-m", "erlbench", "run", "--env", "InvertedPendulum-v5", "--processes", "1"]
COMMAND += ["--eval-freq", "1000", "--eval-episodes", "2", "--final-episodes", "2"]


def start(out: Path, *words: str) -> subprocess.Popen[str]:
    settings = [word for setting in SMALL for word in ("--set", setting)]
    command = [*COMMAND, "--out", str(out), *words, *(settings if "cem-rl" in " ".join(words) else [])]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, preexec_fn=heed_interrupts, **pipes)


def finish(process: subprocess.Popen[str], code: int = 0) -> str:
    _, errors = process.communicate(timeout=240)
    assert process.returncode == code, errors
    return errors


def folder(out: Path, algo: str, seed: int = 0) -> Path:
    return out / "InvertedPendulum-v5" / algo / f"seed-{seed:03d}"


def runners(out: Path) -> list[int]:
    """The processes that run the jobs sent by way of `out`."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"submitit.core._submit" in words and str(out / ".jobs").encode() in words:
            found.append(int(path.name))
    return found


def test_jobs_give_the_rows_of_one_command(tmp_path):
    words = ("--algo", "cem,openai-es", "--seeds", "2", "--total-timesteps", "1500")
    finish(start(tmp_path / "one", *words))
    errors = finish(start(tmp_path / "jobs", *words, "--launcher", "local", "--jobs", "2"))
    assert "2 jobs on this machine" in errors
    for algo in ("cem", "openai-es"):
        for seed in (0, 1):
            assert all_rows(folder(tmp_path / "jobs", algo, seed)) == all_rows(folder(tmp_path / "one", algo, seed))


def test_a_preempted_job_saves_and_goes_on_in_the_next(tmp_path):
    words = ("--algo", "cem-rl", "--total-timesteps", "5000")
    finish(start(tmp_path / "one", *words))
    process = start(tmp_path / "jobs", *words, "--launcher", "local")
    tasks = folder(tmp_path / "jobs", "cem-rl") / "tasks.csv"
    wait_for(lambda: lines(tasks) > 30, 120)
    (runner,) = runners(tmp_path / "jobs")
    for pid in (*processes_below(runner), runner):
        os.kill(pid, signal.SIGUSR2)  # Slurm sends it to all processes of a job
    finish(process)
    events = (tasks.parent / "events.csv").read_text()
    assert [line.split(",")[1] for line in events.splitlines()] == ["event", "resumed"]
    assert all_rows(tasks.parent) == all_rows(folder(tmp_path / "one", "cem-rl"))


def test_ctrl_c_saves_all_jobs_and_says_how_to_go_on(tmp_path):
    words = ("--algo", "cem", "--seeds", "2", "--total-timesteps", "400000", "--launcher", "local", "--jobs", "2")
    process = start(tmp_path, *words)
    wait_for(lambda: all((folder(tmp_path, "cem", seed) / "tasks.csv").exists() for seed in (0, 1)), 120)
    process.send_signal(signal.SIGINT)
    assert "To go on: erlbench run --env" in finish(process, 130)
    assert runners(tmp_path) == []
    for seed in (0, 1):
        assert list((folder(tmp_path, "cem", seed) / "checkpoint").iterdir())
