"""The cells of a command: checks before anything starts, cells side by side, signals, and the exit code."""

from __future__ import annotations

import contextlib
import shlex
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import FrameType
from typing import Any

from erlbench.errors import CellError, Interrupted, UsageError
from erlbench.experiment.cells import LOCAL, Cell, RunOptions
from erlbench.experiment.schedule import CellQueue, CellSchedule
from erlbench.experiment.studies import add_studies
from erlbench.machine.process import allow_workers
from erlbench.machine.threads import ONE_THREAD
from erlbench.pool import Pool, PoolOptions, connected, make_pool
from erlbench.running.cell import CommandContext, open_run, record_error
from erlbench.running.checkpoint import saved_steps
from erlbench.running.folder import DONE, FAILED, INTERRUPTED, RunFolder
from erlbench.running.lease import LostLease
from erlbench.running.loop import Run
from erlbench.running.progress import Display
from erlbench.running.refusals import check_cells, check_run_files, is_short
from erlbench.running.scheduling import processes_for, schedule_cells

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_cells(
    cells: Sequence[Cell],
    options: RunOptions,
    schedule: CellSchedule | None = None,
    stop: threading.Event | None = None,
) -> int:
    """Run all cells and return the exit code: 0 all done, 1 some failed, 130 interrupted, as by setting `stop`.

    `schedule`: that of `schedule_cells`, where the caller has made it.
    """
    stop = stop or threading.Event()
    runner_here: list[CellRunner] = []  # the one of this thread
    with connected(options.pool), catch_signals(stop, lambda: any(runner.interrupt() for runner in runner_here)):
        _allow_workers(cells, options)
        check_cells(cells, options)
        if options.force:
            for cell in cells:
                RunFolder(cell.directory).move_aside()
        add_studies(options.study_texts)
        schedule = schedule or schedule_cells(cells, options)
        at_once = schedule.forecast().at_once
        display = Display(options.verbosity, len(cells))
        shares = {cell.directory: share for cell, share in zip(cells, schedule.shares, strict=True)}
        context = CommandContext(options=options, display=display, stop=stop, shares=shares, at_once=at_once)
        try:
            outcomes = Counter(run_all(context, cells, schedule, runner_here))
        finally:
            context.pauses.close()
            display.close()
    if outcomes[INTERRUPTED]:
        if options.command_line[:1] == ("erlbench",):  # a Python function's caller says how to go on
            display.message(f"{interruption(anything_saved(cells))}:\n{shlex.join(options.command_line)}")
        return Interrupted.exit_code
    display.summary(_summary(outcomes, cells))
    return 1 if outcomes[FAILED] else 0


def run_all(
    context: CommandContext, cells: Sequence[Cell], schedule: CellSchedule, here: list[CellRunner]
) -> list[str]:
    """Run the cells by `schedule`; how each of them ended.

    One at a time runs in this thread, by a runner that is added to `here`; several run in threads.
    """
    queue, lock, outcomes = CellQueue(schedule), threading.Lock(), [INTERRUPTED] * len(cells)

    def next_cell(ended: int | None = None) -> int | None:
        with lock:
            if ended is not None:
                queue.end(ended)
            return None if context.stop.is_set() else queue.start()

    def work(number: int | None, begun: Callable[[CellRunner], None] = lambda runner: None) -> None:
        runner = CellRunner(context)
        begun(runner)
        with contextlib.closing(runner):  # its memory is another cell's afterwards
            while number is not None:
                outcomes[number] = runner.run(cells[number])
                number = next_cell(number)

    if context.at_once <= 1:
        work(next_cell(), here.append)
        return outcomes
    threads: list[Future[None]] = []
    with ThreadPoolExecutor(len(cells)) as executor:
        while True:
            while (number := next_cell()) is not None:
                threads.append(executor.submit(work, number))
            if not wait(threads, timeout=0.2).not_done:  # wakes up for signals
                break
    for thread in threads:
        thread.result()
    return outcomes


