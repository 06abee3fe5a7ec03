"""What is refused before a cell starts: its folder, and a run in it that may not, or cannot, go on here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.experiment.studies import add_studies
from erlbench.files import table_in
from erlbench.machine import kernel
from erlbench.records.config import imported_of
from erlbench.records.run import CHECKPOINTS, META, TRAINING_END
from erlbench.running import extension
from erlbench.running.admission import Rules, identity_of, rules_of
from erlbench.running.checkpoint import FORMAT, format_of, unreadable
from erlbench.running.live_curves import check_installed
from erlbench.running.results import DONE, RunDirectory
from erlbench.work import identity as recorded_identity


def check_directories(cells: Sequence[Cell], options: RunOptions) -> None:
    """Refuse, before anything starts, what cannot go well: other settings, a held lock, an unwritable folder."""
    if options.tensorboard:
        check_installed()
    for cell in cells:
        directory = RunDirectory(cell.directory)
        if not cell.directory.exists():
            directory.check_parent()
            continue
        directory.hold()
        try:
            saved = None if options.force else directory.known_config()
            if not options.force:
                check_continuing(directory, cell, options)
        finally:
            directory.release()
        if saved and imported_of(saved):
            raise UsageError(f"{cell.directory} holds an imported run; choose another --out or --name")
        if saved and extension.asked(saved, cell):
            extension.check(cell, directory)
        elif saved and (different := cell.departures(saved)):
            raise UsageError(
                f"{cell.directory} holds a run with other settings ({'; '.join(different)}); "
                "choose another --out or --name, or start anew by --force (the old run is moved aside)"
            )
    if options.force:  # now that none of them is held
        for cell in cells:
            RunDirectory(cell.directory).move_aside()
    add_studies(options.study_texts)


def check_continuing(directory: RunDirectory, cell: Cell, options: RunOptions) -> None:
    """Raise `UsageError` when the run in `directory` would go on as something else than it was begun as."""
    meta, status = directory.meta(), directory.status()
    written = meta.get("format")
    if isinstance(written, int) and written > FORMAT:
        raise UsageError(
            f"{directory.path} was written by a later version of erlbench (format {written}, here {FORMAT}); install "
            "that version, choose another --out, or start anew by --force (the old run is moved aside)"
        )
    if status.get("status") == DONE and not extension.pending(status, cell):
        return
    _check_format(directory, TRAINING_END if status.get("status") == DONE else CHECKPOINTS)
    if not options.anyway:
        _check_kernel(directory, meta, cell)
        _check_identity(directory, meta, cell, rules_of(options))


def _check_format(directory: RunDirectory, folder: str) -> None:
    """Refuse checkpoints that this version cannot read as they were meant."""
    found = format_of(directory.path / folder)
    if found is not None and (reason := unreadable(found)):
        raise UsageError(
            f"{directory.path / folder} cannot be gone on from: {reason}; finish the run with the version that began "
            "it, or start anew by --force (the old run is moved aside)"
        )


def _check_kernel(directory: RunDirectory, meta: Mapping[str, Any], cell: Cell) -> None:
    """Refuse another kernel than that of the last start, as the run's numbers would be of both."""
    if not meta and (path := directory.path / META).exists():
        raise UsageError(
            f"{path} cannot be read, so nobody knows with which arithmetic the run was begun; put it back, go on by "
            "--anyway, or start anew by --force"
        )
    before = str(meta.get("arithmetic") or "")
    if before and before != (now := kernel.in_words(kernel.describe(), registry.learns(cell.algo))):
        raise UsageError(
            f"{directory.path} was begun with other arithmetic ({before}) than is here ({now}), which gives other "
            f"numbers; set the variables that choose the kernel ({kernel.CHOICE}, OPENBLAS_CORETYPE, ...) as they "
            "were, go on by --anyway (the report says so), or start anew by --force"
        )


def _check_identity(directory: RunDirectory, meta: Mapping[str, Any], cell: Cell, rules: Rules) -> None:
    """Refuse another problem or other software than that of the last start; what was not recorded refuses nothing."""
    before = recorded_identity.last_recorded(meta)
    if before and (different := recorded_identity.changes(before, identity_of(cell, rules))):
        raise UsageError(
            f"{directory.path} was begun with something else than is here: {'; '.join(different)}; put back what it "
            "was begun with, go on by --anyway (the report says so), or start anew by --force"
        )


def check_run_files(directory: RunDirectory) -> None:
    """Raise `UsageError` when files are gone or changed of what a run in `directory` has reached."""
    status = directory.status()
    if status.get("status") == DONE and (damaged := directory.damaged(table_in(status, "files"))):
        raise UsageError(
            f"{directory.path} was done, but is damaged: {', '.join(damaged)}; put back a copy, or start anew by "
            "--force (the old run is moved aside)"
        )
    begun = directory.has_checkpoint() or (status and directory.has_training_end())
    if status.get("status") != DONE and directory.has_rows() and not begun:
        raise UsageError(
            f"{directory.path} holds rows but no checkpoint to go on from, and its status.json does not say that "
            "they are whole; put back what is missing, or start anew by --force (the old run is moved aside)"
        )
