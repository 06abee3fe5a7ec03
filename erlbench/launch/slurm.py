"""Slurm: an array of jobs, one for each cell, which save and are queued again when preempted or out of time."""

from __future__ import annotations

import importlib.util
import io
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from erlbench.errors import UsageError
from erlbench.launch.job import Job
from erlbench.words import counted

SIGNAL_DELAY = 120  # seconds before the end of a job's time: Slurm signals it to save, perhaps 60 earlier
SHORTEST = 10  # minutes of a job, so that most of it is work
TIMEOUTS = 1000  # times that a cell may run out of time before it is given up
TIME = re.compile(r"(?:(?P<days>\d+)-)?(?P<hours>\d+):(?P<minutes>\d\d)(?::(?P<seconds>\d\d))?")
KNOWN = ("partition", "account", "qos", "constraint", "mem", "gres", "gpus_per_node", "exclude", "nodelist", "comment")


def submit(jobs: Sequence[Job], logs: Path, slurm: Mapping[str, str], at_once: int | None) -> int:
    """Submit the jobs and say how to watch them; 0. `logs`: for what they print and what they were sent."""
    if importlib.util.find_spec("submitit") is None:
        raise UsageError("--slurm needs a package that is missing; install it by: pip install 'erlbench[slurm]'")
    import submitit

    if shutil.which("sbatch") is None:
        raise UsageError("there is no Slurm here (no command sbatch); give this command on a login node")
    executor = submitit.SlurmExecutor(logs, max_num_timeout=TIMEOUTS)
    pinned = max(cell.processes or 0 for job in jobs for cell in job.cells)
    wanted = parameters(slurm, at_once, pinned)
    executor.update_parameters(**wanted)
    cores = wanted["cpus_per_task"]
    jobs = [replace(job, options=replace(job.options, processes=cores, per_node=cores, jobs=1)) for job in jobs]
    try:
        with redirect_stderr(io.StringIO()), executor.batch():  # submitit repeats there what the error will say
            submitted = [executor.submit(job) for job in jobs]
        array = submitted[0].job_id.partition("_")[0]
    except Exception as error:  # submitit raises errors of its own and of subprocess
        raise UsageError(f"Slurm did not take the jobs: {refusal(error)}") from error
    folders = " ".join(sorted({str(cell.out) for job in jobs for cell in job.cells}))
    click.echo(f"{counted(len(submitted), 'job')} in array {array} of Slurm; their output is in {logs}")
    click.echo(f"Watch them:  erlbench show {folders} --follow\nEnd them:    scancel {array}")
    return 0


def refusal(error: Exception) -> str:
    """What sbatch has said, in one line."""
    lines = [line.strip().removeprefix("sbatch: ").removeprefix("error: ") for line in str(error).splitlines()]
    return "; ".join(line for line in lines if line)[-300:] or type(error).__name__


def parameters(given: Mapping[str, str], jobs: int | None, pinned: int = 0) -> dict[str, Any]:
    """What submitit's Slurm executor takes, from the command line's texts; unknown names go to sbatch as they are.

    `pinned` is the most worker processes that a study names for a cell; a job has as many cores.
    """
    cpus = given.get("cpus", str(max(1, pinned)))
    if not re.fullmatch(r"[1-9][0-9]{0,4}", cpus):
        raise UsageError(f"--slurm cpus must be a number of cores, not '{cpus}'")
    if int(cpus) < pinned:
        raise UsageError(f"the study names {pinned} processes for a cell, --slurm cpus={cpus} are fewer; leave it out")
    found: dict[str, Any] = {"signal_delay_s": SIGNAL_DELAY, "cpus_per_task": int(cpus)}
    found["array_parallelism"] = jobs or 1000
    if "time" in given:
        found["time"] = minutes(given["time"])
        if found["time"] < SHORTEST:
            raise UsageError(
                f"--slurm time must be {SHORTEST} minutes at least, not {found['time']}: a job saves in its last 2 to 3"
            )
    further = {}
    for name, value in given.items():
        key = name.replace("-", "_")
        if key in KNOWN:
            found[key] = value
        elif key not in ("cpus", "time"):
            further[name.replace("_", "-")] = value
    return found | ({"additional_parameters": further} if further else {})


def minutes(text: str) -> int:
    """Minutes from "90", "1:30:00", "1:30" (hours) or "2-12:00:00" (days)."""
    if text.isdigit() and int(text):
        return int(text)
    match = TIME.fullmatch(text)
    if match is None:
        raise UsageError(f"--slurm time must be minutes (90) or [DAYS-]HOURS:MINUTES[:SECONDS], not '{text}'")
    days, hours, mins, seconds = (int(match[name] or 0) for name in ("days", "hours", "minutes", "seconds"))
    return max(1, 1440 * days + 60 * hours + mins + (seconds > 0))
