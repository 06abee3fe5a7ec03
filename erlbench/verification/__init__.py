"""Verifying finished runs: files, rows, software, policies that play again, and runs that are copies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from erlbench.errors import UsageError
from erlbench.records.run import admission_marks, read_imported
from erlbench.verification.comparison import (
    check_admission,
    check_policies,
    compare_identity,
    compare_software,
    evaluation_marks,
    find_copies,
)
from erlbench.verification.files import (
    AGREES,
    DIFFERS,
    UNKNOWN,
    Check,
    Files,
    check_files,
    check_rows,
    load_files,
    make_check,
)
from erlbench.work.identity import list_identities


def verify_all(paths: Iterable[Path], trusted: bool = False) -> dict[Path, list[Check]]:
    """All checks of each run in a folder, and whether runs of different seeds are copies.

    A run whose config.toml cannot be read has one check with the reason. `trusted` imports the modules of an
    environment `MODULE:ID` and of an algorithm that is not the suite's.
    """
    checks: dict[Path, list[Check]] = {}
    marks = {}
    for path in paths:
        try:
            run = load_files(path)
        except UsageError as error:
            checks[path] = [Check("config", DIFFERS, str(error))]
            continue
        checks[path] = list(_check(run, trusted))
        marks[path] = (run.table("run").get("seed"), evaluation_marks(run))
    for path, check in find_copies(marks) if len(checks) > 1 else ():
        checks[path].append(check)
    return checks


def _check(run: Files, trusted: bool) -> Iterator[Check]:
    yield from check_files(run)
    yield from check_rows(run)
    if imported := read_imported(run.config):
        sources = ", ".join(imported.sources) or "files that are not named"
        who = f"{imported.origin}, who alone know settings, software and machine"
        yield Check("imported", UNKNOWN, f"taken from {sources} ({imported.format}) of {who}")
        return
    software = make_check("software", compare_software, run)
    identity = make_check("identity", compare_identity, run, trusted)
    yield from (software, identity, make_check("admission", check_admission, run))
    alike = software.outcome == AGREES and (identity.outcome == AGREES or not list_identities(run.meta))
    yield from check_policies(run, alike and not admission_marks(run.meta), trusted)
