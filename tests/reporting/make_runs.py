"""Synthetic run directories in the exact format of docs/architecture.md."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

EVAL = (
    "evaluation,timesteps,fitness_timesteps,evaluation_timesteps,episodes,generation,critic_updates,actor_updates,"
    "train_time_s,total_time_s,return_mean,return_std,returns,lengths"
)
TASKS = "task,kind,process,individual,start_s,end_s,timesteps,critic_updates,actor_updates"


def make_run(
    results: Path,
    env: str,
    name: str,
    seed: int,
    returns: Sequence[float],
    *,
    total: int | None = None,
    steps: Sequence[int] | None = None,
    status: str = "done",
    message: str = "",
    seconds_per_step: float = 0.01,
    warmup: int = 0,
    workers: int = 5,
    processes: int = 5,
    cpu: str = "Test CPU",
    jobs: int = 1,
    tasks: Sequence[tuple[str, int, float, float, int]] = (),
    simulated: bool = False,
    device: str = "cpu",
    generations: int = 0,
    fitness: int = 0,
    studies: Sequence[str] = (),
) -> Path:
    """One run whose evaluations at `steps` (default: every 1000 from 0) have the means `returns`.

    Warm-up steps take a tenth of the time and have no critic updates. There are `fitness` fitness steps for each
    training step. `tasks`: (kind, process, start, end, updates).
    """
    steps = list(steps) if steps is not None else [1000 * i for i in range(len(returns))]
    timesteps = steps[-1] if steps else 0
    total = timesteps if total is None else total
    folder = results / env / name / f"seed-{seed:03d}"
    folder.mkdir(parents=True)

    def seconds(step: int) -> float:
        return (min(step, warmup) * 0.1 + max(0, step - warmup)) * seconds_per_step

    rows = [
        [i, step, fitness * step, 2000 * (i + 1), 2 * (i + 1), i, max(0, step - warmup), max(0, step - warmup),
         seconds(step), seconds(step) * 1.5, float(value), 1.0, f"{value - 1!r} {value + 1!r}", "1000 1000"]
        for i, (step, value) in enumerate(zip(steps, map(float, returns), strict=True))
    ]  # fmt: skip
    write_csv(folder / "eval.csv", EVAL, rows)
    train = [[row[5], row[1], row[8], row[6], row[7]] for row in rows]
    write_csv(folder / "train.csv", "generation,timesteps,train_time_s,critic_updates,actor_updates", train)
    write_csv(folder / "tasks.csv", TASKS, [
        [i, kind, process, process, start, end, 1000, updates, 0]
        for i, (kind, process, start, end, updates) in enumerate(tasks)
    ])  # fmt: skip
    write_csv(folder / "events.csv", "time_s,event,message", [])
    (folder / "episodes.csv").write_text(
        f'#{{"env_id": "{env}", "t_start": 0.0}}\nr,l,t,kind,individual,task,timesteps\n'
    )
    algo, _, preset = name.partition("@")
    limit = f"total_generations = {generations}\n" if generations else ""
    (folder / "config.toml").write_text(
        f'[run]\nenv = "{env}"\nalgo = "{algo}"\npreset = "{preset or "default"}"\nname = "{name}"\nseed = {seed}\n'
        f"total_timesteps = {total}\nworkers = {workers}\neval_freq = 1000\neval_episodes = 2\n"
        f'evaluate = "after"\nsimulated_time = {str(simulated).lower()}\n{limit}\n[settings]\n'
        "initial_variance = 0.001\n"
    )
    start = {
        "started": "2025-01-02T03:04:05+00:00",
        "processes": processes,
        "jobs": jobs,
        "device": device,
        "threads_per_process": 1,
        "command_line": f"erlbench run {name} {env} --seed {seed}",
        **({"studies": list(studies)} if studies else {}),
    }
    write_json(folder / "meta.json", {
        "cpu": cpu, "cores": 8, "memory_gib": 16.0, "gpus": [], "platform": "Linux", "python": "3.11.9",
        "versions": {"erlbench": "0.1.0", "torch": "2.4.0"}, "commit": "0123456789abcdef", **start, "starts": [start],
    })  # fmt: skip
    write_json(folder / "status.json", {
        "status": status, "message": message, "timesteps": timesteps, "total_timesteps": total,
        "train_time_s": seconds(timesteps), "total_time_s": seconds(timesteps) * 1.5,
        "return_mean": float(returns[-1]) if len(returns) else None, "updated": "2025-01-03T03:04:05+00:00",
    })  # fmt: skip
    return folder


def learning_curve(seed: int, last: float, points: int, spread: float = 0.08) -> list[float]:
    """A plausible noisy curve that ends near `last`."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 1, points)
    level = last * (1 + spread * rng.normal())
    return [float(v) for v in level * (1 - np.exp(-3 * x)) / 0.95 + rng.normal(0, 0.03 * abs(last), points)]


def make_tasks(seed: int, scheme: str, processes: int, generations: int) -> list[tuple[str, int, float, float, int]]:
    """Tasks of the paper's figure 1: `serial`, `synchronous`, or `asynchronous`."""
    rng = np.random.default_rng(seed)
    tasks: list[tuple[str, int, float, float, int]] = []
    free = [0.0] * processes
    for _ in range(generations):
        start = max(free)
        if scheme != "asynchronous":
            free = [start] * processes
            end = start + 1.5
            tasks.append(("critic", 0, start, end, 1000))
            free = [end] * processes
        for member in range(10):
            process = int(np.argmin(free))
            if scheme == "asynchronous" and member == 0:
                tasks.append(("critic", process, free[process], free[process] + 1.0, 1000))
                free[process] += 1.0
            if member % 2:
                tasks.append(("actor", process, free[process], free[process] + 1.2, 0))
                free[process] += 1.2
            length = 0.3 + rng.random()
            tasks.append(("rl" if member % 2 else "es", process, free[process], free[process] + length, 0))
            free[process] += length
    return tasks


def write_csv(path: Path, header: str, rows: Sequence[Sequence[Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header.split(","))
        writer.writerows([[repr(cell) if isinstance(cell, float) else cell for cell in row] for row in rows])


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n")
