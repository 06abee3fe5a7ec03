"""Verifying finished runs from their files: rows, checksums, claims, starts, software, policies, and copies."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from erlbench.errors import UsageError
from erlbench.records.admission import admission_marks
from erlbench.records.imported import imported_of
from erlbench.verification.across import check_across
from erlbench.verification.check import AGREES, DIFFERS, UNKNOWN, Check, Files, load_files
from erlbench.verification.claims import check_beginning, check_claims
from erlbench.verification.copies import check_copies, trace
from erlbench.verification.history import check_imported, check_redaction, check_starts
from erlbench.verification.policy import check_policies
from erlbench.verification.rows import check_rows
from erlbench.verification.software import check_admission, check_identity, check_software
from erlbench.work.identity import recorded

__all__ = ["AGREES", "DIFFERS", "UNKNOWN", "Check", "Files", "load_files", "verify", "verify_all"]


def verify(path: Path, trusted: bool = False, processes: int = 0, seconds: float | None = None) -> list[Check]:
    """All checks of the run in a folder; raises `UsageError` when its config.toml cannot be read.

    `trusted` imports the modules of an environment `MODULE:ID` and of an algorithm that is not the suite's; `processes`
    share the work of playing its policies, for which they have `seconds` (None: what its steps may take).
    """
    return _checks(load_files(path), trusted, processes, seconds)


def verify_all(
    paths: Iterable[Path], trusted: bool = False, processes: int = 0, seconds: float | None = None
) -> dict[Path, list[Check]]:
    """As `verify` of each run, and whether several of them are copies of one another.

    A run whose config.toml cannot be read has one check, which says why.
    """
    found: dict[Path, list[Check]] = {}
    traces = []
    for path in paths:
        try:
            run = load_files(path)
        except UsageError as error:
            found[path] = [Check("config", DIFFERS, str(error))]
            continue
        found[path] = _checks(run, trusted, processes, seconds)
        traces.append(trace(run))
    if len(found) > 1:
        for path, check in check_copies(traces).items():
            found[path].append(check)
    return found


def _checks(run: Files, trusted: bool, processes: int, seconds: float | None) -> list[Check]:
    if about := imported_of(run.config):
        return [*check_imported(run, about)]
    software, identity, admission = check_software(run), check_identity(run, trusted), check_admission(run)
    alike = software.outcome == AGREES and (identity.outcome == AGREES or not recorded(run.meta))
    alike = alike and not admission_marks(run.meta)
    return [
        *check_rows(run), *check_across(run), *check_claims(run), check_starts(run), *check_redaction(run),
        software, identity, admission, check_beginning(run, alike, trusted),
        *check_policies(run, alike, trusted, processes, seconds),
    ]  # fmt: skip
