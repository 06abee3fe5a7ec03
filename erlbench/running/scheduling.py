"""What each cell of a command can use of this machine, and the schedule of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from erlbench.algorithms import registry
from erlbench.envs.registry import remember_problems
from erlbench.experiment.cells import LOCAL, Cell, RunOptions
from erlbench.experiment.estimate import estimate_cell, never_timed
from erlbench.experiment.schedule import CellSchedule, Share, plan
from erlbench.machine.description import gpus
from erlbench.machine.resources import available_memory
from erlbench.running import refusals
from erlbench.running.admission import problem_finder, rules_of

MEMORY = 0.9  # the share of the free memory that cells at once may take by their estimates
NOTHING_TO_DO = Share(processes=1, done=True)
Estimated = Callable[[Cell, int], Share]


def schedule_cells(cells: Sequence[Cell], options: RunOptions) -> CellSchedule:
    """When the cells run: `jobs` at once in the order given, or without that number as many as the machine carries."""
    estimated = partial(estimate_cell, problem_of=remember_problems(problem_finder(rules_of(options))))
    if options.jobs is not None:
        shares = [
            NOTHING_TO_DO if _is_done(cell, options) else _share(cell, processes_for(cell, options), estimated)
            for cell in cells
        ]
        return CellSchedule(tuple(shares), range(len(shares)), jobs=options.jobs)
    gpu = options.device != "cpu" and bool(gpus())
    kinds: dict[Share | str, tuple[Share, ...]] = {
        NOTHING_TO_DO: (NOTHING_TO_DO,)
    }  # of configurations, which seeds share
    demands = []
    for cell in cells:
        kind = NOTHING_TO_DO if _is_done(cell, options) else repr(replace(cell, seed=0))
        if kind not in kinds:
            kinds[kind] = tuple(_demand(cell, options, estimated, gpu))
        demands.append(kinds[kind])
    return plan(demands, cores=max(1, options.processes), memory=MEMORY * available_memory())


def _demand(cell: Cell, options: RunOptions, estimated: Estimated, gpu: bool) -> Iterator[Share]:
    """What a cell takes with each number of processes that it can use.

    A synchronous one has any number. One whose results depend on the clock has so many that more would not make it
    faster: by the estimate, or one for each individual in flight and the critic where no step of its environment was
    timed. One whose minutes are the question has all of these, and a core for the main process. So neither depends on
    the other cells. Cells that learn on a GPU run one at a time.
    """
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


def _is_done(cell: Cell, options: RunOptions) -> bool:
    return not options.force and refusals.is_complete(cell)


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
