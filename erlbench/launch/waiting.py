"""Waiting for jobs, and one exit code for how they ended."""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import click

from erlbench.errors import Interrupted
from erlbench.experiment.cells import RunOptions
from erlbench.running.signals import heeded
from erlbench.words import counted

LOOK = 0.2  # seconds between two looks at the jobs


def wait(jobs: Sequence[Any], done: Callable[[Any], bool], stop: Callable[[Any], None]) -> bool:
    """Wait for all jobs; after Ctrl-C, SIGTERM or SIGHUP they are stopped first. Whether that happened."""
    pending, ended, stopped = list(jobs), 0, False
    interrupted = threading.Event()
    with heeded(interrupted):
        while pending := [job for job in pending if not done(job)]:
            if interrupted.is_set() and not stopped:
                stopped = True
                for job in pending:
                    stop(job)
            if len(jobs) - len(pending) > ended:
                ended = len(jobs) - len(pending)
                click.echo(f"ended: {ended} of {counted(len(jobs), 'job')}", err=True)
            time.sleep(LOOK)
        return interrupted.is_set()


def exit_code(codes: Sequence[int], interrupted: bool, options: RunOptions) -> int:
    """One exit code for all jobs."""
    if interrupted or Interrupted.exit_code in codes:
        click.echo(f"interrupted; everything is saved. To go on: {shlex.join(options.command_line)}", err=True)
        return Interrupted.exit_code
    return 1 if any(codes) else 0
