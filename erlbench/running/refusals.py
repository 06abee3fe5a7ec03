"""What is refused before a cell starts: its folder, and a run in it that may not, or cannot, go on or be extended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.files import table_in
from erlbench.machine import kernel
from erlbench.records.older import read_version
from erlbench.records.run import (
    CONFIG,
    META,
    POLICY,
    ROWS,
    TRAINING_END,
    checked,
    config_hash,
    later_version,
    read_imported,
    starts,
)
from erlbench.running.admission import identify_problem, make_rules
from erlbench.running.checkpoint import unreadable
from erlbench.running.folder import DONE, RunFolder
from erlbench.work.identity import changes, last_identity


def check_cells(cells: Sequence[Cell], options: RunOptions) -> None:
    """Refuse, before a cell starts, what cannot go well: other settings, a lease of another driver, a bad folder."""
    if options.tensorboard:
        from erlbench.running.live_curves import check_installed

        check_installed()
    for cell in cells:
        directory = RunFolder(cell.directory)
        if not cell.directory.exists():
            directory.check_parent()
            continue
        directory.hold()
        try:
            check_saved(directory, cell, options)
        finally:
            directory.release()


def check_saved(directory: RunFolder, cell: Cell, options: RunOptions) -> None:
    """Raise `UsageError` when `cell` cannot go on from the run in `directory`, or is another one."""
    if options.force:
        return
    saved = directory.saved_config()
    check_continuing(directory, cell, options)
    if not saved:
        return
    if read_imported(saved):
        raise UsageError(f"{cell.directory} holds an imported run; choose another --out or --name")
    recorded = [start.get("config_sha256") for start in starts(directory.meta())]
    if not is_complete(cell) and any(recorded) and config_hash(directory.path) not in recorded:
        raise UsageError(
            f"{directory.path / CONFIG} was edited since the run's last start, and its rows would be of two "
            "configurations; put it back, or start anew by --force (the old run is moved aside)"
        )
    larger = is_larger(saved, cell)
    if larger and (reason := _obstacle(cell, directory)):
        raise UsageError(
            f"{directory.path} holds a run with a smaller budget, which cannot be extended to "
            f"{cell.total_timesteps:,} steps: {reason}; choose another --out or --name, or start anew by --force "
            "(the old run is moved aside)"
        )
    if not larger and (different := cell.departures(saved)):
        raise UsageError(
            f"{cell.directory} holds a run with other settings ({'; '.join(different)}); "
            "choose another --out or --name, or start anew by --force (the old run is moved aside)"
        )


def check_continuing(directory: RunFolder, cell: Cell, options: RunOptions) -> None:
    """Raise `UsageError` when the run in `directory` would go on as something else than it was begun as."""
    meta, status = directory.meta(), directory.status()
    if later := later_version(meta):
        raise UsageError(
            f"{directory.path} was written by {later}; install that version, choose another --out, or start anew by "
            "--force (the old run is moved aside)"
        )
    if status.get("status") == DONE and not is_short(status, cell):
        return
    written = meta.get("format", 2 if read_version(meta) == (0, 1, 0) else None)  # that version did not record it
    if isinstance(written, int) and (reason := unreadable(written)):
        raise UsageError(
            f"{directory.path} cannot be gone on from: {reason}; finish the run with the version that began it, or "
            "start anew by --force (the old run is moved aside)"
        )
    if not options.anyway:
        _check_kernel(directory, meta, cell)
        _check_identity(directory, meta, cell, options)


def _check_kernel(directory: RunFolder, meta: Mapping[str, Any], cell: Cell) -> None:
    """Refuse another kernel than the last start's, as the run's numbers would be of both."""
    if not meta and (path := directory.path / META).exists():
        raise UsageError(
            f"{path} cannot be read, so the arithmetic at the run's start is unknown; put it back, go on by "
            "--anyway, or start anew by --force"
        )
    before = str(meta.get("arithmetic") or "")
    if before and before != (now := kernel.in_words(kernel.describe(), registry.learns(cell.algo))):
        raise UsageError(
            f"{directory.path} was begun with other arithmetic ({before}) than is here ({now}), which gives other "
            f"numbers; set the variables that choose the kernel ({kernel.CHOICE}, OPENBLAS_CORETYPE, ...) as they "
            "were, go on by --anyway (the report notes it), or start anew by --force"
        )


def _check_identity(directory: RunFolder, meta: Mapping[str, Any], cell: Cell, options: RunOptions) -> None:
    """Refuse another problem or other software than the last start's; values that were not recorded refuse nothing."""
    before = last_identity(meta)
    if before and (different := changes(before, identify_problem(cell, make_rules(options)))):
        raise UsageError(
            f"{directory.path} was begun with something else than is here: {'; '.join(different)}; put back what it "
            "was begun with, go on by --anyway (the report notes it), or start anew by --force"
        )


