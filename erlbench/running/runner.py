"""Running cells: checks before anything starts, one thread per job, each with its own pool, and the exit code."""

from __future__ import annotations

import contextlib
import shlex
import threading
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from erlbench.algorithms import registry
from erlbench.errors import ADVICE, CellError, ErlbenchError, Interrupted, TaskError, UsageError, explain
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.experiment.estimate import estimates
from erlbench.experiment.plan_file import lay
from erlbench.experiment.pool_kind import LOCAL
from erlbench.pool import Pool, PoolOptions, SerialPool, make_pool
from erlbench.pool.registry import connected
from erlbench.pool.serial import Abandoned
from erlbench.records.run import ERROR
from erlbench.running import continuing, extension, identity, progress, signals
from erlbench.running.driver import BEGINS, WAITS
from erlbench.running.lease import LostLease
from erlbench.running.progress import Display
from erlbench.running.remaining import Workload
from erlbench.running.results import RunDirectory
from erlbench.running.run import DONE, FAILED, INTERRUPTED, Command, RunningCell
from erlbench.work import kernel

JOB = "erlbench-job"  # how the threads of cells are called
GRACE = 0.4  # seconds that a run that begins has to come to its end


def run_cells(cells: Sequence[Cell], options: RunOptions, stop: threading.Event | None = None) -> int:
    """Run all cells and return the exit code: 0 all done, 1 some failed, 130 interrupted, as by setting `stop`."""
    stop = stop or threading.Event()
    with connected(options.pool), signals.heeded(stop):
        return _run_cells(cells, options, stop)


def _run_cells(cells: Sequence[Cell], options: RunOptions, stop: threading.Event) -> int:
    check_directories(cells, options)
    needs = estimates(cells, lambda cell: processes_for(cell, options))
    workloads = [
        Workload(cell.label, (cell.name, cell.env), cell.total_timesteps or 1, found.seconds)
        for cell, found in zip(cells, needs, strict=True)
    ]
    display = progress.create(options.verbosity, workloads, options.jobs)
    runner = Runner(options, display, stop)
    try:
        outcomes = Counter(runner.run_all(cells))
    finally:
        runner.close()
        display.close()
    if outcomes[INTERRUPTED]:
        if options.command_line[:1] == ("erlbench",):  # a Python function's caller tells how to go on
            display.message(f"interrupted; everything is saved. To go on:\n{shlex.join(options.command_line)}")
        return Interrupted.exit_code
    display.summary(_summary(outcomes, cells))
    return 1 if outcomes[FAILED] else 0


def _summary(outcomes: Counter[str], cells: Sequence[Cell]) -> str:
    """What there is at the end, and the command that comes next."""
    folders = shlex.join(dict.fromkeys(str(cell.out) for cell in cells))
    one = len(cells) == 1
    what = f"{outcomes[DONE]} of {len(cells)} {'cell' if one else 'cells'} done"
    if outcomes[FAILED]:
        what += f", {outcomes[FAILED]} failed"
    if not any(cell.directory.exists() for cell in cells):
        return what
    look = f" (erlbench show {folders})" if outcomes[FAILED] else ""
    where = str(cells[0].directory) if one else folders
    return f"{what}{look}. Results: {where}\nNext: erlbench report {folders}"


def check_directories(cells: Sequence[Cell], options: RunOptions) -> None:
    """Refuse, before anything starts, what cannot go well: other settings, a held lock, an unwritable folder."""
    for number, cell in enumerate(cells):
        directory = RunDirectory(cell.directory)
        if not cell.directory.exists():
            directory.check_parent()
            if number < options.jobs:
                identity.begin(cell)  # beside what follows
            continue
        directory.hold()
        try:
            saved = None if options.force else directory.known_config()
            if not options.force:
                continuing.check(directory, cell, options)
        finally:
            directory.release()
        if saved and extension.asked(saved, cell):
            extension.check(cell, directory)
        elif saved and (different := cell.departures(saved)):
            raise UsageError(
                f"{cell.directory} holds a run with other settings ({'; '.join(different)}); "
                "choose another --out or --name, or start anew by --force (the old run is moved aside)"
            )
    if options.study_plan and not options.force_kernel:
        _check_blocks(cells)
    if options.force:  # now that none of them is held
        for cell in cells:
            RunDirectory(cell.directory).move_aside()
    if options.study_plan:
        lay(options.study_plan, cells[0].out)


