"""Measuring what a cell's tasks cost on this machine: by short runs, alone and beside others."""

from __future__ import annotations

import dataclasses
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tomli_w

from erlbench import files
from erlbench.algorithms import registry
from erlbench.envs.registry import problem
from erlbench.errors import UsageError
from erlbench.experiment.cells import Cell, with_workers
from erlbench.experiment.costs import Costs
from erlbench.forecasting.costs_of_runs import Measured, fit
from erlbench.machine.resources import cores
from erlbench.pool import Pool, local_pool
from erlbench.records.schema import TaskRow
from erlbench.running.loop import WHOLE, Loop
from erlbench.running.run import gradient_workers
from erlbench.running.signals import measuring
from erlbench.work.replay import Replay

# Tasks are short: each kind must end some of them in the time. They have two sizes: this separates the cost of a
# task from the cost of its steps and updates, which is the same in long tasks.
WARMUP = 1000  # training steps before gradient steps begin, where the cell has a warm-up
SHORT, LONG = 5, 100  # steps of an episode, and critic updates of a task, of cells with gradient steps
CROWDED = 400  # the same on all cores, where a driver with many messages would take cores from the workers
LONGER = 4  # times as many steps in cells without gradient steps


def calibrate(cell: Cell, seconds: float) -> Costs:
    """Costs of the tasks of `cell`, from six runs of about so many seconds each; every update uses one core.

    One process, alone, has short tasks and then long ones. Still longer ones on as many processes as there are cores
    show by how much these slow each other down; short ones would show how busy the driver is, which has fewer messages
    in real runs. All of it comes again in reverse order, so that a machine that becomes slower meanwhile does not
    count.
    """
    count, alone, crowded = cores(), Measured(), Measured()
    parts = [(1, SHORT), (1, LONG), (count, CROWDED)][: 3 if count > 1 else 2]  # processes, and size of tasks
    for processes, size in parts + parts[::-1]:
        found = alone if processes == 1 else crowded
        _run_for(_short(cell, size, processes), processes, seconds, found)
        if processes == count:
            _check_gradient_steps(cell, seconds, alone)
    costs = alone.costs(f"erlbench calibrate, {cell.name} on {cell.env}")
    crowding = crowded.crowding(fit(alone.tasks, costs.source), count) if crowded.tasks else 1.0
    return dataclasses.replace(costs, crowding=crowding, cores=count)


def _short(cell: Cell, size: int, processes: int) -> Cell:
    """The cell with tasks of a size, as many individuals in flight as processes, and no evaluations on the way."""
    shorter = {"start_timesteps": WARMUP, "critic_block": size}
    known = {name: min(most, value) for name, most in shorter.items() if (value := getattr(cell.settings, name, None))}
    steps = size if registry.find(cell.algo).critic_updates else LONGER * size
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
    algorithm = registry.find(cell.algo)
    for place, expected in ((2, algorithm.critic_updates), (3, algorithm.actor_updates)):
        if expected and not any(task[place] for task in found.tasks):
            raise UsageError(
                f"in {seconds:g} s {cell.name} on {cell.env} finished no task with gradient steps of critic and of "
                "actor; take more --seconds"
            )


class _Stop(threading.Event):
    """Set when somebody asks to stop, who is heard while the pool is preparing workers, too."""

    pool: Pool | None = None

    def set(self) -> None:
        super().set()
        if self.pool is not None:
            self.pool.interrupt()


def _run_for(cell: Cell, processes: int, seconds: float, found: Measured) -> None:
    """Train `cell` on so many processes until it ends or the time is over, and add what was seen.

    To start workers and to import libraries is no training. Nothing is written but the replay.
    """
    tasks: list[TaskRow] = []
    with ExitStack() as ends:
        stop = _Stop()
        ends.enter_context(measuring(stop))
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="erlbench-calibrate-")))
        stop.pool = pool = ends.enter_context(local_pool(processes, device="cpu", one_core=True))
        task = problem(cell.env, cell.env_settings)
        replay = Replay(folder / "replay", task.observation_size, task.action_size, pool.store)
        ends.callback(replay.close)
        loop = Loop(cell.algorithm(task, pool.store, replay), pool)
        if not stop.is_set():
            loop.begin(gradient_workers(cell, processes), registry.gradient_modules(cell.algo))
        for record in loop.train():
            if isinstance(record, TaskRow):
                tasks.append(record)
            elif record is WHOLE and (stop.is_set() or loop.clock.train >= seconds):
                break
    found.add_tasks(tasks)


def save_costs(path: Path, costs: Costs, cell: Mapping[str, Any], machine: Mapping[str, Any]) -> None:
    """Write the costs, the cell that they were measured on (algorithm, environment, network, batch) and the machine."""
    with _writable(path):
        path.write_text(tomli_w.dumps({**asdict(costs), "cell": dict(cell), "machine": dict(machine)}))


def check_costs_file(path: Path) -> None:
    """Raise a `UsageError` when `save_costs` could not write to `path`, or that is a link; makes its folder."""
    if path.is_symlink():
        raise UsageError(f"{path} is a link, which is neither followed nor replaced; give another file by --out")
    with _writable(path):
        files.try_write(path)


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {files.reason(error)}; give another file by --out") from error
