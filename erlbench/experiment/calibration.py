"""Measuring what a cell's tasks cost on this machine: by short runs, alone and beside others."""

from __future__ import annotations

import dataclasses
import math
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from scipy.optimize import nnls

from erlbench.algorithms import registry
from erlbench.envs.registry import problem
from erlbench.errors import Interrupted, UsageError
from erlbench.experiment.cells import Cell, RunOptions, with_workers
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
SHORT, LONG = 5, 100  # steps of an episode, and critic updates of a task, of cells with gradient steps
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
    """Costs of the tasks of `cell`, from six runs of about so many seconds each; every update uses one core.

    One process, alone, has short tasks and then long ones. Long ones on as many processes as there are cores tell by
    how much these slow each other down; short ones would tell how busy the driver is, which has fewer messages in real
    runs. All of it comes again in reverse order, so that a machine that becomes slower meanwhile does not count.
    """
    alone, crowded, count = Measured(), Measured(), cores()
    runs = [(1, SHORT, alone), (1, LONG, alone)]
    if count > 1:
        runs.append((count, LONG, crowded))
    for order in (runs, runs[::-1]):
        for processes, size, found in order:
            _run_for(_short(cell, size, processes), processes, seconds, device, found)
        _check_gradient_steps(cell, seconds, alone)
    costs, crowding = alone.costs(f"erlbench calibrate, {cell.name} on {cell.env}"), 1.0
    if crowded.tasks:
        fitted = fit(alone.tasks, costs.source)
        crowding = sum(task[0] for task in crowded.tasks) / sum(fitted.seconds(*counts) for _, *counts in crowded.tasks)
    return dataclasses.replace(costs, crowding=crowding, cores=count)


def _mean(seconds: Sequence[float]) -> float:
    return float(np.mean(seconds)) if seconds else 0.0


def _short(cell: Cell, size: int, processes: int) -> Cell:
    """The cell with tasks of a size, as many individuals in flight as processes, and no evaluations on the way."""
    shorter = {"start_timesteps": WARMUP, "critic_block": size}
    known = {name: min(most, value) for name, most in shorter.items() if (value := getattr(cell.settings, name, None))}
    steps = size if registry.entry(cell.algo).critic_updates else LONGER * size
    longest = problem(cell.env, cell.env_settings).env.max_episode_steps
    return dataclasses.replace(
        with_workers(cell, processes),
        settings=dataclasses.replace(cell.settings, **known),
        env_settings={**cell.env_settings, "max_episode_steps": min(steps, longest)},
        evaluate="after",
        eval_freq=10**12,
        simulated_time=False,
    )


def _check_gradient_steps(cell: Cell, seconds: float, found: Measured) -> None:
    """Without any, updates would be free; raises `UsageError`."""
    listed = registry.entry(cell.algo)
    for place, expected in ((2, listed.critic_updates), (3, listed.actor_updates)):
        if expected and not any(task[place] for task in found.tasks):
            raise UsageError(
                f"in {seconds:g} s {cell.name} on {cell.env} finished no task with gradient steps of critic and of "
                "actor; take more --seconds"
            )


class _TrainedFor(threading.Event):
    """Set once a run has trained for so many seconds; to start workers and import libraries is no training."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self.clock: Clock | None = None  # of the run, when there is one

    def is_set(self) -> bool:
        return super().is_set() or (self.clock is not None and self.clock.train >= self.seconds)


def _run_for(cell: Cell, processes: int, seconds: float, device: str, found: Measured) -> None:
    """Run `cell` on so many processes until it ends or the time is over, and add what was seen."""
    options = RunOptions(processes, device=device, one_core=True, verbosity=-1)
    with ExitStack() as ends:
        folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="erlbench-calibrate-"))
        cell = dataclasses.replace(cell, out=Path(folder))
        stop = _TrainedFor(seconds)
        runner = ends.enter_context(closing(Runner(options, progress.create(-1), stop)))
        directory = RunDirectory(cell.directory)
        directory.hold()
        ends.callback(directory.release)
        run = ends.enter_context(closing(RunningCell(cell, directory, runner.pool(cell), runner)))
        stop.clock = run.driver.clock
        with suppress(Interrupted):  # the time is over
            run.driver.run()
        found.add(cell.directory)


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
    """Costs from tasks (seconds, timesteps, critic updates, actor updates) each, such that the means are right.

    Least squares, each task with a weight of one over its seconds. So all tasks together cost what they took, and tasks
    of each size count by the time that they took; medians would be too low. Left out are tasks that were disturbed:
    they took `DISTURBED` times what a fit by least absolute deviations says (iteratively reweighted least squares:
    Schlossmacher, 1973), which few of them do not change. What no task did costs 0. `spread` is the root mean square
    of the errors over that of the times.
    Raises `UsageError` without tasks.
    """
    if not len(tasks):
        raise UsageError(f"{source} has no task to measure costs on; let it run longer")
    table = np.asarray(tasks, dtype=np.float64)
    seconds, counts = np.maximum(table[:, 0], 1e-6), table[:, 1:]
    design = np.column_stack([counts, np.ones(len(table)), counts[:, 1:].any(axis=1)])
    weight = 1.0 / seconds
    for _ in range(ROUNDS):
        fitted = design @ _solve(design, seconds, weight)
        weight = 1.0 / np.maximum(abs(fitted - seconds), 1e-4 * seconds) / seconds
    fitted = np.maximum(fitted, 1e-6)
    usual = seconds <= DISTURBED * fitted
    if not usual.any():
        usual[:] = True
    seconds, design, fitted = seconds[usual], design[usual], fitted[usual]
    values = _solve(design, seconds, 1.0 / fitted)
    spread = math.sqrt(((seconds - design @ values) ** 2).sum() / (seconds**2).sum())
    step, critic, actor, overhead, gradient = map(float, values)
    return Costs(step, critic, actor, overhead, source, spread=spread, gradient_overhead=gradient)


def _solve(design: np.ndarray, seconds: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weighted least squares without negative costs; `(columns,)`."""
    scale, root = np.maximum(design.max(axis=0), 1.0), np.sqrt(weight)
    return nnls(design / scale * root[:, None], seconds * root)[0] / scale
