"""Extending a finished run: which runs can go on with a larger budget, and why others cannot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.experiment.cells import Cell
from erlbench.records.run import TRAINING_END
from erlbench.running.results import RunDirectory


def asked(saved: Mapping[str, Any], cell: Cell) -> bool:
    """Whether `cell` is the run of the configuration `saved`, with a larger budget."""
    before = saved.get("run", {})
    there = before.get("total_timesteps") if isinstance(before, Mapping) else None
    if not isinstance(there, int) or there >= cell.total_timesteps:
        return False
    return not cell.departures({**saved, "run": {**before, "total_timesteps": cell.total_timesteps}})


def pending(status: Mapping[str, Any], cell: Cell) -> bool:
    """Whether a finished run with this status.json has a smaller budget than `cell`."""
    budget = status.get("total_timesteps")
    return isinstance(budget, int) and budget < cell.total_timesteps


def is_complete(cell: Cell) -> bool:
    """Whether the run of a cell is finished, with the budget that the cell has."""
    status = RunDirectory(cell.directory).status()
    return status.get("status") == "done" and not pending(status, cell)


def keeps_end(cell: Cell, directory: RunDirectory, save_replay: bool) -> bool:
    """Whether the run keeps a checkpoint of its training's end: what was extended once can be extended again."""
    return not _dependence(cell) and (save_replay or directory.has_training_end() or not _learns_from_replay(cell))


def useless_replays(cells: Iterable[Cell]) -> dict[str, str]:
    """The names of runs that would not keep their replay although asked to, each with the reason."""
    return {cell.name: reason for cell in cells if _learns_from_replay(cell) and (reason := _dependence(cell))}


def check(cell: Cell, directory: RunDirectory) -> None:
    """Raise `UsageError` with the reason when the run in `directory` cannot go on with the budget of `cell`."""
    if not (reason := _obstacle(cell, directory)):
        return
    raise UsageError(
        f"{directory.path} holds a run with a smaller budget, which cannot be extended to {cell.total_timesteps:,} "
        f"steps: {reason}; choose another --out or --name, or start anew by --force (the old run is moved aside)"
    )


def _obstacle(cell: Cell, directory: RunDirectory) -> str:
    """Why the run cannot be extended; empty when it can."""
    if reason := _dependence(cell):
        return reason
    if directory.status().get("status") != "done":
        return "it is not finished; finish it with its own budget first"
    if not directory.has_training_end():
        more = " (a run keeps its replay only with --save-replay)" if _learns_from_replay(cell) else ""
        return f"it has no {TRAINING_END}/{more}"
    return ""


def _dependence(cell: Cell) -> str:
    """What in the results depends on the budget, or on time."""
    algorithm = registry.find(cell.algo)
    if not algorithm.is_synchronous(cell.settings):
        return f"{cell.name} is asynchronous"
    return algorithm.depends_on_budget(cell.settings)


def _learns_from_replay(cell: Cell) -> bool:
    return registry.find(cell.algo).critic_updates > 0
