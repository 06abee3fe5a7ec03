"""One job: some cells, run one after another, wherever an engine starts it."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass, field
from typing import Any

from erlbench.experiment.cells import Cell, RunOptions
from erlbench.threads import limit_threads

FAILED = 1


@dataclass
class Job:
    """What is sent to the engine: plain data.

    A job that is preempted, or whose time is up, saves. The next job with the same cells goes on from there.
    """

    cells: tuple[Cell, ...]
    options: RunOptions
    folder: str  # where the command was given: results and modules are found from there
    _running: Running | None = field(default=None, init=False, repr=False)

    @property
    def cores(self) -> int:
        """The most worker processes of a cell, at least 1."""
        return max(1, *(self.options.processes if cell.processes is None else cell.processes for cell in self.cells))

    def __call__(self) -> int:
        """Run the cells in a process of their own, whose signals are obeyed; the exit code of `erlbench run`."""
        running = self._running = Running(self)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: running.stop.set())
        return running.result()

    def checkpoint(self) -> Any:
        """Save, and name what the next job runs; submitit calls it in the handler of a signal."""
        from submitit.helpers import DelayedSubmission

        if self._running is not None:
            self._running.stop.set()
            self._running.result()
        return DelayedSubmission(Job(self.cells, self.options, self.folder))


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
        limit_threads()  # before numpy is imported
        from erlbench.running.runner import run_cells

        os.chdir(self._job.folder)
        self._code = run_cells(self._job.cells, self._job.options, self.stop)
