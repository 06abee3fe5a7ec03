"""Cells as tasks of a Ray cluster: each runs where its cores are free, on one node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from erlbench.experiment.pool_kind import cluster_address
from erlbench.launch.job import FAILED, Job, Running
from erlbench.launch.options import LaunchOptions
from erlbench.launch.waiting import exit_code, wait
from erlbench.pool.cluster import connection
from erlbench.words import counted


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
    return exit_code(list(finished.values()), interrupted, jobs[0].options)


def _code(answer: Any, job: Job) -> int:
    import ray

    try:
        return int(ray.get(answer))
    except ray.exceptions.RayError as error:
        for cell in job.cells:
            click.echo(f"{cell.label}: {connection.cause(error)}; the same command continues", err=True)
        return FAILED
