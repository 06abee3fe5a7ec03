"""Measuring what a cell's tasks cost on this machine: by short runs, alone and beside others."""

from __future__ import annotations

import dataclasses
import math
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from scipy.optimize import nnls

from erlbench.algorithms import registry
from erlbench.envs.registry import problem
from erlbench.errors import Interrupted, UsageError
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.experiment.costs import Costs
from erlbench.experiment.renamed import read_run_rows
from erlbench.files import reason
from erlbench.running import progress
from erlbench.running.clock import Clock
from erlbench.running.results import RunDirectory
from erlbench.running.run import RunningCell
from erlbench.running.runner import Runner
from erlbench.threads import cores

# Tasks are short, so that there are some of each kind, and of two sizes, so that what a task costs by itself and what
# each of its steps and updates costs can be told apart. Costs per step and update are the same in long ones.
WARMUP = 1000  # training steps before gradient steps begin, where the cell has a warm-up
SIZES = (5, 100)  # steps of an episode, and critic updates of a task, of cells with gradient steps
LONGER = 4  # times as many steps without
ROUNDS = 30  # of the reweighted fit
DISTURBED = 2.0  # times the fit: a task that took longer had something else beside it
Counted = tuple[float, ...]  # of a task: seconds, timesteps, critic updates, actor updates


@dataclass
class Measured:
    """What was seen in runs; all in seconds."""

    tasks: list[Counted] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)  # of a process, from a task to one that waited for its end
    pauses: list[float] = field(default_factory=list)  # of all processes, from the last task to one asked for after it

    def add(self, folder: Path) -> None:
        """What `tasks.csv` in `folder` says."""
        self.tasks += _read(folder)
        names = ("start_s", "end_s", "ready_s", "process")
        rows = (row for row in read_run_rows(folder / "tasks.csv") if row["kind"] != "evaluation")
        ended: dict[float, float] = {}  # by process
        for start, end, ready, process in sorted(tuple(float(row[name]) for name in names) for row in rows):
            last = max(ended.values(), default=math.inf)
            if ready > last:
                self.pauses.append(start - last)
            elif ready <= ended.get(process, -math.inf):
                self.gaps.append(start - ended[process])
            ended[process] = end

    def costs(self, source: str) -> Costs:
        """Of the tasks, each with the gap before it, and of the driver."""
        found, gap = fit(self.tasks, source), _mean(self.gaps)
        update = max(0.0, _mean(self.pauses) - gap)
        return dataclasses.replace(found, overhead=found.overhead + gap, update=update)


def calibrate(cell: Cell, seconds: float, device: str = "cpu") -> Costs:
    """Costs of the tasks of `cell`: from runs in one process on one core, of about so many seconds each.

    Two runs, alone, have tasks of two sizes. The same beside as many others as there are cores tells by how much they
    slow each other down.
    """
    alone, count = _measure(cell, seconds, 1, device), cores()
    costs = alone.costs(f"erlbench calibrate, {cell.name} on {cell.env}")
    crowding = 1.0
    if count > 1:
        tasks = _measure(cell, seconds, count, device).tasks
        fitted = fit(alone.tasks, costs.source)
        crowding = max(1.0, sum(task[0] for task in tasks) / sum(fitted.seconds(*counts) for _, *counts in tasks))
    return dataclasses.replace(costs, crowding=crowding, cores=count)


def _mean(seconds: Sequence[float]) -> float:
    return float(np.mean(seconds)) if seconds else 0.0


def _short(cell: Cell, size: int) -> Cell:
    """The cell with tasks of a size, and without evaluations on the way."""
    shorter = {"start_timesteps": WARMUP, "critic_block": size}
    known = {name: min(most, value) for name, most in shorter.items() if (value := getattr(cell.settings, name, None))}
    steps = size if registry.entry(cell.algo).critic_updates else LONGER * size
    longest = problem(cell.env, cell.env_settings).env.max_episode_steps
    return dataclasses.replace(
        cell,
        settings=dataclasses.replace(cell.settings, **known),
        env_settings={**cell.env_settings, "max_episode_steps": min(steps, longest)},
        evaluate="after",
        eval_freq=10**12,
        simulated_time=False,
    )


