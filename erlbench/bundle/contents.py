"""What a bundle may hold: the names of its files, and bounds of its size."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath

from erlbench.files import LARGE, SMALL, Unusable
from erlbench.records.names import LONGEST
from erlbench.records.run import ASIDE, CONFIG, EVENTS, META, POLICIES, POLICY, ROWS, STATUS
from erlbench.records.schema import EvaluationRow

SUFFIX = ".zip"
MANIFEST, FORMAT = "bundle.json", 1
MOST_FILES = 60_000  # a zip file without its extension for large ones has up to 65,535
MOST_BYTES = 4 * 2**30 - 1  # of the zip file, and of all files that it holds
MOST_DEPTH = 12  # parts of a path
MOST_DIRECTORY = 32 * 2**20  # bytes of the zip file's list of files
RATIO, ALWAYS = 200, 2**20  # a file is at most so many times its compressed size, or so many bytes

OF_A_RUN = (CONFIG, STATUS, META, *ROWS, EVENTS, POLICY)
OF_A_RUN_ASIDE = (CONFIG, STATUS, META, EvaluationRow.file)  # enough to know that it was there, and its score
PLAN, JOURNAL = "plan.toml", "journal.jsonl"  # of studies before 0.4
OF_A_STUDY = (PLAN, JOURNAL)
LARGEST = {PLAN: SMALL, JOURNAL: SMALL, CONFIG: SMALL, STATUS: SMALL, META: SMALL, MANIFEST: SMALL}  # else `LARGE`

_PART = re.compile(r"\w[\w .@+()=,-]*")
_RUN = re.compile(rf"seed-\d{{1,20}}(?P<aside>{re.escape(ASIDE)}\d{{1,6}})?")
_POLICY = re.compile(r"\d{1,9}\.safetensors")
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # names that are no files on Windows


def is_part(text: str) -> bool:
    """Whether a text can be a folder's or a file's name here and on other systems."""
    plain = len(text) <= LONGEST and _PART.fullmatch(text) is not None and text[-1] not in ". "
    return plain and not _DEVICE.fullmatch(text)


def check_entry(name: str) -> None:
    """Raise `Unusable` for a path that no bundle holds."""
    parts = name.split("/")
    if not (0 < len(parts) <= MOST_DEPTH and all(map(is_part, parts))):
        raise Unusable(f"it holds a file with a name that no bundle has: {name[:80]!r}")
    if parts == [MANIFEST]:
        return
    *folders, file = parts
    if folders and folders[-1] == POLICIES:
        folders.pop()
        known = _POLICY.fullmatch(file) is not None
        files: tuple[str, ...] = (file,) if known else ()
    else:
        files = OF_A_RUN
    run = _RUN.fullmatch(folders[-1]) if folders else None
    if run and run["aside"]:
        files = OF_A_RUN_ASIDE
    if file not in (files if run else OF_A_STUDY) or not folders:
        raise Unusable(f"it holds a file that no run writes: {name[:80]!r}")


def is_run(name: str) -> bool:
    """Whether a folder has the name of a run that counts."""
    found = _RUN.fullmatch(name)
    return found is not None and not found["aside"]


def check_entries(names: Iterable[str]) -> None:
    """Raise `Unusable` as `check_entry`, and where two names may be one file on another system."""
    seen: set[str] = set()
    for name in names:
        check_entry(name)
        same = unicodedata.normalize("NFC", name).casefold()
        if same in seen:
            raise Unusable(f"it holds a file twice: {name[:80]!r}")
        seen.add(same)


def largest(name: str) -> int:
    """The most bytes that a file of a bundle has."""
    return LARGEST.get(PurePosixPath(name).name, LARGE)
