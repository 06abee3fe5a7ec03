"""From the cells of a command to jobs, and from the ends of the jobs to one exit code."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any

import click

from erlbench.errors import Interrupted
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.experiment.shards import split
from erlbench.launch.job import Job
from erlbench.launch.options import LaunchOptions
from erlbench.running import extension
from erlbench.running.results import RunDirectory
from erlbench.running.run import DONE
from erlbench.running.runner import check_directories

LOOK = 0.2  # seconds between two looks at the jobs


def launch(cells: Sequence[Cell], options: RunOptions, how: LaunchOptions, cost: Callable[[Cell], float]) -> int:
    """Run or submit the cells; the exit code of `erlbench run`. `cost` gives a cell's core seconds."""
    check_directories(cells, options)  # a mistake is found here, not by a hundred jobs
    options = replace(options, force=False)
    cells = [cell for cell in cells if not _is_done(cell)]
    if not cells:
        click.echo("all cells are done", err=True)
        return 0
    if how.engine == "local":
        from erlbench.launch.local import run_locally

        parts = [part for part in split(cells, min(options.jobs, len(cells)), cost) if part]
        share = options.processes and max(1, options.processes // len(parts))
        return run_locally([job_of(part, replace(options, jobs=1, processes=share)) for part in parts], how)
    if how.engine == "slurm":
        from erlbench.launch.slurm import submit

        return submit([job_of([cell], options) for cell in cells], options, how)
    from erlbench.launch.ray_tasks import run_on_ray

    return run_on_ray([job_of([cell], replace(options, jobs=1)) for cell in cells], how)


def _is_done(cell: Cell) -> bool:
    status = RunDirectory(cell.directory).status()
    return status.get("status") == DONE and not extension.pending(status, cell)


def job_of(cells: Sequence[Cell], options: RunOptions) -> Job:
    """The job that runs these cells."""
    return Job(tuple(cells), options, os.getcwd())


def wait(jobs: Sequence[Any], done: Callable[[Any], bool], stop: Callable[[Any], None]) -> bool:
    """Wait for all jobs; after Ctrl-C, SIGTERM or SIGHUP they are stopped first. Whether that happened."""
    pending, told, stopped = list(jobs), 0, False
    with interruptions() as interrupted:
        while pending := [job for job in pending if not done(job)]:
            if interrupted() and not stopped:
                stopped = True
                for job in pending:
                    stop(job)
            if len(jobs) - len(pending) > told:
                told = len(jobs) - len(pending)
                click.echo(f"{told} of {len(jobs)} jobs have ended", err=True)
            time.sleep(LOOK)
        return interrupted()


@contextmanager
def interruptions() -> Iterator[Callable[[], bool]]:
    """A function that says whether a signal to end has come; a second one acts as usual."""
    seen: list[int] = []
    before: dict[int, Any] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup sets it
            before[number] = signal.signal(number, handle)
    try:
        yield lambda: bool(seen)
    finally:
        restore()


def exit_code(codes: Sequence[int], interrupted: bool, options: RunOptions) -> int:
    """One exit code for all jobs."""
    if interrupted or Interrupted.exit_code in codes:
        click.echo(f"interrupted; everything is saved. To go on: {shlex.join(options.command_line)}", err=True)
        return Interrupted.exit_code
    return 1 if any(codes) else 0
