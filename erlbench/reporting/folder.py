"""The folder of a report: files of the report before it are removed, those of others stay."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from erlbench.errors import UsageError
from erlbench.files import new_file, read_bytes, read_text, refuse_links
from erlbench.records.run import checksum

MANIFEST = ".erlbench-report"  # the files of the report, a line each: length and CRC-32, then the path in the folder
TITLE = "<title>erlbench report</title>"


def clear(out: Path) -> Mapping[Path, str]:
    """Make the folder and remove what the last report wrote and nobody has changed; the files that stay.

    The list of the last report may be somebody else's: what it names goes only if it is a regular file in this folder
    with the content that the list says. Raises `UsageError` where the folder holds a link, or files but no report, as
    some would be overwritten.
    """
    out.mkdir(parents=True, exist_ok=True)
    refuse_links(out)
    for name, said in _listed(out).items():
        path = out / name
        if _is_inside(name) and _is_regular(path) and _checksum(path) == said:
            path.unlink()
            with suppress(OSError):
                path.parent.rmdir()  # once it is empty
    if any(not path.name.startswith(".") for path in out.iterdir()) and not _is_report(out):
        raise UsageError(f"{out} holds other files and no report; choose another folder by --out")
    with open(
        os.open(out / MANIFEST, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644), encoding="utf-8"
    ):
        pass  # a report that is cut off here can be written again
    return _files(out)


def sign(out: Path, others: Mapping[Path, str]) -> None:
    """Write down which files the report has: all but `others`, unless it has written these anew."""
    lines = (
        f"{said} {path.relative_to(out).as_posix()}\n"
        for path, said in sorted(_files(out).items())
        if others.get(path) != said
    )
    with open(new_file(out / MANIFEST), "w", encoding="utf-8") as file:
        file.writelines(lines)


def _listed(out: Path) -> dict[str, str]:
    """The checksums by the paths of the list; older versions wrote none, and what they list stays."""
    try:
        lines = [line.partition(" ") for line in read_text(out / MANIFEST, inside=1).splitlines()]
    except (OSError, ValueError):
        return {}
    return {name: said for said, _, name in lines if name}


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _is_report(out: Path) -> bool:
    """Whether a report was written here, also by a version without a list of its files."""
    try:
        return (out / MANIFEST).is_file() or TITLE in read_text(out / "index.html", inside=1)
    except (OSError, ValueError):
        return False


def _files(out: Path) -> dict[Path, str]:
    """The checksums of all regular files of the folder but the list."""
    found = (Path(where, name) for where, _, names in os.walk(out) for name in names)
    return {path: _checksum(path) for path in found if path.name != MANIFEST and _is_regular(path)}


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _checksum(path: Path) -> str:
    """Length and CRC-32; empty for a file that cannot be read."""
    try:
        data = read_bytes(path, inside=1)
    except (OSError, ValueError):
        return ""
    return checksum(len(data), zlib.crc32(data))
