"""One cell while it runs: its algorithm, its training, its files, and what it says of itself."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from erlbench.algorithms import registry
from erlbench.envs.registry import Problem
from erlbench.errors import CellError
from erlbench.experiment.cells import SHARED, Cell, RunOptions, differences
from erlbench.machine import description
from erlbench.pool import Pool, PoolOptions, ProcessPool
from erlbench.records.run import NEVER_TRAINED, REPLAY, config_hash
from erlbench.running import extension, identity
from erlbench.running.admission import admitted, rules_of
from erlbench.running.listeners import Listener
from erlbench.running.listeners.display import ShownRun
from erlbench.running.listeners.files import RowFiles
from erlbench.running.orders import ArrivalOrder, SimulatedOrder
from erlbench.running.pauses import Pauses
from erlbench.running.progress import Display
from erlbench.running.results import RunDirectory
from erlbench.running.start import start_of
from erlbench.running.training import Training, TrainingOptions
from erlbench.work.replay import Replay
from erlbench.work.scratch_replay import ScratchReplay, scratch_folder
from erlbench.work.store import Store

DONE, FAILED, INTERRUPTED = "done", "failed", "interrupted"


def gradient_workers(cell: Cell, processes: int) -> int:
    """The gradient workers that a cell will need; none where the run ends before its gradient steps begin."""
    warmup = registry.find(cell.algo).warmup(cell.settings)
    ends_before = cell.total_minutes is None and warmup >= cell.total_timesteps
    if not registry.find(cell.algo).critic_updates or ends_before:
        return 0
    return min(max(1, processes), registry.find(cell.algo).gradient_workers(cell.settings, cell.workers))


def _aside(cell: Cell, pool: Pool, options: RunOptions) -> Pool | None:
    """The pool for evaluations beside the training; none in simulated time or without processes."""
    if cell.evaluate != "during" or cell.simulated_time or not pool.processes:
        return None
    limits = PoolOptions(
        processes=1, task_timeout=options.task_timeout, one_core=True, worker_memory=options.worker_memory
    )
    return ProcessPool(limits, pool.store, idle=True)


@dataclass(frozen=True, kw_only=True)
class Command:
    """What all cells of one command share."""

    options: RunOptions
    display: Display
    stop: threading.Event  # set: save and end
    listeners: Sequence[Listener] = ()  # to each of the runs
    machine: Mapping[str, Any] = field(default_factory=description.describe)
    pauses: Pauses = field(default_factory=Pauses)


class RunningCell:
    """One cell while it runs: its algorithm, training and files."""

    def __init__(
        self, cell: Cell, directory: RunDirectory, pool: Pool, command: Command, together: Mapping[str, Any]
    ) -> None:
        self.cell = cell
        self.directory = directory
        self.command = command
        self.pool: Pool = pool
        self._together = together  # what meta.json says of the cells that run at the same time
        with contextlib.ExitStack() as opened:
            self._open(opened)
            self._opened = opened.pop_all()

    def _open(self, opened: contextlib.ExitStack) -> None:
        """Make the algorithm and the training, and open the files; `opened` closes them."""
        cell, directory, pool, command = self.cell, self.directory, self.pool, self.command
        rules = rules_of(command.options)
        identity.begin(cell, rules)
        admission = admitted(cell.env, cell.env_settings, rules)
        task = replace(admission.problem, env=replace(admission.problem.env, info=cell.info))
        self.replay = _replay(directory.path / REPLAY, task, pool.store)
        opened.callback(self.replay.close)
        algorithm = cell.algorithm(task, pool.store, self.replay)
        known = identity.identity_of(cell, rules)  # before anything is written
        changes = differences(directory.known_config() or cell.config(), cell.config())
        directory.write_config(cell.config())
        files = RowFiles(directory.path, cell.env, directory.check)
        opened.callback(files.close)
        self.aside = _aside(cell, pool, command.options)
        if self.aside is not None:
            opened.callback(self.aside.close)
        self.shown = ShownRun(cell, directory, command.display, self.pool)
        self.training = Training(
            algorithm, self.pool, directory, files, self._options(pool), command.stop,
            (self.shown, *self._curves(opened), *command.listeners), self.aside, self._order, command.pauses.known,
        )  # fmt: skip
        self.shown.training = self.training
        start = start_of(cell, command.options, command.machine, pool, known, admission)
        written = {"config_sha256": config_hash(directory.path), **({"config_changes": changes} if changes else {})}
        directory.add_start(command.machine, start | dict(self._together) | written)
        self.shown.begin()

    def _curves(self, opened: contextlib.ExitStack) -> Iterator[Listener]:
        """The listener that draws live curves, if they are wanted."""
        if not self.command.options.tensorboard:
            return
        from erlbench.running.listeners.tensorboard import EventFile

        def warn(text: str) -> None:
            self.command.display.message(f"{self.cell.label}: {text}")

        def steps() -> int:
            return self.training.loop.algorithm.counters.timesteps

        events = EventFile(self.directory.path, self.shown.returns, steps, warn)
        opened.callback(events.close)
        yield events

    def _order(self, order: ArrivalOrder) -> ArrivalOrder:
        """The order of results: `order`, or that of simulated time."""
        cell = self.cell
        if not cell.simulated_time:
            return order
        return SimulatedOrder(order, cell.processors, cell.costs, cell.simulated_critic == SHARED)

    def _options(self, pool: Pool) -> TrainingOptions:
        cell, asked = self.cell, self.command.options
        return TrainingOptions(
            eval_freq=cell.eval_freq,
            eval_episodes=cell.eval_episodes,
            final_episodes=cell.final_episodes,
            checkpoint_every=asked.checkpoint_every,
            gradient_workers=gradient_workers(cell, pool.processes),
            modules=registry.gradient_modules(cell.algo),
            keep_end=extension.keeps_end(cell, self.directory, asked.save_replay),
            keep_all=asked.keep_checkpoints,
            until=asked.until,
        )

    def finish(self) -> None:
        """Say that the run is done, for good once this returns."""
        self.directory.amend_meta(device=self.pool.device)
        self.shown.record_measured()
        untrained = {"never_trained": True} if self._never_trained() else {}
        self.shown.write(DONE, "", **untrained, files=self.training.sums | self.directory.sums())

    def outcome(self) -> str:
        """How a run that is done ended, in words."""
        if self._never_trained():
            return NEVER_TRAINED
        score = self.training.evaluations.last_return
        return DONE if score is None else f"{DONE}, final score {score:,.1f}"

    def _never_trained(self) -> bool:
        counters = self.training.loop.algorithm.counters
        return registry.never_trained(self.cell.algo, counters.critic_updates, counters.actor_updates)

    def end(self, status: str, message: str) -> str:
        """Write how the run ended; that even this cannot be written must not hide the reason."""
        with contextlib.suppress(OSError, CellError):
            self.directory.amend_meta(device=self.pool.device)
            self.shown.write(status, message)
        return status

    def save_for(self) -> None:
        """Save in place of the run's own thread, which waits for a task."""
        self.training.save()
        self.end(INTERRUPTED, "")

    def close(self) -> None:
        """Close the files."""
        self._opened.close()


def _replay(home: Path, problem: Problem, store: Store) -> Replay:
    """The replay in the run directory, or on the node's own disk where there is one."""
    sizes = problem.observation_size, problem.action_size
    scratch = scratch_folder()
    return ScratchReplay(home, scratch, *sizes, store) if scratch else Replay(home, *sizes, store)
