"""Whether a run may go on here: its format, its arithmetic, and the identity of its problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.machine import kernel
from erlbench.records.run import CHECKPOINTS, META, TRAINING_END
from erlbench.running import extension
from erlbench.running.admission import Rules, rules_of
from erlbench.running.checkpoint import FORMAT, format_of, unreadable
from erlbench.running.identity import identity_of
from erlbench.running.results import RunDirectory
from erlbench.running.run import DONE
from erlbench.work import identity


def check(directory: RunDirectory, cell: Cell, options: RunOptions) -> None:
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
    _check_format(directory, cell, TRAINING_END if status.get("status") == DONE else CHECKPOINTS)
    if not options.force_kernel:
        _check_kernel(directory, meta, cell)
    if not options.force_identity:
        _check_identity(directory, meta, cell, rules_of(options))


def _check_format(directory: RunDirectory, cell: Cell, folder: str) -> None:
    """Refuse checkpoints that this version cannot read as they were meant."""
    found = format_of(directory.path / folder)
    if found is not None and (reason := unreadable(found, cell.simulated_time)):
        raise UsageError(
            f"{directory.path / folder} cannot be gone on from: {reason}; finish the run with the version that began "
            "it, or start anew by --force (the old run is moved aside)"
        )


def _check_kernel(directory: RunDirectory, meta: Mapping[str, Any], cell: Cell) -> None:
    """Refuse another kernel than that of the last start, as the run's numbers would be of both."""
    if not meta and (path := directory.path / META).exists():
        raise UsageError(
            f"{path} cannot be read, so nobody knows with which arithmetic the run was begun; put it back, go on by "
            "--force-kernel, or start anew by --force"
        )
    before = str(meta.get("arithmetic") or "")
    if before and before != (now := kernel.in_words(kernel.describe(), registry.learns(cell.algo))):
        raise UsageError(
            f"{directory.path} was begun with other arithmetic ({before}) than is here ({now}), which gives other "
            f"numbers; set the variables that choose the kernel ({kernel.CHOICE}, OPENBLAS_CORETYPE, ...) as they "
            "were, go on by --force-kernel (the report says so), or start anew by --force"
        )


def _check_identity(directory: RunDirectory, meta: Mapping[str, Any], cell: Cell, rules: Rules) -> None:
    """Refuse another problem or other software than that of the last start; what was not recorded refuses nothing."""
    before = identity.last_recorded(meta)
    if before and (different := identity.changes(before, identity_of(cell, rules))):
        raise UsageError(
            f"{directory.path} was begun with something else than is here: {'; '.join(different)}; put back what it "
            "was begun with, go on by --force-identity (the report says so), or start anew by --force"
        )
