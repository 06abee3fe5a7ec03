"""Measuring what a cell's tasks cost on this machine: by short runs, alone and beside others, and by empty tasks."""

from __future__ import annotations

import dataclasses
import math
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import tomli_w

from erlbench.algorithms import registry
from erlbench.envs.registry import problem
from erlbench.errors import Interrupted, UsageError
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.experiment.costs import Costs
from erlbench.experiment.renamed import read_rows
from erlbench.files import reason
from erlbench.pool import create
from erlbench.running import progress
from erlbench.running.results import RunDirectory
from erlbench.running.run import Run
from erlbench.running.runner import Runner
from erlbench.threads import cores
from erlbench.work.tasks import Task

# What makes tasks short, so that there are some of each kind; costs per step and update are the same.
WARMUP = 1000  # training steps before gradient steps begin, where the cell has a warm-up
BLOCK = 100  # critic updates of a task
LONGEST = 100  # steps of an episode
TRIPS = 200  # empty tasks
ROUNDS = 30  # of the reweighted fit
Counted = tuple[float, ...]  # of a task: seconds, timesteps, critic updates, actor updates


def calibrate(cell: Cell, seconds: float, device: str = "cpu") -> Costs:
    """Costs of the tasks of `cell`: from a run of about so many seconds in one process on one core, alone.

    A second one beside as many others as there are cores tells by how much they slow each other down.
    """
    shorter = {"start_timesteps": WARMUP, "critic_block": BLOCK}
    known = {name: min(most, value) for name, most in shorter.items() if (value := getattr(cell.settings, name, None))}
    longest = problem(cell.env, cell.env_settings).env.max_episode_steps
    short = dataclasses.replace(
        cell,
        settings=dataclasses.replace(cell.settings, **known),
        env_settings={**cell.env_settings, "max_episode_steps": min(LONGEST, longest)},
        evaluate="after",
        eval_freq=10**12,
        simulated_time=False,
    )
    (alone, pauses), count, trip = _tasks_of(short, seconds, 1, device), cores(), dispatch_seconds()
    costs = fit(alone, f"erlbench calibrate, {cell.name} on {cell.env}")
    crowding = 1.0
    if count > 1:
        crowded = fit(_tasks_of(short, seconds, count, device)[0], costs.source)
        crowding = max(1.0, _total(crowded, alone) / _total(costs, alone))
    update = max(0.0, _usual(pauses) - trip)
    return dataclasses.replace(costs, overhead=costs.overhead + trip, crowding=crowding, cores=count, update=update)


def _total(costs: Costs, tasks: list[Counted]) -> float:
    """Seconds of all tasks by the costs."""
    return sum(costs.seconds(*counts) for _, *counts in tasks)


def _usual(pauses: Sequence[float]) -> float:
    """The mean without the longest tenth, in which something else ran; 0 without any."""
    return float(np.mean(sorted(pauses)[: math.ceil(0.9 * len(pauses))])) if pauses else 0.0


def _tasks_of(cell: Cell, seconds: float, count: int, device: str) -> tuple[list[Counted], list[float]]:
    """The tasks of so many seeds of `cell` that run at the same time, in a process each, and the driver's pauses."""
    with tempfile.TemporaryDirectory(prefix="erlbench-calibrate-") as folder, ThreadPoolExecutor(count) as threads:
        cells = [dataclasses.replace(cell, seed=seed, out=Path(folder)) for seed in range(count)]
        ready = threading.Barrier(count)
        for _ in threads.map(lambda one: _run_for(one, seconds, device, ready), cells):
            pass
        tasks = [task for one in cells for task in _read(one.directory)]
        pauses = [pause for one in cells for pause in _pauses(one.directory)]
    listed = registry.entry(cell.algo)
    for place, expected in ((2, listed.critic_updates), (3, listed.actor_updates)):
        if expected and not any(task[place] for task in tasks):
            raise UsageError(
                f"in {seconds:g} s {cell.name} on {cell.env} finished no task with gradient steps of critic and of "
                "actor; take more --seconds"
            )
    return tasks, pauses


