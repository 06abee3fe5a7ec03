"""One cell while it runs: its algorithm, its files, and what it says of itself."""

from __future__ import annotations

import contextlib
import shlex
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from erlbench.algorithms import registry
from erlbench.errors import ADVICE, CellError, ErlbenchError, TaskError, explain, said_by
from erlbench.experiment.cells import SHARED, Cell, RunOptions, differences
from erlbench.experiment.schedule import Share
from erlbench.machine import description, kernel
from erlbench.machine.threads import threads_of_libraries
from erlbench.pool import Pool
from erlbench.records.run import ERROR, NEVER_TRAINED, REPLAY, config_hash
from erlbench.records.schema import Row
from erlbench.running.admission import admitted, identity_of, rules_of
from erlbench.running.checkpoint import FORMAT
from erlbench.running.clock import Pauses
from erlbench.running.folder import DONE, RowFiles, RunFolder
from erlbench.running.loop import Run
from erlbench.running.orders import ArrivalOrder, SimulatedOrder
from erlbench.running.progress import Display, ShownRun
from erlbench.work.replay import Replay
from erlbench.work.store import Store
from erlbench.work.trial import Admission

Listener = Callable[[Row], None]  # called with each row of a run when it is written


@dataclass(frozen=True, kw_only=True)
class Command:
    """What all cells of one command share."""

    options: RunOptions
    display: Display
    stop: threading.Event  # set: save and end
    listeners: Sequence[Listener] = ()  # to each of the runs
    machine: Mapping[str, Any] = field(default_factory=description.describe)
    pauses: Pauses = field(default_factory=Pauses)
    shares: Mapping[Path, Share] = field(default_factory=dict)  # of the machine, by the folder of the cell
    at_once: int = 1  # the most cells that run at the same time

    def together(self, cell: Cell) -> dict[str, Any]:
        """What meta.json says of the cells that run at the same time as one."""
        share = self.shares.get(cell.directory)
        exclusive = self.at_once <= 1 or bool(share and share.exclusive)
        return {"cells_at_once": max(1, self.at_once), "exclusive": exclusive}


class RunningCell:
    """One cell while it runs: its algorithm, `Run` and files."""

    def __init__(self, cell: Cell, directory: RunFolder, pool: Pool, command: Command) -> None:
        self.cell = cell
        self.directory = directory
        self.command = command
        self.pool: Pool = pool
        with contextlib.ExitStack() as opened:
            self._open(opened)
            self._opened = opened.pop_all()

    def _open(self, opened: contextlib.ExitStack) -> None:
        """Make the algorithm and the run, and open the files; `opened` closes them."""
        cell, directory, pool, command = self.cell, self.directory, self.pool, self.command
        rules = rules_of(command.options)
        admission = admitted(cell.env, cell.env_settings, rules)
        task = replace(admission.problem, env=replace(admission.problem.env, info=cell.info))
        sizes = task.observation_size, task.action_size
        self.replay = Replay(directory.path / REPLAY, *sizes, pool.store)
        opened.callback(self.replay.close)
        algorithm = cell.algorithm(task, pool.store, self.replay)
        known = identity_of(cell, rules)  # before anything is written
        changes = differences(directory.known_config() or cell.config(), cell.config())
        directory.write_config(cell.config())
        files = RowFiles(directory.path, cell.env, directory.check)
        opened.callback(files.close)
        self.shown = ShownRun(cell, directory, command.display, pool)
        listeners: list[Listener] = [self.shown, *command.listeners]
        self.loop = Run(
            cell, command.options, algorithm, pool, directory, files, command.stop,
            order=self._order, listeners=listeners, watch=self.shown.update, pauses=command.pauses.known,
        )  # fmt: skip
        listeners[1:1] = self._curves(opened)
        start = start_of(cell, command.options, command.machine, pool, known, admission)
        written = {"config_sha256": config_hash(directory.path), **({"config_changes": changes} if changes else {})}
        directory.add_start(command.machine, start | command.together(cell) | written)
        self.shown.begin(self.loop)

    def _curves(self, opened: contextlib.ExitStack) -> Iterator[Listener]:
        """The listener that draws live curves, if they are wanted."""
        if not self.command.options.tensorboard:
            return
        from erlbench.running.live_curves import EventFile

        def warn(text: str) -> None:
            self.command.display.message(f"{self.cell.label}: {text}")

        def steps() -> int:
            return self.loop.algorithm.counters.timesteps

        events = EventFile(self.directory.path, self.shown.returns, steps, warn)
        opened.callback(events.close)
        yield events

    def _order(self, order: ArrivalOrder) -> ArrivalOrder:
        """The order of results: `order`, or that of simulated time."""
        cell = self.cell
        if not cell.simulated_time:
            return order
        return SimulatedOrder(order, cell.processors, cell.costs, cell.simulated_critic == SHARED)

    def finish(self) -> None:
        """Say that the run is done, for good once this returns."""
        self.directory.amend_meta(device=self.pool.device)
        self.shown.record_measured(self.loop)
        untrained = {"never_trained": True} if self._never_trained() else {}
        self.shown.write(self.loop, DONE, "", **untrained, files=self.loop.sums | self.directory.sums())

    def outcome(self) -> str:
        """How a run that is done ended, in words."""
        if self._never_trained():
            return NEVER_TRAINED
        score = self.loop.evaluations.state.last_return
        return DONE if score is None else f"{DONE}, final score {score:,.1f}"

    def _never_trained(self) -> bool:
        counters = self.loop.algorithm.counters
        return registry.never_trained(self.cell.algo, counters.critic_updates, counters.actor_updates)

    def end(self, status: str, message: str) -> str:
        """Write how the run ended; that even this cannot be written must not hide the reason."""
        with contextlib.suppress(OSError, CellError):
            self.directory.amend_meta(device=self.pool.device)
            self.shown.write(self.loop, status, message)
        return status

    def close(self) -> None:
        """Close the files."""
        self._opened.close()


def start_of(
    cell: Cell,
    asked: RunOptions,
    machine: Mapping[str, Any],
    pool: Pool,
    identity: Mapping[str, Any] | None,
    admission: Admission,
) -> dict[str, Any]:
    """The start of a cell on `machine`."""
    machine = {**machine, "threads": threads_of_libraries()}
    return {
        "format": FORMAT,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "pool": asked.pool,
        "processes": pool.processes,
        **({} if asked.jobs is None else {"jobs": asked.jobs}),
        "one_core": asked.one_core or cell.one_core,
        "device": asked.device,
        "threads": machine["threads"],
        "arithmetic": kernel.in_words(machine, registry.learns(cell.algo)),
        **({"identity": identity} if identity else {}),
        "admission": admission.record(),
        **({"anyway": True} if asked.anyway else {}),
        **({"studies": dict(asked.studies)} if asked.studies else {}),
        "command_line": shlex.join(asked.command_line),
    }


def explained(error: Exception, directory: RunFolder, store: Store | None = None) -> str:
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