def _check_blocks(cells: Sequence[Cell]) -> None:
    """Refuse to begin or to go on with a planned run where other cells of its seed ran on another kernel."""
    now = kernel.in_words(kernel.describe())
    for cell in cells:
        if RunDirectory(cell.directory).status().get("status") == DONE:
            continue
        for path in sorted(cell.out.glob(f"*/*/{cell.directory.name}")):
            before = kernel.in_words(RunDirectory(path).meta())
            if before and before != now:
                raise UsageError(
                    f"{path} was begun with other arithmetic ({before}) than is here ({now}), and a plan has all cells "
                    f"of seed {cell.seed} on one kernel; run this seed where it was begun, or depart from the plan by "
                    "--force-kernel (the report says so)"
                )


class Runner:
    """Runs cells, several at once from different threads; each thread keeps one pool of workers."""

    def __init__(self, options: RunOptions, display: Display, stop: threading.Event) -> None:
        self.command = Command(options, display, stop)
        self._pools: dict[int, tuple[PoolOptions, Pool]] = {}  # by thread
        self._runs: dict[int, RunningCell | None] = {}  # by thread, what it runs; None: it makes a run
        self._abandoned: set[int] = set()  # threads
        self._interrupted: float | None = None

    def run_all(self, cells: Sequence[Cell]) -> list[str]:
        """Run the cells, `jobs` at once, each in a thread, so that this one hears `stop`; how each of them ended."""
        executor = ThreadPoolExecutor(self.command.options.jobs, thread_name_prefix=JOB)
        futures = [executor.submit(self.run, cell) for cell in cells]
        while (waiting := wait(futures, timeout=0.2).not_done) and not self.abandoned():  # wakes up for signals
            if self.command.stop.is_set():
                self.interrupt()
        executor.shutdown(wait=not waiting, cancel_futures=True)
        return [INTERRUPTED if future in waiting else future.result() for future in futures]

    def run(self, cell: Cell) -> str:
        """Run one cell to its end and return how it ended; a failure is reported here and stays here."""
        if self.command.stop.is_set():
            return INTERRUPTED
        directory = RunDirectory(cell.directory)
        try:
            directory.hold()
        except UsageError as error:
            self.command.display.failed(cell.label, str(error))
            return FAILED
        thread = threading.get_ident()
        self._runs[thread] = None
        try:
            return self._run_held(cell, directory)
        finally:
            del self._runs[thread]
            directory.release()

    def interrupt(self) -> None:
        """Have tasks that run in this very process give way; the drivers then see that they are to stop.

        A run that cannot see it is saved here, and its thread is abandoned: one whose task is C code, such as a long
        step of an environment. So is one that only begins, as it has nothing to save.
        """
        self._interrupted = self._interrupted or time.monotonic()
        for _, pool in [*self._pools.values()]:
            pool.interrupt()
        for thread, run in [*self._runs.items()]:
            if run is not None and run.driver.phase == WAITS:
                pool = self._pools[thread][1]
                if isinstance(pool, SerialPool) and pool.abandon(run.save_for):
                    self._abandoned.add(thread)
            elif (run is None or run.driver.phase == BEGINS) and time.monotonic() - self._interrupted > GRACE:
                self._abandoned.add(thread)

    def abandoned(self) -> bool:
        """Whether no thread is left but abandoned ones."""
        return bool(self._abandoned) and self._abandoned >= self._runs.keys()

    def close(self) -> None:
        """End all workers but those of abandoned threads, which still use their pool: they end with this process."""
        for thread, (_, pool) in self._pools.items():
            if thread not in self._abandoned:
                pool.close()
        self.command.pauses.close()

    def _run_held(self, cell: Cell, directory: RunDirectory) -> str:
        status = directory.status()
        if status.get("status") == DONE:
            if self._damaged(cell, directory, status):
                return FAILED
            directory.discard_checkpoints()  # its last start may have been killed before that
            if not extension.pending(status, cell):
                self.command.display.finished(cell.label, f"already done in {directory.path}")
                return DONE
            if self.command.options.verbosity >= 0:
                self.command.display.message(f"{cell.label}: goes on from {status.get('timesteps', 0):,} steps")
        begun = directory.has_checkpoint() or (status and directory.has_training_end())
        if directory.has_rows() and not begun:
            self.command.display.failed(
                cell.label,
                f"{directory.path} holds rows but no checkpoint to go on from, and its status.json does not say that "
                "they are whole; put back what is missing, or start anew by --force (the old run is moved aside)",
            )
            return FAILED
        finished = directory.take_down() if status.get("status") == DONE else {}
        run: RunningCell | None = None
        try:
            run = self._runs[threading.get_ident()] = RunningCell(cell, directory, self.pool(cell), self.command)
            run.driver.run()
            run.finish()
        except Interrupted:
            return run.end(INTERRUPTED, "") if run else INTERRUPTED
        except Abandoned:
            return INTERRUPTED  # `interrupt` has saved it
        except LostLease as error:
            self.command.display.failed(cell.label, str(error))
            return FAILED
        except Exception as error:
            message = self._explain(error, directory)
            if finished and (run is None or not run.driver.begun):  # it could not be extended
                directory.put_back(finished)
            elif run is not None:
                run.end(FAILED, message)
            else:
                with contextlib.suppress(OSError, CellError):
                    directory.write_status(status=FAILED, message=message)
            self.command.display.failed(cell.label, message)
            return FAILED
        else:
            directory.discard_checkpoints()
            score = run.driver.last_return
            self.command.display.finished(
                cell.label, f"done, final score {score:,.1f}" if score is not None else "done"
            )
            return DONE
        finally:
            if run is not None:
                run.close()

    def _damaged(self, cell: Cell, directory: RunDirectory, status: dict[str, Any]) -> bool:
        """Whether the files of a finished run are no longer those that it wrote, which is then told."""
        sums = status.get("files")
        damaged = directory.damaged(sums if isinstance(sums, dict) else {})
        if damaged:
            self.command.display.failed(
                cell.label,
                f"{directory.path} was done, but is damaged: {', '.join(damaged)}; put back a copy, or start anew by "
                "--force (the old run is moved aside)",
            )
        return bool(damaged)

    def _explain(self, error: Exception, directory: RunDirectory) -> str:
        """One message for the user; a traceback, where there is one worth reading, goes to error.txt."""
        try:
            directory.check()  # else it says more than the error that came of it
        except CellError as gone:
            return str(gone)
        if isinstance(error, OSError) and error.errno in ADVICE:
            return explain(error, directory.path)
        details = error.details if isinstance(error, TaskError) else ""
        if not isinstance(error, ErlbenchError):
            details = "".join(traceback.format_exception(error))
        message = str(error) if isinstance(error, ErlbenchError) else f"{type(error).__name__}: {error}"
        if details:
            with contextlib.suppress(OSError, CellError):
                directory.write(ERROR, details.encode())
                message += f" (traceback in {directory.path / 'error.txt'})"
        return message

    def pool(self, cell: Cell) -> Pool:
        """This thread's pool, made anew when the cell needs another one."""
        options = self.command.options
        processes, one_core = processes_for(cell, options), options.one_core or cell.one_core
        wanted = PoolOptions(
            processes, options.device, options.task_timeout, one_core, options.force_kernel, options.worker_memory
        )
        thread = threading.get_ident()
        known, pool = self._pools.get(thread, (None, None))
        if pool is None or known != wanted:
            if pool is not None:
                pool.close()
            pool = make_pool(options.pool, wanted)
            self._pools[thread] = wanted, pool
        pool.reset()  # ids of tasks and arrays begin anew with each cell
        pool.store.clear()
        return pool


def processes_for(cell: Cell, options: RunOptions) -> int | None:
    """The processes that a cell gets: its job's share, or what its study asks for; no more than there is work for.

    On a cluster, the most on each node; None for all that are free there.
    """
    if options.pool != LOCAL:
        return options.per_node
    wanted = options.processes if cell.processes is None else cell.processes
    if not wanted:
        return 0
    if cell.processes is None:
        wanted = max(1, wanted // options.jobs)
    algorithm = registry.find(cell.algo)
    if algorithm.is_synchronous(cell.settings) and algorithm.bounded:
        wanted = min(wanted, cell.workers or wanted)  # never more than may be in flight
    return wanted