def _run_for(cell: Cell, seconds: float, device: str, ready: threading.Barrier) -> None:
    """Run `cell` in one process until it ends or the time is over."""
    stop, display = threading.Event(), progress.create(-1)
    runner = Runner(RunOptions(1, device=device, one_core=True, verbosity=-1), display, stop)
    timer = threading.Timer(seconds, stop.set)
    directory = RunDirectory(cell.directory)
    directory.hold()
    run = None
    try:
        run = Run(cell, directory, runner.pool(cell), runner)
        ready.wait()
        timer.start()
        run.driver.run()
    except Interrupted:
        pass  # the time is over
    finally:
        timer.cancel()
        if run is None:
            ready.abort()  # the others need not wait
        else:
            run.close()
        runner.close()
        directory.release()


def from_tasks(folder: Path) -> Costs:
    """Costs from the `tasks.csv` of any run; its overhead leaves out a task's way to the process and back."""
    return fit(_read(folder), str(folder))


def _read(folder: Path) -> list[Counted]:
    path = folder / "tasks.csv"
    names = ("timesteps", "critic_updates", "actor_updates")
    try:
        tasks: list[Counted] = [
            (float(row["end_s"]) - float(row["start_s"]), *(float(row[name]) for name in names))
            for row in read_rows(path) if row["kind"] != "evaluation"
        ]  # fmt: skip
    except KeyError as error:
        raise UsageError(f"{path} cannot be read as the tasks of a run: it has no column {error}") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as the tasks of a run: {reason(error)}") from error
    if not np.isfinite(tasks).all():
        raise UsageError(f"{path} cannot be read as the tasks of a run: it holds numbers that are not finite")
    return tasks


def _pauses(folder: Path) -> list[float]:
    """Seconds from the end of all tasks to the start of one that was asked for after it, in a run with one process."""
    names = ("start_s", "end_s", "ready_s")
    rows = [tuple(float(row[name]) for name in names) for row in read_rows(folder / "tasks.csv")
            if row["kind"] != "evaluation"]  # fmt: skip
    found, ended = [], math.inf
    for start, end, ready in sorted(rows):
        if ready > ended:  # a task that only waited for another one became ready when that one ended
            found.append(start - ended)
        ended = end if ended == math.inf else max(ended, end)
    return found


def dispatch_seconds() -> float:
    """Seconds of an empty task's way to a process and back, the median of many."""
    trips = []
    with create(1) as pool:
        task = Task(0, "nothing", "erlbench.work.preparation:nothing", ())
        pool.prepare(task, 1)
        for number in range(TRIPS):
            begun = time.perf_counter()
            pool.submit([dataclasses.replace(task, id=number)])
            pool.next_result()
            trips.append(time.perf_counter() - begun)
    return median(trips)


def save_costs(path: Path, costs: Costs, cell: Mapping[str, Any], machine: Mapping[str, Any]) -> None:
    """Write the costs, the cell that they were measured on (algorithm, environment, network, batch) and the machine."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(tomli_w.dumps({**asdict(costs), "cell": dict(cell), "machine": dict(machine)}))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error


def fit(tasks: Sequence[Sequence[float]], source: str) -> Costs:
    """Costs from tasks (seconds, timesteps, critic updates, actor updates) each, by least absolute deviations.

    A few tasks that were disturbed change little of it (iteratively reweighted least squares: Schlossmacher, 1973).
    What no task did costs 0. Raises `UsageError` without tasks.
    """
    if not len(tasks):
        raise UsageError(f"{source} has no task to measure costs on; let it run longer")
    table = np.asarray(tasks, dtype=np.float64)
    seconds, counts = table[:, 0], table[:, 1:]
    design = np.column_stack([counts, np.ones(len(table))])
    used = design.any(axis=0)
    scale = np.maximum(design[:, used].max(axis=0), 1.0)
    found, weight = np.zeros(used.sum()), 1.0 / np.maximum(seconds, 1e-6)
    for _ in range(ROUNDS):
        root = np.sqrt(weight)[:, None]
        found = np.linalg.lstsq(design[:, used] / scale * root, seconds * root[:, 0], rcond=None)[0]
        residual = np.abs(design[:, used] / scale @ found - seconds)
        weight = 1.0 / np.maximum(residual, 1e-4 * np.maximum(seconds, 1e-6)) / np.maximum(seconds, 1e-6)
    values = np.zeros(4)
    values[used] = np.maximum(found / scale, 0.0)
    step, critic, actor, overhead = map(float, values)
    return Costs(step, critic, actor, overhead, source)
