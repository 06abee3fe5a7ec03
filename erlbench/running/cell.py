"""One cell while it runs: its algorithm, its files, and what it says of itself."""

from __future__ import annotations

import contextlib
import shlex
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from erlbench.algorithms import registry
from erlbench.errors import ADVICE, CellError, ErlbenchError, TaskError, explain, said_by
from erlbench.experiment.cells import Cell, RunOptions, differences
from erlbench.experiment.schedule import Share
from erlbench.machine import description, kernel
from erlbench.machine.threads import threads_of_libraries
from erlbench.pool import Pool
from erlbench.records.run import ERROR, REPLAY, config_hash
from erlbench.records.schema import Row
from erlbench.running.admission import admit, identity_of, rules_of
from erlbench.running.checkpoint import FORMAT
from erlbench.running.clock import Pauses
from erlbench.running.folder import RowFiles, RunFolder
from erlbench.running.loop import Run
from erlbench.running.progress import Display, ShownRun
from erlbench.work.replay import Replay
from erlbench.work.store import Store
from erlbench.work.trial import Admission

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

    def describe_sharing(self, cell: Cell) -> dict[str, Any]:
        """What meta.json says of the cells that run at the same time as one."""
        share = self.shares.get(cell.directory)
        exclusive = self.at_once <= 1 or bool(share and share.exclusive)
        return {"cells_at_once": max(1, self.at_once), "exclusive": exclusive}


def open_run(
    cell: Cell, directory: RunFolder, pool: Pool, context: CommandContext, opened: contextlib.ExitStack
) -> tuple[Run, ShownRun]:
    """The run of a cell and what shows it, with the start written and its files open; `opened` closes them."""
    rules = rules_of(context.options)
    admission = admit(cell.env, cell.env_settings, rules)
    problem = replace(admission.problem, env=replace(admission.problem.env, info=cell.info))
    replay = Replay(directory.path / REPLAY, problem.observation_size, problem.action_size, pool.store)
    opened.callback(replay.close)
    algorithm = cell.algorithm(problem, pool.store, replay)
    identity = identity_of(cell, rules)  # before anything is written
    changes = differences(directory.saved_config() or cell.config(), cell.config())
    directory.write_config(cell.config())
    files = RowFiles(directory.path, cell.env, directory.check)
    opened.callback(files.close)
    shown = ShownRun(cell, directory, context.display, pool)
    listeners: list[Listener] = [shown]
    if context.options.tensorboard:
        from erlbench.running.live_curves import EventFile

        def warn(text: str) -> None:
            context.display.message(f"{cell.label}: {text}")

        curves = EventFile(directory.path, shown.returns, lambda: algorithm.counters.timesteps, warn)
        opened.callback(curves.close)
        listeners.append(curves)
    run = Run(
        cell, context.options, algorithm, pool, directory, files, context.stop,
        listeners=[*listeners, *context.listeners], watch=shown.update, pauses=context.pauses.spans,
    )  # fmt: skip
    start = start_of(cell, context.options, context.machine, pool, identity, admission)
    written = {"config_sha256": config_hash(directory.path), **({"config_changes": changes} if changes else {})}
    directory.add_start(context.machine, start | context.describe_sharing(cell) | written)
    shown.begin(run)
    return run, shown


def start_of(
    cell: Cell,
    options: RunOptions,
    machine: Mapping[str, Any],
    pool: Pool,
    identity: Mapping[str, Any],
    admission: Admission,
) -> dict[str, Any]:
    """The start of a cell on `machine`."""
    machine = {**machine, "threads": threads_of_libraries()}
    return {
        "format": FORMAT,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "pool": options.pool,
        "processes": pool.processes,
        **({} if options.jobs is None else {"jobs": options.jobs}),
        "one_core": options.one_core or cell.one_core,
        "device": options.device,
        "threads": machine["threads"],
        "arithmetic": kernel.in_words(machine, registry.learns(cell.algo)),
        **({"identity": identity} if identity else {}),
        "admission": admission.record(),
        **({"anyway": True} if options.anyway else {}),
        **({"studies": dict(options.studies)} if options.studies else {}),
        "command_line": shlex.join(options.command_line),
    }


def record_error(error: Exception, directory: RunFolder, store: Store | None = None) -> str:
    """One message for the user; a traceback, where there is one worth reading, goes to error.txt."""
    try:
        directory.check()  # else it says more than the error that came of it
    except CellError as gone:
        return str(gone)
    if store is not None and store.gone:
        return f"another program removed {store.folder}, where processes share arrays; the same command goes on"
    if isinstance(error, OSError) and error.errno in ADVICE:
        return explain(error, directory.path)
    details = error.details if isinstance(error, TaskError) else ""
    if not isinstance(error, ErlbenchError):
        details = "".join(traceback.format_exception(error))
    message = str(error) if isinstance(error, ErlbenchError) else said_by(error)
    if details:
        with contextlib.suppress(OSError, CellError):
            directory.write(ERROR, details.encode(errors="backslashreplace"))
            message += f" (traceback in {directory.path / ERROR})"
    return message
