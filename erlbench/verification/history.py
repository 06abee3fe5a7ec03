"""What the history of a run leaves unverifiable: earlier runs of its seed, a bundle's redaction, another program."""

from __future__ import annotations

from collections.abc import Iterator

from erlbench.records.imported import Imported
from erlbench.records.run import REDACTED
from erlbench.verification.check import AGREES, UNKNOWN, Check, Files
from erlbench.verification.claims import check_claims
from erlbench.verification.rows import check_rows
from erlbench.words import counted
from erlbench.work.repeats import repeats_of, scores_in_words

OF_FILES = ("status", "checksums", "damage", "evaluations", "folder")  # the others need what this suite records


def check_starts(run: Files) -> Check:
    """`UNKNOWN` where earlier runs were moved aside, as nobody can verify why this one was kept."""
    if repeats := repeats_of(run.path):
        earlier = counted(len(repeats), "earlier run")
        return Check("starts", UNKNOWN, f"{earlier} of this seed moved aside by --force: {scores_in_words(repeats)}")
    if not run.meta.get("format"):
        return Check("starts", UNKNOWN, "the run did not record whether earlier runs of its seed were moved aside")
    return Check("starts", AGREES, f"no earlier run of this seed is recorded; {counted(len(run.starts), 'start')}")


def check_redaction(run: Files) -> Iterator[Check]:
    """One check, `UNKNOWN`, where status.json says that files are redacted copies; none elsewhere."""
    said = run.status.get(REDACTED)
    if isinstance(said, dict) and said:
        names = "; ".join(f"{str(name)[:40]}, {str(before)[:40]} before" for name, before in list(said.items())[:3])
        yield Check("redaction", UNKNOWN, f"redacted for a bundle, with a new checksum in status.json: {names}")


def check_imported(run: Files, about: Imported) -> Iterator[Check]:
    """The checks of an imported run's files, which agree with each other, and what cannot be verified."""
    yield from (check for check in (*check_rows(run), *check_claims(run)) if check.name in OF_FILES)
    sources = ", ".join(about.sources) or "files that are not named"
    yield Check(
        "imported", UNKNOWN,
        f"taken from {sources} ({about.format}) of {about.origin}: that these runs were made, with which settings, "
        "software and machine, nobody can verify from them",
    )  # fmt: skip
