"""One job: some cells, run one after another, wherever an engine starts it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import Any

from erlbench.errors import ErlbenchError
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.machine import modules_here
from erlbench.machine.libraries import prepare_libraries

FAILED = 1


@dataclass
class Job:
    """What is sent to the engine: plain data.

    A job that is preempted, or whose time is up, saves. The next job with the same cells goes on from there.
    Slurm announces the end of a job's time by submitit's signal, and preemption by SIGTERM, as it does `scancel`.
    """

    cells: tuple[Cell, ...]
    options: RunOptions
    folder: str  # where the command was given: results and modules are found from there
    _running: Running | None = field(default=None, init=False, repr=False)

    def __call__(self) -> int:
        """Run the cells in a process of their own, whose signals are obeyed; the exit code of `erlbench run`."""
        running = self._running = Running(self)
        signal.signal(signal.SIGINT, lambda *_: running.stop.set())
        signal.signal(signal.SIGTERM, lambda *_: requeue() if preempted() else running.stop.set())
        return running.result()

    def checkpoint(self) -> Any:
        """Save, and name what the next job runs; submitit calls it in the handler of a signal."""
        from submitit.helpers import DelayedSubmission

        if self._running is not None:
            self._running.stop.set()
            self._running.result()
        return DelayedSubmission(Job(self.cells, self.options, self.folder))


def preempted() -> bool:
    """Whether Slurm wants this job's place for another job: one that `scancel` ends does not run any more."""
    number = os.environ.get("SLURM_JOB_ID")
    if number is None or shutil.which("squeue") is None:
        return False
    command = ["squeue", "--noheader", "--format=%T", f"--jobs={number}"]
    return subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace").stdout.strip() == "RUNNING"


def requeue() -> None:
    """Have submitit save and queue this job again, as at the end of its time."""
    from submitit.core.job_environment import JobEnvironment

    signal.raise_signal(signal.Signals[f"SIG{JobEnvironment.USR_SIG}"])


class Running:
    """A job under way, in a thread of its own."""

    def __init__(self, job: Job) -> None:
        self.stop = threading.Event()  # set: save and end
        self._job = job
        self._code = FAILED
        self._thread = threading.Thread(target=self._run, name="cells")
        self._thread.start()

    def result(self) -> int:
        """Wait for the end; the exit code of `erlbench run`."""
        while self._thread.is_alive():
            self._thread.join(0.2)  # wakes up for signals
        return self._code

    def _run(self) -> None:
        prepare_libraries()  # before numpy is imported
        from erlbench.running.runner import run_cells

        os.chdir(self._job.folder)
        modules_here.install()
        try:
            self._code = run_cells(self._job.cells, self._job.options, self.stop)
        except ErlbenchError as error:  # a refused cell
            print(f"erlbench: {error}", file=sys.stderr)
            self._code = error.exit_code
