"""One cell while it runs: its folder, pool, algorithm, files and messages."""

from __future__ import annotations

import contextlib
import shlex
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import tomli_w

from erlbench.algorithms import registry
from erlbench.errors import (
    ADVICE,
    CellError,
    ErlbenchError,
    Interrupted,
    TaskError,
    UsageError,
    describe_error,
    explain,
)
from erlbench.experiment.cells import LOCAL, Cell, RunOptions, differences
from erlbench.experiment.schedule import Share
from erlbench.machine import description, kernel
from erlbench.machine.process import INTERRUPTION
from erlbench.machine.threads import ONE_THREAD, threads_of_libraries
from erlbench.pool.base import Pool, make_pool
from erlbench.records.run import CONFIG, ERROR, FORMAT, REPLAY
from erlbench.records.schema import Row
from erlbench.records.write import RowFiles
from erlbench.running.admission import admit, identify_problem, make_rules
from erlbench.running.checkpoint import find_checkpoint
from erlbench.running.folder import DONE, FAILED, INTERRUPTED, RunFolder
from erlbench.running.loop import Run
from erlbench.running.progress import Display, ShownRun
from erlbench.running.refusals import check_run_files, check_saved, is_short
from erlbench.running.rows import Pauses
from erlbench.work.replay import NAME, Replay
from erlbench.work.store import Store

Listener = Callable[[Row], None]  # called with each row of a run when it is written


@dataclass(frozen=True, kw_only=True)
class CommandContext:
    """What all cells of one command share."""

    options: RunOptions
    display: Display
    stop: threading.Event  # set: save and end
    listeners: Sequence[Listener] = ()  # to each of the runs
    machine: Mapping[str, Any] = field(default_factory=description.describe)
    pauses: Pauses = field(default_factory=Pauses)
    shares: Mapping[Path, Share] = field(default_factory=dict)  # of the machine, by the folder of the cell
    at_once: int = 1  # the most cells that run at the same time


class CellRunner:
    """Runs cells one after another in a thread, on one pool as long as they need the same one."""

    def __init__(self, context: CommandContext) -> None:
        self.context = context
        self._pool: tuple[RunOptions, Pool] | None = None

    @ONE_THREAD.hold()
    def run(self, cell: Cell) -> str:
        """Run one cell to its end and return how it ended; a failure is reported here and stays here.

        The libraries of this process compute with one thread meanwhile.
        """
        if self.context.stop.is_set():
            return INTERRUPTED
        directory = RunFolder(cell.directory)
        try:
            directory.hold()
            check_saved(directory, cell, replace(self.context.options, force=False))  # others may have begun a run here
            check_run_files(directory, cell)
            status = directory.status()
            if status.get("status") == DONE:
                directory.discard_checkpoints()  # its last start may have been killed before that
                if not is_short(status, cell):
                    self.context.display.finished(cell.label, f"already done in {directory.path}")
                    return DONE
                steps = status.get("timesteps", 0)
                self.context.display.message(f"{cell.label}: goes on from {steps:,} steps", important=False)
            return self._drive(cell, directory, extends=status.get("status") == DONE)
        except UsageError as error:
            return self._fail(cell, str(error))
        finally:
            directory.release()

    def close(self) -> None:
        """End the workers."""
        if self._pool is not None:
            self._pool[1].close()

    def _drive(self, cell: Cell, directory: RunFolder, extends: bool) -> str:
        shown = None
        with contextlib.ExitStack() as opened:
            try:
                with INTERRUPTION.allow():
                    shown = open_run(cell, directory, self._pool_for(cell), self.context, opened)
                shown.run.run()
                outcome = shown.finish()
            except (Interrupted, KeyboardInterrupt):
                return shown.end(INTERRUPTED) if shown else INTERRUPTED
            except (Exception, SystemExit) as error:  # a user's algorithm may end its program
                if self.context.stop.is_set() and not (shown and shown.run.begun):
                    return INTERRUPTED  # what a library has made of the signal, such as an ImportError
                message = record_error(error, directory, shown.run.pool.store if shown else None)
                if shown:
                    shown.end(FAILED, message)
                elif not extends:  # a finished run that cannot be extended stays as it is
                    with contextlib.suppress(OSError, CellError):
                        directory.write_status(status=FAILED, message=message)
                return self._fail(cell, message)
        directory.discard_checkpoints()
        self.context.display.finished(cell.label, outcome)
        return DONE

    def _fail(self, cell: Cell, message: str) -> str:
        self.context.display.finished(cell.label, f"failed: {message}", failed=True)
        return FAILED

    def _pool_for(self, cell: Cell) -> Pool:
        """The pool, made anew when the cell needs another one."""
        options, share = self.context.options, self.context.shares.get(cell.directory)
        wanted = replace(options, processes=(share.processes if share else processes_for(cell, options)) or 0)
        if self._pool is not None and (self._pool[0] != wanted or self._pool[1].store.gone):
            self._pool[1].close()
            self._pool = None
        if self._pool is None:
            self._pool = wanted, make_pool(wanted)
        pool = self._pool[1]
        pool.reset()  # ids of tasks and arrays begin anew with each cell
        pool.store.clear()
        return pool