def _measure(cell: Cell, seconds: float, count: int, device: str) -> Measured:
    """So many seeds of `cell` at the same time, in a process each; first with short tasks, then with longer ones."""
    found = Measured()
    for size in SIZES:
        _run_all(_short(cell, size), seconds, count, device, found)
    listed = registry.entry(cell.algo)
    for place, expected in ((2, listed.critic_updates), (3, listed.actor_updates)):
        if expected and not any(task[place] for task in found.tasks):
            raise UsageError(
                f"in {seconds:g} s {cell.name} on {cell.env} finished no task with gradient steps of critic and of "
                "actor; take more --seconds"
            )
    return found


def _run_all(cell: Cell, seconds: float, count: int, device: str, found: Measured) -> None:
    with tempfile.TemporaryDirectory(prefix="erlbench-calibrate-") as folder, ThreadPoolExecutor(count) as threads:
        cells = [dataclasses.replace(cell, seed=seed, out=Path(folder)) for seed in range(count)]
        ready = threading.Barrier(count)
        runs = [threads.submit(_run_for, one, seconds, device, ready) for one in cells]
        errors = [error for run in runs if (error := run.exception()) is not None]
        for error in sorted(errors, key=lambda one: isinstance(one, threading.BrokenBarrierError)):
            raise error  # the cause, not that others waited for it
        for one in cells:
            found.add(one.directory)


class _TrainedFor(threading.Event):
    """Set once a run has trained for so many seconds; to start workers and import libraries is no training."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self.clock: Clock | None = None  # of the run, when there is one

    def is_set(self) -> bool:
        return super().is_set() or (self.clock is not None and self.clock.train >= self.seconds)


def _run_for(cell: Cell, seconds: float, device: str, ready: threading.Barrier) -> None:
    """Run `cell` in one process until it ends or the time is over."""
    stop, display = _TrainedFor(seconds), progress.create(-1)
    runner = Runner(RunOptions(1, device=device, one_core=True, verbosity=-1), display, stop)
    directory = RunDirectory(cell.directory)
    directory.hold()
    run = None
    try:
        run = RunningCell(cell, directory, runner.pool(cell), runner)
        stop.clock = run.driver.clock
        ready.wait()
        run.driver.run()
    except Interrupted:
        pass  # the time is over
    finally:
        if run is None:
            ready.abort()  # the others need not wait
        else:
            run.close()
        runner.close()
        directory.release()


def from_tasks(folder: Path) -> Costs:
    """Costs from the `tasks.csv` of any run, as they were with its processes beside each other."""
    found = Measured()
    found.add(folder)
    return found.costs(str(folder))


def _read(folder: Path) -> list[Counted]:
    path = folder / "tasks.csv"
    names = ("timesteps", "critic_updates", "actor_updates")
    try:
        tasks: list[Counted] = [
            (float(row["end_s"]) - float(row["start_s"]), *(float(row[name]) for name in names))
            for row in read_run_rows(path) if row["kind"] != "evaluation"
        ]  # fmt: skip
    except KeyError as error:
        raise UsageError(f"{path} cannot be read as the tasks of a run: it has no column {error}") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as the tasks of a run: {reason(error)}") from error
    if not np.isfinite(tasks).all():
        raise UsageError(f"{path} cannot be read as the tasks of a run: it holds numbers that are not finite")
    return tasks


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
    All other tasks together cost what they took: a median alone would be too low. What no task did costs 0. `spread`
    is the root mean square of their errors over that of their times.
    Raises `UsageError` without tasks.
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
        found = nnls(design[:, used] / scale * root, seconds * root[:, 0])[0]
        residual = np.abs(design[:, used] / scale @ found - seconds)
        weight = 1.0 / np.maximum(residual, 1e-4 * np.maximum(seconds, 1e-6)) / np.maximum(seconds, 1e-6)
    values = np.zeros(4)
    values[used] = found / scale
    fitted = design @ values
    usual, spread = seconds <= DISTURBED * np.maximum(fitted, 1e-6), 0.0
    if usual.any():
        factor = seconds[usual].sum() / fitted[usual].sum()
        values *= factor
        error = seconds[usual] - factor * fitted[usual]
        spread = math.sqrt((error**2).sum() / (seconds[usual] ** 2).sum())
    step, critic, actor, overhead = map(float, values)
    return Costs(step, critic, actor, overhead, source, spread=spread)