class CellRunner:
    """Runs cells one after another in a thread, on one pool as long as they need the same one.

    From here to `close` the libraries of this process compute with one thread.
    """

    def __init__(self, context: CommandContext) -> None:
        self.context = context
        self._pool: tuple[PoolOptions, Pool] | None = None
        self._starting = False
        self._run: Run | None = None
        self._limit = contextlib.ExitStack()
        self._limit.enter_context(ONE_THREAD.hold())

    def run(self, cell: Cell) -> str:
        """Run one cell to its end and return how it ended; a failure is reported here and stays here."""
        if self.context.stop.is_set():
            return INTERRUPTED
        ONE_THREAD.renew()
        directory = RunFolder(cell.directory)
        try:
            directory.hold()
        except UsageError as error:
            return self._fail(cell, str(error))
        try:
            return self._run_held(cell, directory)
        finally:
            directory.release()

    def _run_held(self, cell: Cell, directory: RunFolder) -> str:
        try:
            check_run_files(directory)
        except UsageError as error:
            return self._fail(cell, str(error))
        if directory.status().get("status") == DONE:
            directory.discard_checkpoints()  # its last start may have been killed before that
            if not is_short(directory.status(), cell):
                self.context.display.finished(cell.label, f"already done in {directory.path}")
                return DONE
            if self.context.options.verbosity >= 0:
                steps = directory.status().get("timesteps", 0)
                self.context.display.message(f"{cell.label}: goes on from {steps:,} steps")
        return self._train(cell, directory)

    def interrupt(self) -> bool:
        """Have what its thread does now done again by the next start; False where it must go on.

        It can be left while a run starts, and in a task that runs in this process: the handler of a signal may raise
        KeyboardInterrupt there.
        """
        return self._run.pool.interrupt_task() if self._run is not None and self._run.begun else self._starting

    def close(self) -> None:
        """End the workers."""
        with self._limit:
            if self._pool is not None:
                self._pool[1].close()

    def _train(self, cell: Cell, directory: RunFolder) -> str:
        finished = directory.read_changed_files() if directory.status().get("status") == DONE else {}
        run = shown = None
        self._starting = True
        with contextlib.ExitStack() as opened:
            try:
                run, shown = open_run(cell, directory, self._pool_for(cell), self.context, opened)
                self._run = run
                run.run()
                outcome = shown.finish(run)
            except (Interrupted, KeyboardInterrupt):
                return shown.end(run, INTERRUPTED, "") if run and shown else INTERRUPTED
            except LostLease as error:
                return self._fail(cell, str(error))
            except Exception as error:
                self._starting = False
                has_begun = run is not None and run.begun
                if finished and not has_begun:  # it could not be extended
                    directory.restore_files(finished)
                if self.context.stop.is_set() and not has_begun:
                    return INTERRUPTED  # what a library has made of the signal, such as an ImportError
                message = record_error(error, directory, run.pool.store if run else None)
                if run and shown and (has_begun or not finished):
                    shown.end(run, FAILED, message)
                elif not finished:
                    with contextlib.suppress(OSError, CellError):
                        directory.write_status(status=FAILED, message=message)
                return self._fail(cell, message)
            finally:
                self._run, self._starting = None, False
        directory.discard_checkpoints()
        self.context.display.finished(cell.label, outcome)
        return DONE

    def _fail(self, cell: Cell, message: str) -> str:
        self.context.display.failed(cell.label, message)
        return FAILED

    def _pool_for(self, cell: Cell) -> Pool:
        """The pool, made anew when the cell needs another one."""
        options, share = self.context.options, self.context.shares.get(cell.directory)
        wanted = PoolOptions(
            processes=share.processes if share else processes_for(cell, options),
            device=options.device,
            task_timeout=options.task_timeout,
            anyway=options.anyway,
            worker_memory=options.worker_memory,
        )
        if self._pool is not None and (self._pool[0] != wanted or self._pool[1].store.gone):
            self._pool[1].close()
            self._pool = None
        if self._pool is None:
            self._pool = wanted, make_pool(options.pool, wanted)
        pool = self._pool[1]
        pool.reset()  # ids of tasks and arrays begin anew with each cell
        pool.store.clear()
        return pool


def anything_saved(cells: Iterable[Cell]) -> bool:
    """Whether any of the cells is done, or has a checkpoint to continue from."""
    directories = [RunFolder(cell.directory) for cell in cells]
    return any(run.status().get("status") == DONE or saved_steps(run.path) is not None for run in directories)


def interruption(saved: bool) -> str:
    """What an interrupted command says before the command that is to be given again."""
    if saved:
        return "interrupted; everything is saved. To go on"
    return "interrupted before the first checkpoint. To start again from 0"


def _allow_workers(cells: Sequence[Cell], options: RunOptions) -> None:
    """Have room for the open files of all workers that run at once, on this machine."""
    if options.pool == LOCAL:
        most = sorted(processes_for(cell, options) or 0 for cell in cells)[-(options.jobs or 1) :]
        allow_workers(max(sum(most), options.processes if options.jobs is None else 0))


def _summary(outcomes: Counter[str], cells: Sequence[Cell]) -> str:
    """What there is at the end, and the command that comes next."""
    folders = shlex.join(dict.fromkeys(str(cell.out) for cell in cells))
    alone = len(cells) == 1
    done = f"{outcomes[DONE]} of {len(cells)} {'cell' if alone else 'cells'} done"
    if outcomes[FAILED]:
        done += f", {outcomes[FAILED]} failed"
    if not any(cell.directory.exists() for cell in cells):
        return done
    look = f" (erlbench show {folders})" if outcomes[FAILED] else ""
    result = str(cells[0].directory) if alone else folders
    return f"{done}{look}. Results: {result}\nNext: erlbench report {folders}"


@contextlib.contextmanager
def catch_signals(stop: threading.Event, interrupt: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Inside, a signal of `STOPPING` sets `stop`; a second one acts as it does outside.

    Where `interrupt` gives True, what this thread does ends by KeyboardInterrupt: a task, which runs again later.
    """
    before: dict[signal.Signals, Any] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        stop.set()
        for signal_number, handler in before.items():
            signal.signal(signal_number, handler)
        if interrupt():
            raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        for number in STOPPING:
            if signal.getsignal(number) != signal.SIG_IGN:  # as nohup and shells without job control set it
                before[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        for signal_number, handler in before.items():
            signal.signal(signal_number, handler)
