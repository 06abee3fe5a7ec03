"""Running cells: checks before anything starts, the schedule, and the exit code."""

from __future__ import annotations

import shlex
import threading
from collections import Counter
from collections.abc import Iterable, Sequence

from erlbench.errors import Interrupted
from erlbench.experiment.cells import LOCAL, Cell, RunOptions
from erlbench.machine.descriptors import allow_workers
from erlbench.pool.registry import connected
from erlbench.running import signals
from erlbench.running.checkpoint import saved_steps
from erlbench.running.jobs import Runner
from erlbench.running.progress import Display
from erlbench.running.results import RunDirectory
from erlbench.running.run import DONE, FAILED, INTERRUPTED
from erlbench.running.scheduling import schedule_of
from erlbench.running.starting import check_directories, processes_for


def run_cells(cells: Sequence[Cell], options: RunOptions, stop: threading.Event | None = None) -> int:
    """Run all cells and return the exit code: 0 all done, 1 some failed, 130 interrupted, as by setting `stop`."""
    stop = stop or threading.Event()
    with connected(options.pool), signals.heeded(stop):
        return _run_cells(cells, options, stop)


def _run_cells(cells: Sequence[Cell], options: RunOptions, stop: threading.Event) -> int:
    _allow_workers(cells, options)
    check_directories(cells, options)
    schedule = schedule_of(cells, options)
    display = Display(options.verbosity, len(cells))
    runner = Runner(options, display, stop)
    try:
        outcomes = Counter(runner.run_all(cells, schedule))
    finally:
        runner.close()
        display.close()
    if outcomes[INTERRUPTED]:
        if options.command_line[:1] == ("erlbench",):  # a Python function's caller says how to go on
            display.message(f"{interruption(anything_saved(cells))}:\n{shlex.join(options.command_line)}")
        return Interrupted.exit_code
    display.summary(_summary(outcomes, cells))
    return 1 if outcomes[FAILED] else 0


def anything_saved(cells: Iterable[Cell]) -> bool:
    """Whether any of the cells is done, or has a checkpoint to continue from."""
    directories = [RunDirectory(cell.directory) for cell in cells]
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
    one = len(cells) == 1
    what = f"{outcomes[DONE]} of {len(cells)} {'cell' if one else 'cells'} done"
    if outcomes[FAILED]:
        what += f", {outcomes[FAILED]} failed"
    if not any(cell.directory.exists() for cell in cells):
        return what
    look = f" (erlbench show {folders})" if outcomes[FAILED] else ""
    where = str(cells[0].directory) if one else folders
    return f"{what}{look}. Results: {where}\nNext: erlbench report {folders}"
