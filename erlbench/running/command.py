"""The cells of a command: checks before anything starts, cells side by side, signals, and the exit code."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from erlbench import files
from erlbench.algorithms import registry
from erlbench.envs.registry import remember_problems
from erlbench.errors import Interrupted
from erlbench.experiment.cells import LOCAL, Cell, RunOptions
from erlbench.experiment.estimate import estimate_cell, never_timed
from erlbench.experiment.schedule import CellQueue, CellSchedule, Share, plan
from erlbench.machine.description import gpus
from erlbench.machine.process import INTERRUPTION, allow_workers, available_memory
from erlbench.pool.base import connected
from erlbench.running.admission import make_rules, problem_finder
from erlbench.running.cell import CellRunner, CommandContext, processes_for
from erlbench.running.folder import DONE, FAILED, INTERRUPTED, RunFolder
from erlbench.running.progress import Display
from erlbench.running.refusals import check_cells, is_complete

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MEMORY = 0.9  # the share of the free memory that cells at once may take by their estimates
NOTHING_TO_DO = Share(processes=1, done=True)
Estimated = Callable[[Cell, int], Share]


def run_cells(
    cells: Sequence[Cell],
    options: RunOptions,
    schedule: CellSchedule | None = None,
    stop: threading.Event | None = None,
) -> int:
    """Run all cells and return the exit code: 0 all done, 1 some failed, 130 interrupted, as by setting `stop`.

    `schedule`: from `schedule_cells`, where the caller has made it.
    """
    stop = stop or threading.Event()
    with connected(options.pool), catch_signals(stop):
        _allow_workers(cells, options)
        check_cells(cells, options)
        if options.force:
            for cell in cells:
                RunFolder(cell.directory).move_aside()
        _add_studies(options.study_texts)
        schedule = schedule or schedule_cells(cells, options)
        at_once = schedule.forecast().at_once
        display = Display(options.verbosity, len(cells))
        shares = {cell.directory: share for cell, share in zip(cells, schedule.shares, strict=True)}
        context = CommandContext(options=options, display=display, stop=stop, shares=shares, at_once=at_once)
        try:
            outcomes = Counter(run_all(context, cells, schedule))
        finally:
            context.pauses.close()
            display.close()
    if outcomes[INTERRUPTED]:
        if options.command_line[:1] == ("erlbench",):  # a Python function's caller prints how to go on
            words = [word for word in options.command_line if word != "--force"]  # which would start anew
            display.message(f"interrupted. To go on:\n{shlex.join(words)}")
        return Interrupted.exit_code
    display.message(_summary(outcomes, cells), important=False)
    return 1 if outcomes[FAILED] else 0


def _add_studies(texts: Mapping[Path, Mapping[str, str]]) -> None:
    """Add those studies to files in folders of results that these lack, so that each folder answers for itself."""
    for path, by_name in texts.items():
        from erlbench.experiment.studies import load_studies  # not at the top: most commands name no study

        existing = load_studies(path) if path.exists() else {}
        if not (new := [text for name, text in by_name.items() if name not in existing]):
            continue
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        with files.writable(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            before = [files.read_text(path)] if existing else []
            with open(files.new_file(unfinished), "w", encoding="utf-8") as file:
                file.write("\n".join([*before, *new]))
            unfinished.replace(path)


def run_all(context: CommandContext, cells: Sequence[Cell], schedule: CellSchedule) -> list[str]:
    """Run the cells by `schedule`, one at a time in this thread, or several in threads; how each of them ended."""
    queue, lock, outcomes = CellQueue(schedule), threading.Lock(), [INTERRUPTED] * len(cells)

    def next_cell(ended: int | None = None) -> int | None:
        with lock:
            if ended is not None:
                queue.end(ended)
            return None if context.stop.is_set() else queue.start()

    def work(number: int | None) -> None:
        with contextlib.closing(CellRunner(context)) as runner:  # its memory is another cell's afterwards
            while number is not None:
                outcomes[number] = runner.run(cells[number])
                number = next_cell(number)

    if context.at_once <= 1:
        work(next_cell())
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
    following = f"\nNext: erlbench report {folders}" if outcomes[DONE] else ""
    return f"{done}{look}. Results: {result}{following}"


@contextlib.contextmanager
def catch_signals(stop: threading.Event) -> Iterator[None]:
    """Inside, a signal of `STOPPING` sets `stop`; a second one but SIGHUP acts as it does outside.

    A run that starts in this thread, or a task, ends by KeyboardInterrupt: the next start does it again.
    """
    before: dict[signal.Signals, Any] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        stop.set()
        for signal_number in before.keys() - {signal.SIGHUP}:  # a terminal that closes sends it twice
            signal.signal(signal_number, before[signal_number])
        if INTERRUPTION.allowed:
            INTERRUPTION.came = True
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


# -- what each cell can use of this machine, and when it runs ----------------------------------------------------------


def schedule_cells(cells: Sequence[Cell], options: RunOptions) -> CellSchedule:
    """When the cells run: `jobs` at once in the order given, or without that number as many as the machine carries."""
    estimated = partial(estimate_cell, find_problem=remember_problems(problem_finder(make_rules(options))))
    gpu = options.jobs is None and options.device != "cpu" and bool(gpus())
    by_kind: dict[str, Sequence[Share]] = {"": [NOTHING_TO_DO]}  # of configurations, which seeds share
    demands = []
    for cell in cells:
        kind = repr(replace(cell, seed=0)) if options.force or not is_complete(cell) else ""
        if kind not in by_kind:
            by_kind[kind] = [*_demand(cell, options, estimated, gpu)]
        demands.append(by_kind[kind])
    if options.jobs is not None:
        return CellSchedule(tuple(shares[0] for shares in demands), range(len(cells)), jobs=options.jobs)
    return plan(demands, cores=options.processes, memory=MEMORY * available_memory())


def _demand(cell: Cell, options: RunOptions, estimated: Estimated, gpu: bool) -> Iterator[Share]:
    """What a cell takes with each number of processes that it can use.

    A synchronous one has any number. One whose results depend on the clock has so many that more would not make it
    faster: by the estimate, or one for each individual in flight and the critic where no step of its environment was
    timed. One whose minutes are the question has all of these, and a core for the main process. So neither depends on
    the other cells. Cells that learn on a GPU run one at a time. With a number of jobs each has its job's share.
    """
    if options.jobs is not None:
        yield _share(cell, processes_for(cell, options), estimated)
        return
    algorithm = registry.find(cell.algo)
    most = processes_for(cell, options) or 0
    learns = algorithm.critic_updates > 0
    if learns and gpu:
        yield replace(_share(cell, most, estimated), cores=options.processes, exclusive=True)
        return
    busy = min(most, cell.workers + learns) if cell.workers and algorithm.bounded else most
    least, on_clock = 1, not cell.simulated_time
    timed = on_clock and (options.one_core or cell.one_core or cell.processes is not None)
    asynchronous = on_clock and not algorithm.is_synchronous(cell.settings)
    if cell.processes is not None:
        least = most
    elif timed:
        least = most = busy
    elif asynchronous:
        least = most = busy if never_timed([cell]) else _saturating(cell, busy, estimated)
    for processes in range(least, most + 1):
        cores = min(max(1, processes + timed), options.processes)
        yield replace(_share(cell, processes, estimated), cores=cores, exclusive=timed or asynchronous)


def _saturating(cell: Cell, most: int, estimated: Estimated) -> int:
    """The fewest processes with which a cell takes no longer than with `most`."""
    shortest = estimated(cell, most).seconds
    return next(number for number in range(1, most + 1) if estimated(cell, number).seconds <= shortest)


def _share(cell: Cell, processes: int | None, estimated: Estimated) -> Share:
    return replace(estimated(cell, processes or 1), processes=processes)
