"""Verifying a finished run from its files: rows, checksums, software, and the saved policy, played again."""

from __future__ import annotations

from pathlib import Path

from erlbench.verification.check import AGREES, DIFFERS, UNKNOWN, Check, Files, load_files
from erlbench.verification.policy import check_policies
from erlbench.verification.rows import check_rows
from erlbench.verification.software import check_software

__all__ = ["AGREES", "DIFFERS", "UNKNOWN", "Check", "Files", "load_files", "verify"]


def verify(path: Path, trusted: bool = False, processes: int = 0) -> list[Check]:
    """All checks of the run in a folder; raises `UsageError` when its config.toml cannot be read.

    `trusted` imports the module of an environment `MODULE:ID`, to play the policies; `processes` share that work.
    """
    run = load_files(path)
    software = check_software(run)
    return [*check_rows(run), software, *check_policies(run, software, trusted, processes)]
