"""A long run: memory and open files of the driver and its workers stay as they are."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from tests.campaign.trials import Trial, check, finish, start, write_config
from tests.processes import lines, processes_below
from tests.runs import make_cell

GENERATIONS = 10_000
GROWTH = 24.0  # MiB that memory may grow over a run; a leak of 3 KB a generation would be more
EVERY = 0.05  # seconds between two looks; a fast machine makes 600 generations in two seconds


def trial(trial: Trial, generations: int = GENERATIONS) -> None:
    """CEM with four individuals and episodes of at most two steps."""
    settings = {"population": 4, "elites": 2}
    cell = make_cell(
        "cem", trial.folder / "results", steps=10**9, settings=settings, total_generations=generations, eval_freq=1000,
        env_settings={"max_episode_steps": 2}, workers=4,
    )  # fmt: skip
    config = write_config(cell, trial.folder / "config.toml", checkpoint_every=5)
    process = start("--config", config, "--out", trial.folder / "results", "--processes", 2)
    looks: list[list[tuple[float, int]]] = []
    while process.poll() is None:
        time.sleep(EVERY)
        if lines(cell.directory / "train.csv") > generations // 10:
            looks.append([_look(pid) for pid in [process.pid, *sorted(processes_below(process.pid))]])
    output = finish(process)
    check(process.returncode == 0, f"exit code {process.returncode}: {output[-800:]}")
    trial.counts["generations"] = lines(cell.directory / "train.csv") - 1
    same = [look for look in looks if len(look) == len(looks[0]) and all(memory for memory, _ in look)]
    check(len(same) >= 4, f"only {len(same)} looks at {len(looks)} moments")
    quarter = len(same) // 4
    grown = np.mean(same[-quarter:], axis=0) - np.mean(same[:quarter], axis=0)  # (process, [MiB, open files])
    check((grown < (GROWTH, 3)).all(), f"MiB and open files that the driver and its processes grew: {grown}")


def _look(pid: int) -> tuple[float, int]:
    """Resident memory in MiB, and the number of open files."""
    try:
        resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
        return resident, len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0.0, 0
