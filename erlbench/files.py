"""Reading files that somebody else may have written: regular files only, bounded in size, depth and numbers.

Run directories are copied, edited, damaged and received from others. What reads them must neither wait for ever (a FIFO
or a device in place of a file) nor use up memory (a sparse file of gigabytes) nor follow links in a circle.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SMALL = 16 * 2**20  # bytes of a TOML or JSON file; what the suite writes is below 100 KiB
LARGE = 2**30  # bytes of a CSV file
DEPTH = 32  # levels of tables and lists within each other
DIGITS = 2**63  # integers stay below it, as in TOML
SKIPPED = frozenset({"checkpoint", "replay"})  # folders of a run that hold no runs


def read_bytes(path: Path, limit: int = LARGE) -> bytes:
    """The content of a regular file; OSError, or ValueError for anything else and for one with more than `limit`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)  # a FIFO would have us wait for a writer
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("not a regular file")
        data = file.read(limit + 1) if status.st_size <= limit else b""
    if status.st_size > limit or len(data) > limit:
        raise ValueError(f"larger than {limit >> 20} MiB")
    return data


def read_text(path: Path, limit: int = SMALL) -> str:
    """As `read_bytes`, decoded from UTF-8."""
    return read_bytes(path, limit).decode()


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; OSError or ValueError, also for what no run writes (depth, size of integers)."""
    try:
        return plain(tomllib.loads(read_text(path)))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_json(path: Path) -> Any:
    """The value of a JSON file; OSError or ValueError, also for what no run writes (depth, size of integers)."""
    try:
        return plain(json.loads(read_text(path)))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def reason(error: Exception) -> str:
    """Why a file cannot be read, in a few words."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def plain(value: Any, depth: int = DEPTH) -> Any:
    """`value` itself, or ValueError where it is nested too deeply or has an integer that no other program takes."""
    if isinstance(value, int) and abs(value) >= DIGITS:
        raise ValueError("an integer of more than 63 bits")
    if isinstance(value, dict | list):
        if not depth:
            raise ValueError("nested too deeply")
        for item in value.values() if isinstance(value, dict) else value:
            plain(item, depth - 1)
    return value


def folders(root: Path) -> Iterator[Path]:
    """`root` and all folders below it in order, but for what a run keeps for itself; links are followed once.

    What vanishes meanwhile or cannot be listed is left out.
    """
    seen: set[tuple[int, int]] = set()
    for where, names, _ in os.walk(root, followlinks=True):
        try:
            status = os.stat(where)
        except OSError:
            names.clear()
            continue
        if (status.st_dev, status.st_ino) in seen:
            names.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        names[:] = sorted(set(names) - SKIPPED)
        yield Path(where)


def is_same_file(path: Path, descriptor: int) -> bool:
    """Whether `path` still leads to the file or folder that was opened as `descriptor`."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False
