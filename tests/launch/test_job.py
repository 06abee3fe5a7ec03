"""A job as submitit runs it, here in its local executor: the same rows, preemption, the end by SIGTERM."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import submitit

from erlbench.experiment.cells import Cell, RunOptions
from erlbench.launch.job import SlurmJob
from tests.processes import lines, processes_below, wait_for
from tests.runs import all_rows, make_cell, run

pytestmark = pytest.mark.slow


def start(folder: Path, cells: Sequence[Cell]) -> Any:
    """submitit's job that runs the cells one after another; it writes its own files to `folder`."""
    executor = submitit.LocalExecutor(folder)
    executor.update_parameters(timeout_min=60)
    return executor.submit(
        SlurmJob(tuple(cells), RunOptions(1, device="cpu", command_line=("erlbench", "run")), os.getcwd())
    )


def runner(folder: Path) -> int:
    """The process that runs the job sent by way of `folder`."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"submitit.core._submit" in words and str(folder).encode() in words:
            return int(path.name)
    raise LookupError("no such process")


def test_a_preempted_job_saves_and_goes_on_in_the_next(tmp_path):
    expected, cell = (make_cell("cem-rl", tmp_path / name, steps=5000) for name in ("one", "job"))
    assert run(expected, processes=1) == 0
    job, tasks = start(tmp_path / "logs", [cell]), cell.directory / "tasks.csv"
    wait_for(lambda: lines(tasks) > 30, 120)
    number = runner(tmp_path / "logs")
    for pid in (*processes_below(number), number):
        os.kill(pid, signal.SIGUSR2)  # Slurm sends it to all processes of a job
    assert job.result() == 0
    events = (cell.directory / "events.csv").read_text()
    assert [line.split(",")[1] for line in events.splitlines()] == ["event", "resumed"]
    assert all_rows(cell.directory) == all_rows(expected.directory)