def processes_for(cell: Cell, options: RunOptions) -> int | None:
    """The processes that a cell gets: its job's share, or what its study asks for; no more than there is work for.

    Without a number of jobs it is what the cell gets with the machine to itself (`schedule_cells`).
    On a cluster, the most on each node; None for all that are free there.
    """
    if options.pool != LOCAL:
        return options.per_node
    wanted = options.processes if cell.processes is None else cell.processes
    if not wanted:
        return 0
    if cell.processes is None:
        wanted = max(1, wanted // (options.jobs or 1))
    algorithm = registry.find(cell.algo)
    if algorithm.is_synchronous(cell.settings) and algorithm.bounded:
        wanted = min(wanted, cell.workers or wanted)  # never more than may be in flight
    return wanted


def open_run(
    cell: Cell, directory: RunFolder, pool: Pool, context: CommandContext, opened: contextlib.ExitStack
) -> ShownRun:
    """The run of a cell, with the start written and its files open; `opened` closes them."""
    options = context.options
    rules = make_rules(options)
    admission = admit(cell.env, cell.env_settings, rules)
    problem = replace(admission.problem, env=replace(admission.problem.env, info=cell.info))
    replay = Replay(directory.path / REPLAY, problem.observation_size, problem.action_size)
    opened.callback(replay.close)
    pool.store.attach(NAME, replay.folder)
    algorithm = cell.algorithm(problem, pool.store, replay)
    recorded: dict[str, Any] = {"admission": admission.record(), "identity": identify_problem(cell, rules)}
    files = RowFiles(directory.path, cell.env, directory.check)
    opened.callback(files.close)
    run = Run(cell, options, algorithm, pool, directory, files, context.stop, pauses=context.pauses.spans)
    run.saved = find_checkpoint(run)  # before anything is written
    recorded["config_changes"] = differences(directory.saved_config() or cell.config(), cell.config())
    config = tomli_w.dumps(cell.config()).encode()
    recorded["config_sha256"] = sha256(config).hexdigest()
    directory.add_start(context.machine, describe_start(cell, context, pool) | _without_empty(recorded))
    directory.write(CONFIG, config)  # after its hash: a kill between them leaves the file of an earlier start
    shown = ShownRun(run, context.display)
    run.listeners, run.watch = [shown, *context.listeners], shown.update
    if options.tensorboard:
        from erlbench.running.live_curves import LiveCurves

        curves = LiveCurves(directory.path, shown.returns, lambda: algorithm.counters.timesteps, shown.say)
        opened.callback(curves.close)
        run.listeners.append(curves)
    return shown


def describe_start(cell: Cell, context: CommandContext, pool: Pool) -> dict[str, Any]:
    """The record of a start of a cell on this machine, for meta.json."""
    options, share = context.options, context.shares.get(cell.directory)
    threads = threads_of_libraries()
    return {
        "format": FORMAT,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "pool": options.pool,
        "processes": pool.processes,
        "one_core": options.one_core or cell.one_core,
        "device": options.device,
        "threads": threads,
        "arithmetic": kernel.in_words({**context.machine, "threads": threads}, registry.learns(cell.algo)),
        "command_line": shlex.join(options.command_line),
        "cells_at_once": max(1, context.at_once),
        "exclusive": context.at_once <= 1 or bool(share and share.exclusive),
        **_without_empty({"jobs": options.jobs, "anyway": options.anyway, "studies": dict(options.studies)}),
    }


def _without_empty(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


def record_error(error: Exception | SystemExit, directory: RunFolder, store: Store | None) -> str:
    """One message for the user; a traceback, where there is one worth reading, goes to error.txt."""
    try:
        directory.check()  # else it tells more than the error that followed
    except CellError as gone:
        return str(gone)
    if store is not None and store.gone:
        return f"another program removed {store.folder}, where processes share arrays; the same command goes on"
    if isinstance(error, OSError) and error.errno in ADVICE:
        return explain(error, directory.path)
    details = error.details if isinstance(error, TaskError) else ""
    if not isinstance(error, ErlbenchError):
        details = "".join(traceback.format_exception(error))
    message = str(error) if isinstance(error, ErlbenchError) else describe_error(error)
    if details:
        with contextlib.suppress(OSError, CellError):
            directory.write(ERROR, details.encode(errors="backslashreplace"))
            message += f" (traceback in {directory.path / ERROR})"
    return message
