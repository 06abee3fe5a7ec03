"""Whether a run's files are those of its bundle: what was redacted there cannot be verified any more."""

from __future__ import annotations

from collections.abc import Iterator

from erlbench.records.run import REDACTED
from erlbench.verification.check import UNKNOWN, Check, Files


def check_redaction(run: Files) -> Iterator[Check]:
    """One check, `UNKNOWN`, where status.json says that files are redacted copies; none elsewhere."""
    said = run.status.get(REDACTED)
    if isinstance(said, dict) and said:
        names = "; ".join(f"{str(name)[:40]}, {str(before)[:40]} before" for name, before in list(said.items())[:3])
        yield Check("redaction", UNKNOWN, f"redacted for a bundle, with a new checksum in status.json: {names}")
