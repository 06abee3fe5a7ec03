"""One cell while it runs: its algorithm, its driver, its files, and what it says of itself."""

from __future__ import annotations

import contextlib
import shlex
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from erlbench.algorithms import registry
from erlbench.algorithms.base import Context
from erlbench.envs.registry import Problem, problem
from erlbench.errors import CellError
from erlbench.experiment import journal
from erlbench.experiment.cells import SHARED, Cell, RunOptions
from erlbench.experiment.plan_file import plan_hash
from erlbench.experiment.planned import scored
from erlbench.pool import Pool, PoolOptions, ProcessPool, SimulatedPool
from erlbench.running import extension, identity, machine
from erlbench.running.checkpoint import FORMAT
from erlbench.running.driver import Driver, DriverOptions
from erlbench.running.kept_policies import Stretch
from erlbench.running.pauses import Pauses
from erlbench.running.progress import Display
from erlbench.running.recorder import Recorder
from erlbench.running.remaining import Reading
from erlbench.running.results import RunDirectory
from erlbench.work import kernel
from erlbench.work.replay import Replay
from erlbench.work.scratch_replay import ScratchReplay, scratch_folder
from erlbench.work.store import Store

DONE, FAILED, INTERRUPTED = "done", "failed", "interrupted"
REFRESH = 0.25  # seconds between two readings of a cell
STATUS_EVERY = 10.0  # seconds between two writings of a running cell's status.json


def _gradient_workers(cell: Cell, processes: int) -> int:
    """The gradient workers that a cell will need; none where the run ends before its gradient steps begin."""
    warmup = getattr(cell.settings, "start_timesteps", 0) or 0
    ends_before = cell.total_minutes is None and warmup >= cell.total_timesteps
    if not registry.find(cell.algo).critic_updates or ends_before:
        return 0
    return min(max(1, processes), registry.find(cell.algo).gradient_workers(cell.settings, cell.workers))


def _aside(cell: Cell, pool: Pool, options: RunOptions) -> Pool | None:
    """The pool for evaluations beside the training; none in simulated time or without processes."""
    if cell.evaluate != "during" or cell.simulated_time or not pool.processes:
        return None
    limits = PoolOptions(1, task_timeout=options.task_timeout, one_core=True, worker_memory=options.worker_memory)
    return ProcessPool(limits, pool.store, idle=True)


@dataclass(frozen=True)
class Command:
    """What all cells of one command share."""

    options: RunOptions
    display: Display
    stop: threading.Event  # set: save and end
    machine: Mapping[str, Any] = field(default_factory=machine.describe)
    pauses: Pauses = field(default_factory=Pauses)


