"""Verifying a finished run from its files: rows, checksums, starts, software, and the saved policy, played again."""

from __future__ import annotations

from pathlib import Path

from erlbench.verification.check import AGREES, DIFFERS, UNKNOWN, Check, Files, load_files
from erlbench.verification.policy import check_policies
from erlbench.verification.rows import check_rows
from erlbench.verification.software import check_identity, check_software
from erlbench.verification.starts import check_starts
from erlbench.work.identity import recorded

__all__ = ["AGREES", "DIFFERS", "UNKNOWN", "Check", "Files", "load_files", "verify"]


def verify(path: Path, trusted: bool = False, processes: int = 0) -> list[Check]:
    """All checks of the run in a folder; raises `UsageError` when its config.toml cannot be read.

    `trusted` imports the modules of an environment `MODULE:ID` and of an algorithm that is not the suite's; `processes`
    share the work of playing its policies.
    """
    run = load_files(path)
    software, identity = check_software(run), check_identity(run, trusted)
    alike = software.outcome == AGREES and (identity.outcome == AGREES or not recorded(run.meta))
    return [*check_rows(run), check_starts(run), software, identity, *check_policies(run, alike, trusted, processes)]
