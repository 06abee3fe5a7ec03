"""A job of Slurm: some cells, run one after another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from erlbench.errors import ErlbenchError
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.machine.process import prepare_libraries

LOGS = ".jobs"  # in the folder of results: what jobs print, and what they were sent
PATIENCE = 30.0  # seconds for squeue
STOP = threading.Event()  # set: the job of this process saves and ends


@dataclass
class SlurmJob:
    """What is sent to the engine: plain data.

    A job that is preempted, or whose time is up, saves. The next job with the same cells goes on from there.
    Slurm announces the end of a job's time by submitit's signal, and preemption by SIGTERM, as it does `scancel`.
    """

    cells: tuple[Cell, ...]
    options: RunOptions
    folder: str  # where the command was given: results and modules are found from there
    _code: Future[int] | None = field(default=None, init=False, repr=False)  # of a job under way

    def __call__(self) -> int:
        """Run the cells in a thread, while this one obeys signals; the exit code of `erlbench run`."""
        self._code = ThreadPoolExecutor(1, "cells").submit(self.run)
        signal.signal(signal.SIGINT, lambda *_: STOP.set())
        signal.signal(signal.SIGTERM, lambda *_: requeue() if preempted() else STOP.set())
        return self._code.result()

    def run(self) -> int:
        """Run the cells in the thread that calls; the exit code of `erlbench run`."""
        prepare_libraries()  # before numpy is imported
        from erlbench.running.command import run_cells

        os.chdir(self.folder)
        try:
            return run_cells(self.cells, self.options, stop=STOP)
        except ErlbenchError as error:  # a refused cell
            print(f"erlbench: {error}", file=sys.stderr)
            return error.exit_code

    def checkpoint(self) -> Any:
        """Save, and name what the next job runs; submitit calls it in the handler of a signal."""
        from submitit.helpers import DelayedSubmission

        if self._code is not None:
            STOP.set()
            self._code.result()
        return DelayedSubmission(replace(self))


def preempted() -> bool:
    """Whether Slurm wants this job's place for another job: one that `scancel` ends does not run any more."""
    number = os.environ.get("SLURM_JOB_ID")
    if number is None:
        return False
    command = ["squeue", "--noheader", "--format=%T", f"--jobs={number}"]
    try:
        answer = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.stdout.strip() == "RUNNING"


def requeue() -> None:
    """Have submitit save and queue this job again, as at the end of its time."""
    from submitit.core.job_environment import JobEnvironment

    signal.raise_signal(signal.Signals[f"SIG{JobEnvironment.USR_SIG}"])
