"""Slurm: an array of jobs, one for each cell, which save and are queued again when preempted or out of time."""

from __future__ import annotations

import importlib.util
import io
import math
import operator
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from typing import Any

import click

from erlbench.errors import UsageError
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.launch.job import LOGS, SlurmJob
from erlbench.running.refusals import check_cells, is_complete
from erlbench.words import counted

SIGNAL_DELAY = 120  # seconds before the end of a job's time: Slurm signals it to save, perhaps 60 earlier
SHORTEST = 10  # minutes of a job, so that most of it is work
TIMEOUTS = 1000  # times that a cell may run out of time before it is given up
TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d\d))?(?::(\d\d))?")  # minutes, minutes:seconds, days-hours, ...
SUBMITTED = ("array", "signal")  # what submitit and the saving of a job need as they are


def launch(cells: Sequence[Cell], options: RunOptions, parameters: Mapping[str, Any]) -> int:
    """Submit the cells with `submitit_parameters`, and print how to watch them; the exit code of `erlbench run`."""
    check_cells(cells, options)  # a mistake is found here, not by a hundred jobs
    logs, cells = cells[0].out / LOGS, [cell for cell in cells if not is_complete(cell)]
    if not cells:
        click.echo("all cells are done", err=True)
        return 0
    if importlib.util.find_spec("submitit") is None:
        raise UsageError("--slurm needs a package that is missing; install it by: pip install 'erlbench[slurm]'")
    import submitit

    if missing := [name for name in ("sbatch", "srun") if shutil.which(name) is None]:
        raise UsageError(f"there is no Slurm here (no command {missing[0]}); give this command on a login node")
    executor = submitit.SlurmExecutor(logs, max_num_timeout=TIMEOUTS)
    executor.update_parameters(**parameters)
    cores = parameters["cpus_per_task"]
    options = replace(options, processes=cores, per_node=cores, jobs=1, force=False)
    try:
        with redirect_stderr(io.StringIO()), executor.batch():  # submitit repeats the error there
            jobs = [executor.submit(SlurmJob((cell,), options, os.getcwd())) for cell in cells]
        array = jobs[0].job_id.partition("_")[0]
    except Exception as error:  # submitit raises its errors and subprocess's
        raise UsageError(f"Slurm did not take the jobs: {refusal(error)}") from error
    folders = shlex.join(sorted({str(cell.out) for cell in cells}))
    click.echo(f"{counted(len(jobs), 'job')} in array {array} of Slurm; their output is in {logs}")
    click.echo(f"Watch them:  squeue --jobs={array}; erlbench show {folders}\nEnd them:    scancel {array}")
    return 0


def refusal(error: Exception) -> str:
    """The output of sbatch in one line."""
    lines = [line.strip().removeprefix("sbatch: ").removeprefix("error: ") for line in str(error).splitlines()]
    return "; ".join(line for line in lines if line)[-300:] or type(error).__name__


def submitit_parameters(slurm: Mapping[str, str], jobs: int | None, cells: Sequence[Cell] = ()) -> dict[str, Any]:
    """What submitit's Slurm executor takes, from the command line's texts; most go to sbatch as they are.

    A job has as many cores as the most worker processes that a study names for one of the cells.
    """
    pinned = max((cell.processes or 0 for cell in cells), default=0)
    further = {name.replace("-", "_"): value for name, value in slurm.items()}  # as submitit names its defaults
    if taken := [name for name in SUBMITTED if name in further]:
        raise UsageError(f"--slurm {taken[0]} is chosen by erlbench; leave it out")
    cpus = further.pop("cpus_per_task", further.pop("cpus", str(max(1, pinned))))
    if not re.fullmatch(r"[1-9][0-9]{0,4}", cpus):
        raise UsageError(f"--slurm cpus must be a number of cores, not '{cpus}'")
    if int(cpus) < pinned:
        raise UsageError(f"the study names {pinned} processes for a cell, --slurm cpus={cpus} are fewer; leave it out")
    if "time" not in further:  # submitit's default are 5 minutes
        raise UsageError("a job needs a time limit: --slurm time=4:00:00; the same job goes on in the next")
    time = read_minutes(further.pop("time"))
    if time < SHORTEST:
        raise UsageError(f"--slurm time must be {SHORTEST} minutes at least, not {time}: the last 3 are for saving")
    parameters = {"signal_delay_s": SIGNAL_DELAY, "cpus_per_task": int(cpus), "array_parallelism": jobs or 1000}
    return {**parameters, "time": time, "additional_parameters": further}


def read_minutes(text: str) -> int:
    """Minutes, rounded up, from sbatch's forms: "90", "90:00" (with seconds), "1:30:00", "2-12" (days)."""
    match = TIME.fullmatch(text)
    if match is None:
        raise UsageError(f"--slurm time must be MINUTES[:SECONDS], HOURS:MINUTES:SECONDS or DAYS-HOURS, not '{text}'")
    days, *rest = match.groups()
    numbers = [int(number) for number in rest if number]
    units = (3600, 60, 1) if days or len(numbers) == 3 else (60, 1)
    return math.ceil(sum(map(operator.mul, numbers, units), 86400 * int(days or 0)) / 60)
