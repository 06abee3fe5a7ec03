"""Reading files that somebody else may have written: regular files only, bounded in size, depth and numbers.

Run directories are copied, edited, damaged and received from others. What reads them must neither wait for ever (a FIFO
or a device in place of a file) nor use up memory (a sparse file of gigabytes) nor follow links in a circle.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from erlbench.errors import CellError, UsageError

SMALL = 16 * 2**20  # bytes of a TOML or JSON file; what the suite writes is below 100 KiB
LARGE = 2**30  # bytes of a CSV file
DEPTH = 32  # levels of tables and lists within each other
# A FIFO would have us wait for a writer; Windows has neither flag, and one for files that are no text.
READING = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY"))
DIGITS = 2**63  # integers stay below it, as in TOML
PLAIN = re.compile(r"[\t\n\x20-\x7e]*")  # text that needs no second look


class Unusable(ValueError):
    """A file that no run writes, not even a damaged one: no regular file, or beyond all bounds."""


def read_bytes(path: Path, limit: int = LARGE, first: int | None = None) -> bytes:
    """The content of a regular file, or its `first` bytes.

    OSError, or ValueError for anything else and for a file with more than `limit` bytes.
    """
    descriptor = os.open(path, READING)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Unusable("not a regular file")
        if status.st_size > limit:
            raise Unusable(f"larger than {limit >> 20} MiB")
        return file.read(
            status.st_size if first is None else first
        )  # what a run appends meanwhile is for the next reader


def read_text(path: Path) -> str:
    """A small file, decoded from UTF-8; errors as those of `read_bytes`."""
    return read_bytes(path, SMALL).decode()


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; OSError or ValueError, also for what no run writes (depth, size of integers)."""
    try:
        return plain(tomllib.loads(read_text(path)))
    except RecursionError:
        raise Unusable("nested too deeply") from None


def read_json(path: Path) -> Any:
    """The value of a JSON file; OSError or ValueError, also for what no run writes (depth, size of integers)."""
    try:
        return plain(json.loads(read_text(path)))
    except RecursionError:
        raise Unusable("nested too deeply") from None


def read_object(path: Path) -> dict[str, Any]:
    """The object of a JSON file; empty where there is none that can be read."""
    try:
        found = read_json(path)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


@contextmanager
def readable(path: Path, name: str = "", advice: str = "") -> Iterator[None]:
    """Inside, OSError and ValueError become a `UsageError`: `path`, or `name` in its place, cannot be read, and why."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise UsageError(f"{name or path} cannot be read: {reason(error)}{advice}") from error


def reason(error: Exception) -> str:
    """Why a file cannot be read, in a few words."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def plain(value: Any, depth: int = DEPTH) -> Any:
    """`value` with all its texts `printable`; `Unusable` where it is nested too deeply or has a larger integer."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, int) and abs(value) >= DIGITS:
        raise Unusable("an integer of more than 63 bits")
    if isinstance(value, dict | list) and not depth:
        raise Unusable("nested too deeply")
    if isinstance(value, dict):
        return {printable(key): plain(item, depth - 1) for key, item in value.items()}
    return [plain(item, depth - 1) for item in value] if isinstance(value, list) else value


def printable(text: str) -> str:
    """`text` without control characters and bidirectional marks."""
    if PLAIN.fullmatch(text) or text.isprintable():
        return text
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") else "\ufffd" for c in text)


def is_same_file(path: Path, descriptor: int) -> bool:
    """Whether `path` still leads to the file or folder that was opened as `descriptor`."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False


def try_write(path: Path) -> None:
    """Open the file `path` for writing, which changes nothing and leaves no new file; OSError where that fails."""
    new = not os.path.lexists(path)
    with open(path, "ab"):
        pass
    if new:
        path.unlink()


def check_regular(path: Path) -> None:
    """Raise `CellError` when something else than a file stands at `path`: opening a FIFO would wait for ever."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # there is nothing, or opening it says what
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise CellError(f"{path} is no regular file; move it away and run the same command again")
