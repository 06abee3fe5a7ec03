"""The journal of a study: one JSON line for each start under its plan, and for each report that departs from it.

It lies beside the plan and is only appended to, so that a run that was deleted or repeated leaves a trace.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from erlbench import files

FILE = "journal.jsonl"
START, REPORT, DAMAGED = "start", "report", "damaged"  # what a line is about


def append(folder: Path, what: str, /, **values: Any) -> str:
    """Append a line about `what` and put it on the disk; its ID. Raises OSError."""
    identifier = secrets.token_hex(8)
    line = {"time": datetime.now(UTC).isoformat(timespec="seconds"), "what": what, "id": identifier, **values}
    descriptor = open_journal(folder)
    try:
        os.write(descriptor, f"{json.dumps(line)}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return identifier


def open_journal(folder: Path) -> int:
    """A descriptor that appends to the journal; OSError where it is a link, whose target is none of ours."""
    try:
        return files.open_file(folder / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, inside=1)
    except files.Unusable as error:
        raise OSError(errno.ELOOP, str(error), str(folder / FILE)) from None


def read(folder: Path) -> list[dict[str, Any]]:
    """The lines of the journal in their order; none without a journal. One that is no JSON is about `DAMAGED`."""
    try:
        text = files.read_text(folder / FILE, inside=1)
    except FileNotFoundError:
        return []
    except (OSError, ValueError):
        return [{"what": DAMAGED}]
    return [_line(line) for line in text.splitlines()]


def fingerprint(values: Mapping[str, Any] | None) -> str:
    """SHA-256 of a table that a start recorded, such as its identity; empty without one."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest() if values else ""


def _line(text: str) -> dict[str, Any]:
    try:
        found = files.plain(json.loads(text))
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"what": DAMAGED}