def check_run_files(directory: RunFolder, cell: Cell) -> None:
    """Raise `UsageError` when files are gone or changed of what the run of `cell` in `directory` has reached."""
    status = directory.status()
    sums = table_in(status, "files") if status.get("status") == DONE else {}
    problems = {name: checked(directory.path / name, sums[name])[1] for name in (*ROWS, POLICY) if name in sums}
    if damaged := [f"{name} ({problem})" for name, problem in problems.items() if problem]:
        raise UsageError(
            f"{directory.path} was done, but is damaged: {', '.join(damaged)}; put back a copy, or start anew by "
            "--force (the old run is moved aside)"
        )
    begun = directory.has_checkpoint() or (status and directory.has_checkpoint(TRAINING_END))
    if not is_complete(cell) and directory.has_rows() and not begun:
        raise UsageError(
            f"{directory.path} holds rows but no checkpoint to go on from, and its status.json does not say that "
            "they are whole; put back what is missing, or start anew by --force (the old run is moved aside)"
        )


# -- extending a finished run: with a larger budget --------------------------------------------------------------------


def is_larger(saved: Mapping[str, Any], cell: Cell) -> bool:
    """Whether `cell` is the run of the configuration `saved`, with a larger budget."""
    before = table_in(saved, "run")
    budget = before.get("total_timesteps")
    if not isinstance(budget, int) or budget >= cell.total_timesteps:
        return False
    return not cell.departures({**saved, "run": {**before, "total_timesteps": cell.total_timesteps}})


def is_short(status: Mapping[str, Any], cell: Cell) -> bool:
    """Whether a finished run with this status.json has a smaller budget than `cell`."""
    budget = status.get("total_timesteps")
    return isinstance(budget, int) and budget < cell.total_timesteps


def is_complete(cell: Cell) -> bool:
    """Whether the run of a cell is finished, with the budget that the cell has."""
    status = RunFolder(cell.directory).status()
    return status.get("status") == DONE and not is_short(status, cell)


def keeps_end(cell: Cell, directory: RunFolder, save_replay: bool) -> bool:
    """Whether the run keeps a checkpoint of its training's end: what was extended once can be extended again."""
    return not _dependence(cell) and (
        save_replay or directory.has_checkpoint(TRAINING_END) or not _learns_from_replay(cell)
    )


def useless_replays(cells: Iterable[Cell]) -> dict[str, str]:
    """The names of runs that cannot be extended, although they learn from a replay, each with the reason."""
    return {cell.name: reason for cell in cells if _learns_from_replay(cell) and (reason := _dependence(cell))}


def _obstacle(cell: Cell, directory: RunFolder) -> str:
    """Why the run cannot be extended; empty when it can."""
    if reason := _dependence(cell):
        return reason
    if directory.status().get("status") != DONE:
        return "it is not finished; finish it with its own budget first"
    if not directory.has_checkpoint(TRAINING_END):
        hint = " (a run keeps its replay only with --save-replay)" if _learns_from_replay(cell) else ""
        return f"it has no {TRAINING_END}/{hint}"
    return ""


def _dependence(cell: Cell) -> str:
    """What in the results depends on the budget, or on time."""
    algorithm = registry.find(cell.algo)
    if not algorithm.is_synchronous(cell.settings):
        return f"{cell.name} is asynchronous"
    return algorithm.depends_on_budget(cell.settings)


def _learns_from_replay(cell: Cell) -> bool:
    return registry.find(cell.algo).critic_updates > 0
