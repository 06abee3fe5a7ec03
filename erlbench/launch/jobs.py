"""From the cells of a command to an array of Slurm's jobs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

import click

from erlbench.experiment.cells import Cell, RunOptions
from erlbench.launch.job import Job
from erlbench.launch.queue import LOGS
from erlbench.launch.slurm import submit
from erlbench.running import extension
from erlbench.running.starting import check_directories


def launch(cells: Sequence[Cell], options: RunOptions, slurm: Mapping[str, str]) -> int:
    """Submit the cells with these options of sbatch; the exit code of `erlbench run`."""
    check_directories(cells, options)  # a mistake is found here, not by a hundred jobs
    options = replace(options, force=False)
    out, cells = cells[0].out, [cell for cell in cells if not extension.is_complete(cell)]
    if not cells:
        click.echo("all cells are done", err=True)
        return 0
    return submit([Job((cell,), options, os.getcwd()) for cell in cells], out / LOGS, slurm, options.jobs)
