"""What Slurm says of jobs: the states of some, or of those that were submitted from a folder."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

LOGS = ".jobs"  # in the folder of results: what jobs print, and what they were sent
SUBMITTED = "_submitted.pkl"  # submitit's name for what a job was sent, after the job's number
JOB = re.compile(r"\d+(_\d+)?")
PATIENCE = 30.0  # seconds for squeue


def slurm_jobs(results: Path) -> Counter[str]:
    """State of Slurm's -> how many of the folder's jobs are in it; empty where there is no squeue."""
    names = (path.name.removesuffix(SUBMITTED) for path in (results / LOGS).glob(f"*{SUBMITTED}"))
    return Counter(read_states([name for name in names if JOB.fullmatch(name)]))


def read_states(jobs: Sequence[str]) -> list[str]:
    """The states of jobs, such as "running"; empty where there is no squeue, or none of the jobs."""
    if not jobs or shutil.which("squeue") is None:
        return []
    command = ["squeue", "--noheader", "--array", "--format=%T", f"--jobs={','.join(jobs)}"]
    try:
        answer = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=PATIENCE
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    return answer.lower().split()
