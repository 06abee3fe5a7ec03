"""The AES-RL paper's table 1 on this machine, shortened: minutes per million steps after the warm-up.

python -m benchmarks.wall_clock results/claims/wall-clock

Runs the entries of the study `aes-rl-table-1` on HalfCheetah for 30,000 steps of which 5,000 are warm-up, five seeds
each, one run after the other. A run has one core for each process; AES-RL has a process for its critic beside those of
its workers.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import click
import numpy as np
import pandas as pd

import erlbench
from erlbench.errors import UsageError
from erlbench.machine.description import describe
from erlbench.records.read import read_columns
from erlbench.records.schema import GenerationRow
from erlbench.reporting.statistics import minutes_per_million_after

STUDY, ENVIRONMENT, SERIAL = "aes-rl-table-1", "HalfCheetah-v5", "cem-rl"
PROCESSES = {"aes-rl@w9": 10, "aes-rl": 6, "p-cem-rl-b256@barriers": 5, SERIAL: 1}  # of each entry
STEPS, SEEDS = 30_000, 5
OPTIONS = {"profile": "laptop", "total_timesteps": STEPS, "eval_freq": STEPS, "eval_episodes": 1, "one_core": True}


def run_entries(out: Path, seeds: int, device: str) -> None:
    """Run all entries, each on as many cores as it has processes."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < max(PROCESSES.values()):
        raise UsageError(f"{max(PROCESSES.values())} cores are needed, and there are {len(cores)}")
    for name, processes in PROCESSES.items():
        os.sched_setaffinity(0, cores[:processes])
        more = {"seeds": seeds, "processes": processes, "device": device, "out": out}
        erlbench.run(name, ENVIRONMENT, study=STUDY, **OPTIONS, **more)


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


def table(out: Path, seeds: int) -> pd.DataFrame:
    """A row for each run; `share_of_serial` is of the minutes of the serial run with the same seed."""
    rows = [
        (ENVIRONMENT, name, seed, PROCESSES[name], *after_warm_up(out / ENVIRONMENT / name / f"seed-{seed:03d}"))
        for seed in range(seeds)
        for name in PROCESSES
    ]
    frame = pd.DataFrame(rows, columns=["env", "name", "seed", "processes", "steps", "minutes", "updates_a_step"])
    serial = frame[frame.name == SERIAL].set_index("seed").minutes
    frame.insert(6, "share_of_serial", frame.minutes / frame.seed.map(serial))
    return frame.round(6)


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--device", default="cpu", help="of the gradients: cpu or cuda")
@click.option("--seeds", default=SEEDS, help="of each entry")
def main(out: Path, device: str, seeds: int) -> None:
    """Make the runs in the folder OUT, and write rows.csv and machine.json beside them."""
    run_entries(out, seeds, device)
    table(out, seeds).to_csv(out / "rows.csv", index=False)
    (out / "machine.json").write_text(json.dumps(describe(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
