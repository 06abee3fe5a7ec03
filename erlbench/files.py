"""Reading files that somebody else may have written, and writing so that no kill leaves half a file.

Run directories are copied, edited, damaged and received from others. What reads them must neither wait for ever (a FIFO
or a device in place of a file) nor use up memory (a sparse file of gigabytes) nor follow links in a circle: only
regular files are read, bounded in size, depth and numbers. What is written goes aside, to the disk, and is renamed.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import stat
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import date, time
from pathlib import Path
from typing import Any

from erlbench.errors import ADVICE, CellError, ErlbenchError, UsageError

SMALL = 16 * 2**20  # bytes of a TOML or JSON file; what the suite writes is below 100 KiB
LARGE = 2**30  # bytes of a CSV file
DEPTH = 32  # levels of tables and lists within each other
# A FIFO would have us wait for a writer; Windows has neither flag, and one for files that are no text.
READING = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY"))
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # faults of the machine, not of the command
DIGITS = 2**63  # integers stay below it, as in TOML
Values = Mapping[str, Any]  # by name, as a TOML file holds settings
Table = dict[str, Any]  # of a TOML or JSON file
UNPACKED = re.compile(r"\S*?/erlbench-bundle-\w{8}/")  # where a bundle is unpacked
PLAIN = re.compile(r"[\t\n\x20-\x7e]*")  # text that needs no second look


class Unusable(ValueError):
    """A file that no run writes, not even a damaged one: no regular file, or beyond all bounds."""


def open_file(path: Path, flags: int, inside: int) -> int:
    """A descriptor of `path`, whose last `inside` parts are followed where they are no links; else `Unusable`.

    So a run's files are opened with `inside` = 1, the files of its folders with 2: the run may lie behind a link, and
    its files are its own.
    """
    place = path
    for _ in range(inside):
        if place.is_symlink():
            raise Unusable("a link, and links within a run's folder are not followed")
        place = place.parent
    return os.open(path, flags | (getattr(os, "O_NOFOLLOW", 0) if inside else 0), 0o644)


def new_file(path: Path) -> int:
    """A descriptor to write a new file `path`; an old file goes, and of a link only the link."""
    with suppress(FileNotFoundError):
        path.unlink()
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)


def refuse_links(folder: Path) -> None:
    """Raise `UsageError` where a link lies below a folder in which files are written or replaced."""
    for where, folders, names in os.walk(folder):
        for name in (*folders, *names):
            place_below(Path(where), name)


def place_below(folder: Path, *parts: str) -> Path:
    """`folder` with `parts` below it. Raises `UsageError` where one of these is a link."""
    for name in parts:
        folder /= name
        if folder.is_symlink():
            raise UsageError(f"{folder} is a link, which is neither followed nor replaced; remove it first")
    return folder


def read_bytes(path: Path, limit: int = LARGE, first: int | None = None, inside: int = 0) -> bytes:
    """The content of a regular file, or its `first` bytes; `inside` as for `open_file`.

    OSError, or ValueError for anything else and for a file with more than `limit` bytes.
    """
    with open(path, "rb", opener=lambda *_: open_file(path, READING, inside)) as file:  # it names the path in errors
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise Unusable("not a regular file")
        if status.st_size > limit:
            raise Unusable(f"larger than {limit >> 20} MiB")
        # what a run appends meanwhile is for the next reader
        return file.read(status.st_size if first is None else first)


def read_text(path: Path, inside: int = 0) -> str:
    """A small file, decoded from UTF-8 without the mark that some editors begin it with; errors as of `read_bytes`."""
    return read_bytes(path, SMALL, inside=inside).decode("utf-8-sig")


def read_toml(path: Path, inside: int = 0) -> dict[str, Any]:
    """The tables of a TOML file; OSError or ValueError, also for what no run writes (depth, size of integers)."""
    return dict(_parse(path, inside, tomllib.loads))


def read_json(path: Path, inside: int = 0) -> Any:
    """The value of a JSON file; errors as of `read_toml`."""
    return _parse(path, inside, json.loads)


def _parse(path: Path, inside: int, loads: Callable[[str], Any]) -> Any:
    try:
        return plain(loads(read_text(path, inside)))
    except RecursionError:
        raise Unusable("nested too deeply") from None


def table_in(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A table of what a file holds; empty where there is none."""
    value = values.get(name)
    return value if isinstance(value, Mapping) else {}


@contextmanager
def readable(path: Path, name: str = "", advice: str = "") -> Iterator[None]:
    """Inside, OSError and ValueError become a `UsageError`: `path`, or `name` in its place, cannot be read, and why."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise UsageError(f"{name or path} cannot be read: {reason(error)}{advice}") from error


@contextmanager
def writable(path: Path, advice: str = "") -> Iterator[None]:
    """Inside, an OSError becomes a `UsageError`: `path` cannot be written, and why; a full disk an `ErlbenchError`."""
    try:
        yield
    except OSError as error:
        kind = ErlbenchError if error.errno in FULL else UsageError
        raise kind(f"{path} cannot be written: {reason(error)}{advice}") from error


def restore_hint(path: Path) -> str:
    """The command that brings back what a file or folder last lost in its git repository; empty outside of one."""
    if not any((folder / ".git").exists() for folder in (path, *path.absolute().parents)):
        return ""
    name = shlex.quote(printable(str(path)))
    return f"; if git had it: git checkout $(git log -1 --format=%h^ --diff-filter=D -- {name}) -- {name}"


def reason(error: Exception) -> str:
    """Why a file cannot be read or written, in a few words, with what helps against a full disk and the like."""
    if not isinstance(error, OSError):
        return str(error)
    return "; ".join(ADVICE.get(error.errno or 0, ())) or error.strerror or str(error)


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


def plain_values(settings: Values) -> Table:
    """Settings as the command line gives them, as the plain values that configurations hold."""
    return {name: _as_toml(value) for name, value in settings.items()}


def _as_toml(value: Any) -> Any:
    """A text as the TOML value that it is, or else as itself, as dates and times are."""
    if not isinstance(value, str):
        return value
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    try:
        read = tomllib.loads(f"value = {value}")["value"]
        return value if isinstance(read, date | time) else read
    except (tomllib.TOMLDecodeError, KeyError):
        try:
            return float(value)  # TOML knows no .5 and no 1.
        except ValueError:
            return value


def printable(text: str) -> str:
    """`text` without control characters and bidirectional marks."""
    if PLAIN.fullmatch(text) or text.isprintable():
        return text
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") else "\ufffd" for c in text)


def strip_unpacked(text: str) -> str:
    """A text with the names of files in their bundles: `study.zip/results/Hopper-v5/td3/seed-000`."""
    return UNPACKED.sub("", text)


def is_same_file(path: Path, descriptor: int) -> bool:
    """Whether `path` still leads to the file or folder that was opened as `descriptor`."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False


def check_regular(path: Path) -> None:
    """Raise `CellError` when `path` is something else than a file: opening a FIFO would wait for ever."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # there is nothing, or opening it says what
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise CellError(f"{path} is no regular file; move it away and run the same command again")


def write_durably(path: Path, data: bytes) -> None:
    """Replace the file `path`: whoever reads it, also after a loss of power, sees the old or the new one, whole."""
    unfinished = path.with_name(path.name + ".part")
    with open(new_file(unfinished), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Have the names in `folder` reach the disk: files that were made, renamed or removed there."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
