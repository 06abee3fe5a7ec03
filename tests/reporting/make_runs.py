"""Synthetic run directories, written by the schema of `erlbench.records`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from erlbench.records.schema import EpisodeRow, EvaluationRow, EventRow, GenerationRow, Row, TaskRow
from erlbench.records.write import RowFile


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
    studies: Sequence[str] | Mapping[str, str] = (),
    start: Mapping[str, Any] = MappingProxyType({}),
) -> Path:
    """One run whose evaluations at `steps` (default: every 1000 from 0) have the means `returns`.

    Warm-up steps take a tenth of the time and have no critic updates. There are `fitness` fitness steps for each
    training step. `tasks`: (kind, process, start, end, updates). `start`: more of what meta.json has of its start.
    """
    steps = list(steps) if steps is not None else [1000 * i for i in range(len(returns))]
    timesteps = steps[-1] if steps else 0
    total = timesteps if total is None else total
    folder = results / env / name / f"seed-{seed:03d}"
    folder.mkdir(parents=True)

    def seconds(step: int) -> float:
        return (min(step, warmup) * 0.1 + max(0, step - warmup)) * seconds_per_step

    last = len(steps) - 1 if status == "done" else -1
    evaluations = [
        EvaluationRow(
            evaluation=i, final=int(i == last), timesteps=step, fitness_timesteps=fitness * step,
            evaluation_timesteps=2000 * (i + 1), replayed_timesteps=0, episodes=2 * (i + 1), generation=i,
            critic_updates=max(0, step - warmup), actor_updates=max(0, step - warmup), train_time_s=seconds(step),
            total_time_s=seconds(step) * 1.5, return_mean=value, return_std=1.0, returns=(value - 1, value + 1),
            lengths=(1000, 1000), paused_s=0.0, digest="", policy_sha256="", success=(), success_ever=(), info=(),
        )
        for i, (step, value) in enumerate(zip(steps, map(float, returns), strict=True))
    ]  # fmt: skip
    write_rows(folder, EvaluationRow, evaluations)
    write_rows(folder, GenerationRow, [
        GenerationRow(
            row.generation, row.timesteps, row.train_time_s, row.paused_s, row.critic_updates, row.actor_updates,
            metrics={}, staleness_median=None, staleness_90=None, critic_lag_median=None, critic_lag_90=None,
            queueing_median_s=None, queueing_90_s=None, critic_per_step=1.0, actor_per_step=1.0,
            busy_processes=float(processes),
        )
        for row in evaluations
    ])  # fmt: skip
    write_rows(folder, TaskRow, [
        TaskRow(
            i, kind, process, process, start, end, 1000, updates, 0, ready_s=None, staleness=None,
            critic_lag=None, cpu_s=end - start,
        )
        for i, (kind, process, start, end, updates) in enumerate(tasks)
    ])  # fmt: skip
    write_rows(folder, EventRow, [])
    write_rows(folder, EpisodeRow, [], f'{{"env_id": "{env}", "t_start": 0.0}}')
    algo, _, preset = name.partition("@")
    limit = f"total_generations = {generations}\n" if generations else ""
    (folder / "config.toml").write_text(
        f'[run]\nenv = "{env}"\nalgo = "{algo}"\npreset = "{preset or "default"}"\nname = "{name}"\nseed = {seed}\n'
        f"total_timesteps = {total}\nworkers = {workers}\neval_freq = 1000\neval_episodes = 2\n"
        f'evaluate = "after"\nsimulated_time = {str(simulated).lower()}\n{limit}\n[settings]\n'
        "initial_variance = 0.001\n"
    )
    start = {
        **start,
        "started": "2025-01-02T03:04:05+00:00",
        "processes": processes,
        "jobs": jobs,
        "device": device,
        "threads": 1,
        "command_line": f"erlbench run {name} {env} --seed {seed}",
        **({"studies": dict(studies) if isinstance(studies, Mapping) else list(studies)} if studies else {}),
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


def make_cells(
    results: Path, env: str, scores: Mapping[str, Iterable[float]], before: Sequence[float] = (0, 0), **more: Any
) -> None:
    """Runs of each name with these final returns, seeds in their order, after evaluations of `before`."""
    for name, values in scores.items():
        for seed, value in enumerate(values):
            make_run(results, env, name, seed, [*before, value], **more)


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


def write_rows(folder: Path, row: type[Row], rows: Iterable[Row], comment: str = "") -> None:
    """One CSV file of a run, as the suite writes it."""
    file = RowFile(folder, row, comment)
    file.start()
    for one in rows:
        file.write(one)
    file.close()


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n")
