"""submitit's local executor: jobs as processes of this machine, as Slurm's would be elsewhere."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Any

import click

from erlbench.launch.job import FAILED, Job
from erlbench.launch.options import LaunchOptions
from erlbench.launch.submission import require_submitit
from erlbench.launch.waiting import exit_code, wait
from erlbench.words import counted

FOREVER = 60 * 24 * 365  # minutes


def run_locally(jobs: Sequence[Job], how: LaunchOptions) -> int:
    """Run the jobs at once and wait for them; the exit code of `erlbench run`."""
    submitit = require_submitit()
    executor = submitit.LocalExecutor(how.logs)
    executor.update_parameters(timeout_min=FOREVER)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited: Ctrl-C is ours to pass on, once
    try:
        submitted = [executor.submit(job) for job in jobs]
    finally:
        signal.signal(signal.SIGINT, before)
    click.echo(f"{counted(len(submitted), 'job')} on this machine; their output is in {how.logs}", err=True)
    interrupted = wait(list(submitted), lambda job: job.done(), _stop)
    return exit_code([_code(job) for job in submitted], interrupted, jobs[0].options)


def _stop(job: Any) -> None:
    job._process.send_signal(signal.SIGTERM)  # submitit passes it on; its own cancel() kills after a second


def _code(job: Any) -> int:
    """A job's exit code; the job tells of failed cells itself, here only of what kept it from running them."""
    try:
        return int(job.result())
    except Exception:
        click.echo(f"job {job.job_id} ended by itself; its last words are in {job.paths.stderr}", err=True)
        return FAILED
