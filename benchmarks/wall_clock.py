"""The AES-RL paper's table 1 on this machine, shortened: minutes per million steps after the warm-up.

python -m benchmarks.wall_clock results/claims/wall-clock

Runs the entries of the study `aes-rl-table-1` on HalfCheetah for 30,000 steps of which 5,000 are warm-up, five seeds
each. A run has cores of its own, one for each process; AES-RL has a process for its critic beside those of its workers.
Runs go side by side, in an order that is fixed, so the machine is equally loaded while each of them runs. With
`--device cuda` they go one by one, as all share the GPU.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import click
import numpy as np
import pandas as pd

from erlbench.errors import UsageError
from erlbench.machine.description import describe
from erlbench.records.read import read_columns
from erlbench.records.schema import GenerationRow
from erlbench.reporting.statistics.metrics import minutes_per_million_after

STUDY, ENVIRONMENT, SERIAL = "aes-rl-table-1", "HalfCheetah-v5", "cem-rl"
PROCESSES = {"aes-rl@w9": 10, "aes-rl": 6, "p-cem-rl-b256@barriers": 5, SERIAL: 1}  # of each entry; large ones first
STEPS, SEEDS = 30_000, 5
OPTIONS = (
    "--study", STUDY, "--profile", "laptop", "--env", ENVIRONMENT, "--total-timesteps", STEPS, "--eval-freq", STEPS,
    "--eval-episodes", 1, "--one-core",
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """A row of the table: what a run took between its first and its last generation with gradient steps."""

    env: str
    name: str
    seed: int
    processes: int
    steps: int
    minutes: float  # per million steps
    share_of_serial: float  # these minutes, of those of the serial run with the same seed
    updates_a_step: float  # of the critic


@dataclass(frozen=True)
class Job:
    """A run that is to be made."""

    name: str
    seed: int

    @property
    def processes(self) -> int:
        """Its processes, and so its cores."""
        return PROCESSES[self.name]

    def command(self, out: Path, device: str) -> list[str]:
        """What makes it."""
        own = ("--algo", self.name, "--seeds", f"{self.seed},", "--processes", self.processes, "--device", device)
        return [*map(str, (sys.executable, "-m", "erlbench", "run", *OPTIONS, *own, "--out", out))]

    def folder(self, out: Path) -> Path:
        """Where its files are."""
        return out / ENVIRONMENT / self.name / f"seed-{self.seed:03d}"


@dataclass
class Cores:
    """Cores that are free, and the runs that have the others."""

    free: list[int]
    busy: list[tuple[subprocess.Popen[bytes], list[int]]] = field(default_factory=list)

    def start(self, command: Sequence[str], count: int) -> None:
        """Start a command on as many cores of its own."""
        own, self.free = self.free[:count], self.free[count:]
        pinned = partial(os.sched_setaffinity, 0, own)
        self.busy.append((subprocess.Popen(command, preexec_fn=pinned), own))

    def wait(self) -> None:
        """Until a run has ended, whose cores are then free; a failure ends all."""
        while not (ended := [run for run in self.busy if run[0].poll() is not None]):
            time.sleep(0.1)
        for process, own in ended:
            self.busy.remove((process, own))
            self.free = sorted(self.free + own)
            if process.returncode:
                for other, _ in self.busy:
                    other.terminate()
                raise SystemExit(f"exit code {process.returncode}: {process.args!r}")


def jobs(seeds: int) -> list[Job]:
    """All runs in the order in which they may start."""
    return [Job(name, seed) for seed in range(seeds) for name in PROCESSES]


def next_job(waiting: Sequence[Job], free: int) -> Job | None:
    """The first that fits on the free cores."""
    return next((job for job in waiting if job.processes <= free), None)


def run_all(out: Path, seeds: int, device: str) -> None:
    """Make all runs: side by side, or one by one where they share a GPU."""
    cores, waiting = Cores(sorted(os.sched_getaffinity(0))), jobs(seeds)
    if len(cores.free) < max(PROCESSES.values()):
        raise UsageError(f"{max(PROCESSES.values())} cores are needed, and there are {len(cores.free)}")
    while waiting or cores.busy:
        alone = device != "cpu" and cores.busy
        if not alone and (job := next_job(waiting, len(cores.free))):
            waiting.remove(job)
            cores.start(job.command(out, device), job.processes)
        else:
            cores.wait()


def after_warm_up(folder: Path) -> tuple[int, float, float]:
    """Steps, minutes per million steps and critic updates a step between the first and last rows with updates."""
    rows = read_columns(folder, GenerationRow)
    assert rows is not None, folder
    steps, seconds, updates = (
        np.asarray(rows[name], float) for name in ("timesteps", "train_time_s", "critic_updates")
    )
    minutes, span = minutes_per_million_after(steps, seconds, updates)
    learnt = updates[updates > 0]
    return span, minutes, float(learnt[-1] - learnt[0]) / span


def table(out: Path, seeds: int) -> Iterator[Measured]:
    """The rows of all runs."""
    for seed in range(seeds):
        found = {name: after_warm_up(Job(name, seed).folder(out)) for name in PROCESSES}
        for name, (steps, minutes, updates) in found.items():
            share = minutes / found[SERIAL][1]
            yield Measured(
                ENVIRONMENT, name, seed, PROCESSES[name], steps, *(round(x, 6) for x in (minutes, share, updates))
            )


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--device", default="cpu", help="of the gradients: cpu or cuda")
@click.option("--seeds", default=SEEDS, help="of each entry")
def main(out: Path, device: str, seeds: int) -> None:
    """Make the runs in the folder OUT, and write rows.csv and machine.json beside them."""
    run_all(out, seeds, device)
    pd.DataFrame(table(out, seeds)).to_csv(out / "rows.csv", index=False)
    (out / "machine.json").write_text(json.dumps(describe(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
