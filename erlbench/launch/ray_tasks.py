"""Cells as tasks of a Ray cluster: each runs where its cores are free, on one node."""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import click

from erlbench.errors import Interrupted
from erlbench.experiment.cells import RunOptions
from erlbench.experiment.pool_kind import cluster_address
from erlbench.launch.job import FAILED, Job, Running
from erlbench.launch.options import LaunchOptions
from erlbench.pool.cluster import connection
from erlbench.records.run import RunFiles
from erlbench.running.checkpoint import continuation
from erlbench.running.runner import anything_saved, interruption
from erlbench.running.signals import heeded
from erlbench.words import counted

LOOK = 0.2  # seconds between two looks at the jobs


class CellActor:
    """Holds one job while it runs, so that `stop` can make it save."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._running: Running | None = None
        self._stopped = False

    def run(self) -> int:
        """Run the job; the exit code of `erlbench run`."""
        self._running = Running(self._job)
        if self._stopped:
            self._running.stop.set()
        return self._running.result()

    def stop(self) -> None:
        """Have the job save and end."""
        self._stopped = True
        if self._running is not None:
            self._running.stop.set()


def run_on_ray(jobs: Sequence[Job], how: LaunchOptions) -> int:
    """Run the jobs as their cores become free, and wait; the exit code of `erlbench run`."""
    ours = connection.connect(cluster_address(how.launcher))
    try:
        return _run(jobs)
    finally:
        if ours:
            connection.disconnect()


def _run(jobs: Sequence[Job]) -> int:
    import ray

    actor_class: Any = ray.remote(CellActor)
    actors, answers = {}, {}
    for job in jobs:
        actor = actor_class.options(num_cpus=job.cores, max_concurrency=2, max_restarts=0).remote(job)
        answer = actor.run.remote()
        actors[answer], answers[answer] = actor, job
    click.echo(f"{counted(len(jobs), 'cell')} on the Ray cluster, each with the cores of its processes", err=True)

    def done(answer: Any) -> bool:
        if answer not in finished:
            ready, _ = ray.wait([answer], timeout=0)
            if ready:
                finished[answer] = _code(answer, answers[answer])
                ray.kill(actors[answer])  # its cores are free for the next one
        return answer in finished

    finished: dict[Any, int] = {}
    interrupted = wait(list(answers), done, lambda answer: actors[answer].stop.remote())
    saved = anything_saved(cell for job in jobs for cell in job.cells)
    return exit_code(list(finished.values()), interrupted, jobs[0].options, saved)


def _code(answer: Any, job: Job) -> int:
    import ray

    try:
        return int(ray.get(answer))
    except ray.exceptions.RayError as error:
        for cell in job.cells:
            then = continuation(RunFiles(cell.directory))
            click.echo(f"{cell.label}: {connection.cause(error)}; {then}", err=True)
        return FAILED


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


def exit_code(codes: Sequence[int], interrupted: bool, options: RunOptions, saved: bool = True) -> int:
    """One exit code for all jobs; `saved`: whether any cell has something to continue from."""
    if interrupted or Interrupted.exit_code in codes:
        click.echo(f"{interruption(saved)}: {shlex.join(options.command_line)}", err=True)
        return Interrupted.exit_code
    return 1 if any(codes) else 0
