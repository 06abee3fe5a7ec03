"""From the cells of a command to jobs of an engine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import click

from erlbench.experiment.cells import Cell, RunOptions
from erlbench.launch.job import Job
from erlbench.launch.options import LaunchOptions
from erlbench.launch.ray_tasks import run_on_ray
from erlbench.launch.slurm import submit
from erlbench.running import extension
from erlbench.running.starting import check_directories


def launch(cells: Sequence[Cell], options: RunOptions, how: LaunchOptions) -> int:
    """Run or submit the cells; the exit code of `erlbench run`."""
    check_directories(cells, options)  # a mistake is found here, not by a hundred jobs
    options = replace(options, force=False)
    cells = [cell for cell in cells if not extension.is_complete(cell)]
    if not cells:
        click.echo("all cells are done", err=True)
        return 0
    if how.engine == "slurm":
        return submit([job_of([cell], options) for cell in cells], options, how)
    return run_on_ray([job_of([cell], replace(options, jobs=1)) for cell in cells], how)


def job_of(cells: Sequence[Cell], options: RunOptions) -> Job:
    """The job that runs these cells."""
    return Job(tuple(cells), options, os.getcwd())
