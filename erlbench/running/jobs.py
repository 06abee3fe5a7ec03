"""Running cells at once: one thread per cell that runs, each with its own pool of workers."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from erlbench.errors import CellError, Interrupted, UsageError
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.experiment.schedule import CellQueue, Schedule, Share
from erlbench.files import table_in
from erlbench.machine.threads import ONE_THREAD
from erlbench.pool import Pool, PoolOptions, SerialPool, make_pool
from erlbench.pool.serial import Abandoned
from erlbench.running import extension
from erlbench.running.failures import explained
from erlbench.running.lease import LostLease
from erlbench.running.loop import BEGINS, WAITS
from erlbench.running.progress import Display
from erlbench.running.results import RunDirectory
from erlbench.running.run import DONE, FAILED, INTERRUPTED, Command, Listener, RunningCell
from erlbench.running.scheduling import schedule_of
from erlbench.running.starting import processes_for

JOB = "erlbench-job"  # how the threads of cells are called
GRACE = 0.4  # seconds that a run that begins has to come to its end


class Runner:
    """Runs cells, several at once from different threads; each thread keeps one pool of workers.

    From here to `close` the libraries of this process compute with one thread.
    """

    def __init__(
        self, options: RunOptions, display: Display, stop: threading.Event, listeners: Sequence[Listener] = ()
    ) -> None:
        self.command = Command(options=options, display=display, stop=stop, listeners=listeners)
        self._pools: dict[int, tuple[PoolOptions, Pool]] = {}  # by thread
        self._runs: dict[int, RunningCell | None] = {}  # by thread, what it runs; None: it makes a run
        self._abandoned: set[int] = set()  # threads
        self._shares: dict[Path, Share] = {}  # by folder
        self._at_once = 1  # the most cells that run at the same time
        self._interrupted: float | None = None
        self._limit = contextlib.ExitStack()
        self._limit.enter_context(ONE_THREAD.hold())

    def run_all(self, cells: Sequence[Cell], schedule: Schedule | None = None) -> list[str]:
        """Run the cells by `schedule`, each in a thread, so that this one hears `stop`; how each of them ended."""
        schedule = schedule or schedule_of(cells, self.command.options)
        self._at_once = schedule.forecast().at_once
        self._shares |= {cell.directory: share for cell, share in zip(cells, schedule.shares, strict=True)}
        queue, lock, outcomes = CellQueue(schedule), threading.Lock(), [INTERRUPTED] * len(cells)

        def next_cell(ended: int | None = None) -> int | None:
            with lock:
                if ended is not None:
                    queue.end(ended)
                return None if self.command.stop.is_set() else queue.start()

        def work(number: int | None) -> None:
            while number is not None:
                outcomes[number] = self.run(cells[number])
                number = next_cell(number)
            self._close_pool()  # its memory is another cell's now

        executor, threads = ThreadPoolExecutor(max(1, len(cells)), thread_name_prefix=JOB), list[Future[None]]()
        while not self.abandoned():
            while (number := next_cell()) is not None:
                threads.append(executor.submit(work, number))
            if not wait(threads, timeout=0.2).not_done:  # wakes up for signals
                break
            if self.command.stop.is_set():
                self.interrupt()
        ended, waiting = wait(threads, timeout=0)
        executor.shutdown(wait=not waiting)
        for thread in ended:
            thread.result()
        return outcomes

    def run(self, cell: Cell) -> str:
        """Run one cell to its end and return how it ended; a failure is reported here and stays here."""
        if self.command.stop.is_set():
            return INTERRUPTED
        ONE_THREAD.renew()
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
            if run is not None and run.loop.phase == WAITS:
                pool = self._pools[thread][1]
                if isinstance(pool, SerialPool) and pool.abandon(run.save_for):
                    self._abandoned.add(thread)
            elif (run is None or run.loop.phase == BEGINS) and time.monotonic() - self._interrupted > GRACE:
                self._abandoned.add(thread)

    def abandoned(self) -> bool:
        """Whether no thread is left but abandoned ones."""
        return bool(self._abandoned) and self._abandoned >= self._runs.keys()

    def close(self) -> None:
        """End all workers but those of abandoned threads, which still use their pool: they end with this process."""
        with self._limit:
            for thread in [*self._pools]:
                self._close_pool(thread)
            self.command.pauses.close()

    def _close_pool(self, thread: int | None = None) -> None:
        """End the workers of a thread, by default of this one."""
        thread = threading.get_ident() if thread is None else thread
        if thread in self._pools and thread not in self._abandoned:
            self._pools.pop(thread)[1].close()

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
            share = self._shares.get(cell.directory)
            exclusive = self._at_once <= 1 or bool(share and share.exclusive)
            together = {"cells_at_once": max(1, self._at_once), "exclusive": exclusive}
            run = RunningCell(cell, directory, self.pool(cell), self.command, together)
            self._runs[threading.get_ident()] = run
            run.loop.run()
            run.finish()
        except Interrupted:
            return run.end(INTERRUPTED, "") if run else INTERRUPTED
        except Abandoned:
            return INTERRUPTED  # `interrupt` has saved it
        except LostLease as error:
            self.command.display.failed(cell.label, str(error))
            return FAILED
        except Exception as error:
            message = explained(error, directory, run.pool.store if run else None)
            if finished and (run is None or not run.loop.begun):  # it could not be extended
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
            self.command.display.finished(cell.label, run.outcome())
            return DONE
        finally:
            if run is not None:
                run.close()

    def _damaged(self, cell: Cell, directory: RunDirectory, status: dict[str, Any]) -> bool:
        """Whether the files of a finished run are no longer those that it wrote, which is then reported."""
        damaged = directory.damaged(table_in(status, "files"))
        if damaged:
            self.command.display.failed(
                cell.label,
                f"{directory.path} was done, but is damaged: {', '.join(damaged)}; put back a copy, or start anew by "
                "--force (the old run is moved aside)",
            )
        return bool(damaged)

    def pool(self, cell: Cell) -> Pool:
        """This thread's pool, made anew when the cell needs another one."""
        options = self.command.options
        share = self._shares.get(cell.directory)
        one_core = options.one_core or cell.one_core
        wanted = PoolOptions(
            processes=share.processes if share else processes_for(cell, options),
            device=options.device,
            task_timeout=options.task_timeout,
            one_core=one_core,
            anyway=options.anyway,
            worker_memory=options.worker_memory,
        )
        thread = threading.get_ident()
        known, pool = self._pools.get(thread, (None, None))
        if pool is None or known != wanted or pool.store.gone:
            if pool is not None:
                pool.close()
            pool = make_pool(options.pool, wanted)
            self._pools[thread] = wanted, pool
        pool.reset()  # ids of tasks and arrays begin anew with each cell
        pool.store.clear()
        return pool
