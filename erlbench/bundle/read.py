"""Reads bundles: a zip file, which anybody may have made, becomes a private folder that is removed afterwards.

Nothing of the file is believed. Its list of files is bounded before it is read; each name is one that a run's files
have; files are regular, plain and not encrypted, each as large as it says and no larger than its kind may be. They are
written below one new folder of this user. Then all have the digests of the bundle's own list.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from erlbench.bundle.contents import (
    ALWAYS,
    FORMAT,
    MANIFEST,
    MOST_BYTES,
    MOST_DIRECTORY,
    MOST_FILES,
    RATIO,
    SUFFIX,
    check_entries,
    is_part,
    largest,
)  # fmt: skip
from erlbench.bundle.names import KIND
from erlbench.errors import UsageError
from erlbench.files import READING, Unusable, open_file, plain, reason
from erlbench.work.held import LOCK, HeldFolder

END = struct.Struct("<4s4H2LH")  # the end of a zip file: where its list of files is, without a comment
LARGE_END = b"PK\x06\x07"  # the extension for large files, which no bundle needs
BLOCK = 2**20
PLAINLY = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 0x1 | 0x40 | 0x2000  # flags of an entry


class OpenBundle:
    """A bundle as a folder: `path`, which goes with `close`, with this object, or at the end of the process.

    After a kill the next one that is opened removes it.
    """

    def __init__(self, file: Path) -> None:
        """Raises `UsageError` for a file that is no bundle, or none that this suite wrote."""
        try:
            self._held = HeldFolder(Path(tempfile.gettempdir()), KIND)
        except OSError as error:
            raise UsageError(f"{file} cannot be opened here: {reason(error)}; set TMPDIR to another folder") from error
        try:
            place = self._held.path / (file.name if is_part(file.name) and file.name != LOCK else KIND)  # in messages
            place.mkdir(mode=0o700)
            self.path = _extract(file, place)
        except BaseException:
            self._held.remove()
            raise
        self._finalizer = weakref.finalize(self, _remove, self._held, os.getpid())

    def close(self) -> None:
        """Remove the folder."""
        self._finalizer()


def _remove(held: HeldFolder, process: int) -> None:
    """Remove the folder of a bundle, unless this is a fork of the process that opened it."""
    if os.getpid() == process:
        held.remove()


def is_bundle(path: Path) -> bool:
    """Whether a path that is given as a folder of results is a file to open."""
    return path.suffix == SUFFIX and path.is_file()


@contextmanager
def opened(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """The paths, bundles as folders of results as long as the block lasts."""
    with ExitStack() as stack:
        found = []
        for path in paths:
            if is_bundle(path):
                bundle = OpenBundle(path)
                stack.callback(bundle.close)
                path = bundle.path
            found.append(path)
        yield found


def _extract(file: Path, place: Path) -> Path:
    """Write the bundle's files below `place`; the one folder of results there, or `place` where it has several."""
    try:
        with open(open_file(file, READING), "rb") as opened_file:
            _check_file(opened_file)
            with zipfile.ZipFile(opened_file) as archive:
                entries = archive.infolist()
                _check_entries(entries, os.fstat(opened_file.fileno()).st_size)
                sums = {entry.filename: _write(archive, entry, place / entry.filename) for entry in entries}
        _check_manifest(place / MANIFEST, sums)
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error,
            struct.error) as error:  # fmt: skip
        text = str(error) if not isinstance(error, OSError) else reason(error)
        raise UsageError(f"{file} cannot be read as a bundle: {text[:200]}") from error
    (place / MANIFEST).unlink()
    folders = list(place.iterdir())
    return folders[0] if len(folders) == 1 else place


def _check_file(file: BinaryIO) -> None:
    """Raise `Unusable` for anything but a regular file that ends with a small list of files."""
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise Unusable("not a regular file")
    if not END.size <= status.st_size <= MOST_BYTES:
        raise Unusable("too small" if status.st_size < END.size else "larger than 4 GiB")
    file.seek(max(0, status.st_size - END.size - 20))
    tail = file.read()
    mark, disk, first, here, entries, size, start, comment = END.unpack(tail[-END.size :])
    if mark != b"PK\x05\x06" or comment or disk or first or here != entries:
        raise Unusable("it does not end as a zip file of this suite")
    if tail.startswith(LARGE_END) or entries > MOST_FILES or size > MOST_DIRECTORY:
        raise Unusable(f"it lists more than {MOST_FILES:,} files")
    if start + size != status.st_size - END.size:
        raise Unusable("its list of files is not where it says")
    file.seek(0)


def _check_entries(entries: Sequence[zipfile.ZipInfo], size: int) -> None:
    """Raise `Unusable` for names, kinds and sizes that no bundle has, by what the list of files says."""
    check_entries(entry.orig_filename for entry in entries)
    if MANIFEST not in {entry.filename for entry in entries}:
        raise Unusable(f"it has no {MANIFEST}; `erlbench report --bundle` writes bundles; unpack other zip files first")
    for entry in entries:
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG) or entry.is_dir():
            raise Unusable(f"{entry.filename} is no regular file")
        if entry.flag_bits & ENCRYPTED:
            raise Unusable(f"{entry.filename} is encrypted")
        if entry.compress_type not in PLAINLY:
            raise Unusable(f"{entry.filename} is compressed in another way than bundles are")
        if entry.file_size > largest(entry.filename):
            raise Unusable(f"{entry.filename} is larger than {largest(entry.filename) >> 20} MiB")
        if entry.file_size > max(ALWAYS, RATIO * entry.compress_size):
            raise Unusable(f"{entry.filename} is more than {RATIO} times as large as what it is compressed to")
    if sum(entry.compress_size for entry in entries) > size:
        raise Unusable("its files overlap")
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        raise Unusable("its files have more than 4 GiB")


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path) -> str:
    """Write a file of the bundle, up to the size that it says; its SHA-256."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest, left = hashlib.sha256(), entry.file_size
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with open(descriptor, "wb") as out, archive.open(entry) as source:
        while block := source.read(BLOCK):
            left -= len(block)
            if left < 0:
                raise Unusable(f"{entry.filename} is larger than it says")
            digest.update(block)
            out.write(block)
    if left:
        raise Unusable(f"{entry.filename} is smaller than it says")
    return digest.hexdigest()


def _check_manifest(path: Path, sums: dict[str, str]) -> None:
    """Raise `Unusable` where the files are not those of the bundle's own list."""
    try:
        found: Any = plain(json.loads(path.read_bytes()))
    except RecursionError:
        raise Unusable(f"{MANIFEST} is nested too deeply") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise Unusable(f"{MANIFEST} is of another format than {FORMAT}; a newer erlbench may have written it")
    listed = found.get("files")
    have = {name: digest for name, digest in sums.items() if name != MANIFEST}
    if listed != have:
        known = listed if isinstance(listed, dict) else {}
        names = sorted(name for name in {*have, *map(str, known)} if known.get(name) != have.get(name))
        raise Unusable(f"{', '.join(names[:3])}: not as {MANIFEST} says; the bundle was changed after it was written")