class RunningCell:
    """One cell while it runs: its algorithm, driver and files."""

    def __init__(self, cell: Cell, directory: RunDirectory, pool: Pool, command: Command) -> None:
        self.cell = cell
        self.directory = directory
        self.command = command
        self.pool: Pool = pool
        with contextlib.ExitStack() as opened:
            self._open(opened)
            self._opened = opened.pop_all()

    def _open(self, opened: contextlib.ExitStack) -> None:
        """Make the algorithm and the driver, and open the files; `opened` closes them."""
        cell, directory, pool, command = self.cell, self.directory, self.pool, self.command
        asked = command.options
        identity.begin(cell)
        task = problem(cell.env, cell.env_settings)
        self.replay = _replay(directory.path / "replay", task, pool.store)
        opened.callback(self.replay.close)
        context = Context(
            task, cell.seed, cell.total_timesteps, cell.workers, pool.store, self.replay, cell.total_generations,
            cell.total_minutes,
        )  # fmt: skip
        algorithm = registry.find(cell.algo)(cell.settings, context)
        if cell.simulated_time:
            self.pool = SimulatedPool(pool, cell.processors, cell.costs, cell.simulated_critic == SHARED)
        known = identity.identity_of(cell)  # before anything is written
        directory.write_config(cell.config())
        self.recorder = Recorder(directory.path, cell.env)
        opened.callback(self.recorder.close)
        options = DriverOptions(
            cell.eval_freq,
            cell.eval_episodes,
            cell.final_episodes,
            asked.checkpoint_every,
            _gradient_workers(cell, pool.processes),
            registry.gradient_modules(cell.algo),
            extension.keeps_end(cell, directory, asked.save_replay),
            asked.keep_checkpoints,
            asked.until,
            tuple(Stretch(*stretch) for stretch in scored(cell)),
        )
        self.aside = _aside(cell, pool, asked)
        if self.aside is not None:
            opened.callback(self.aside.close)
        self.driver = Driver(
            algorithm, self.pool, directory, self.recorder, options, command.stop, self._watch, self.aside,
            command.pauses.known,
        )  # fmt: skip
        self._read = self._written = 0.0
        start = {
            "format": FORMAT,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "pool": asked.pool,
            "processes": pool.processes,
            "jobs": asked.jobs,
            "one_core": asked.one_core or self.cell.one_core,
            "device": asked.device,
            "threads_per_process": 1,
            "arithmetic": kernel.in_words(command.machine, registry.learns(self.cell.algo)),
            **({"identity": known} if known else {}),
            **({"force_identity": True} if asked.force_identity else {}),
            **({"shard": asked.shard, "plan": asked.plan} if asked.shard else {}),
            **({"studies": list(asked.studies)} if asked.studies else {}),
            "command_line": shlex.join(asked.command_line),
        }
        start |= self._under_plan(start)
        directory.add_start(command.machine, start)
        self._write_status("running", "")
        self._written = 0.0  # again as soon as the run has gone on from its checkpoint

    def _under_plan(self, start: Mapping[str, Any]) -> dict[str, str]:
        """What a start records of the study's plan that lies in the folder of the results; it enters the journal."""
        cell, command = self.cell, self.command
        if not (digest := plan_hash(cell.out)):
            return {}
        entry = journal.append(
            cell.out, journal.START, env=cell.env, name=cell.name, seed=cell.seed, plan=digest,
            folder=str(cell.directory.relative_to(cell.out)), kernel=kernel.in_words(command.machine),
            identity=journal.fingerprint(start.get("identity")), commit=command.machine.get("commit", ""),
            command=start["command_line"], forced=command.options.force,
        )  # fmt: skip
        return {"study_plan": digest, "journal": entry}

    def _watch(self, driver: Driver) -> None:
        now = time.monotonic()
        if now - self._read < REFRESH:
            return
        self._read = now
        for warning in driver.warnings:
            self.command.display.message(f"{self.cell.label}: {warning}")
        driver.warnings.clear()
        counters = driver.algorithm.counters
        reading = Reading(
            counters.timesteps,
            self.cell.total_timesteps,
            driver.last_return,
            len(self.pool.running()),
            max(1, self.pool.processes),
            counters.generation,
            self.cell.total_generations,
            *(driver.evaluator.progress() if driver.clock.ended else (0, 0)),
            driver.clock.train / 60,
            self.cell.total_minutes,
        )
        self.command.display.update(self.cell.label, reading)
        if now - self._written >= STATUS_EVERY:
            self._write_status("running", "")

    def finish(self) -> None:
        """Say that the run is done, for good once this returns."""
        self.directory.amend_meta(device=self.pool.device)
        self._write_status(DONE, "", files=self.driver.sums)

    def end(self, status: str, message: str) -> str:
        """Write how the run ended; that even this cannot be written must not hide the reason."""
        with contextlib.suppress(OSError, CellError):
            self.directory.amend_meta(device=self.pool.device)
            self._write_status(status, message)
        return status

    def save_for(self) -> None:
        """Save in place of the run's own thread, which waits for a task."""
        self.driver.save()
        self.end(INTERRUPTED, "")

    def close(self) -> None:
        """Close the files."""
        self._opened.close()

    def _write_status(self, status: str, message: str, **more: Any) -> None:
        driver = self.driver
        self._written = time.monotonic()
        self.directory.write_status(
            status=status,
            message=message,
            timesteps=driver.algorithm.counters.timesteps,
            total_timesteps=self.cell.total_timesteps or None,
            **({"total_minutes": minutes} if (minutes := self.cell.total_minutes) is not None else {}),
            train_time_s=driver.clock.train,
            total_time_s=driver.clock.total,
            paused_s=driver.clock.paused,
            return_mean=driver.last_return,
            **more,
        )


def _replay(home: Path, problem: Problem, store: Store) -> Replay:
    """The replay in the run directory, or on the node's own disk where there is one."""
    sizes = problem.observation_size, problem.action_size
    scratch = scratch_folder()
    return ScratchReplay(home, scratch, *sizes, store) if scratch else Replay(home, *sizes, store)
