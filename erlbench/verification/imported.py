"""What can be checked of a run that another program made: its files agree with each other, and no more."""

from __future__ import annotations

from collections.abc import Iterator

from erlbench.records.imported import Imported
from erlbench.verification.check import UNKNOWN, Check, Files
from erlbench.verification.claims import check_claims
from erlbench.verification.rows import check_rows

OF_FILES = ("status", "checksums", "damage", "evaluations", "folder")  # the others need what this suite records


def check_imported(run: Files, about: Imported) -> Iterator[Check]:
    """The checks of its files, and what cannot be verified."""
    yield from (check for check in (*check_rows(run), *check_claims(run)) if check.name in OF_FILES)
    sources = ", ".join(about.sources) or "files that are not named"
    yield Check(
        "imported", UNKNOWN,
        f"taken from {sources} ({about.format}) of {about.origin}: that these runs were made, with which settings, "
        "software and machine, nobody can verify from them",
    )  # fmt: skip
