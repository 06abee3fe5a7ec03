"""Noise by key: drawn anew, or a slice of one table of normal numbers that the whole machine shares.

A table is named by its size and seed alone, so nothing ever sends or saves one. It lies in a folder of the machine's
shared memory whose lock file every driver that uses it holds; the last one removes it, and what killed drivers left
behind goes when the next store is made (`erlbench.work.held.remove_abandoned`).
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from erlbench.errors import CellError
from erlbench.work.held import discard
from erlbench.work.seeding import Key, generator

DRAWN_AT_ONCE = 2**22  # numbers that are drawn at once: 16 MiB


@dataclass(frozen=True)
class NoiseTable:
    """`size` float32 numbers ~ N(0, 1) drawn from `seed`."""

    size: int
    seed: int

    def folder(self, parent: Path) -> Path:
        """Where it lies when some driver holds it."""
        return parent / f"erlbench-noise-{os.getuid()}-{self.size}-{self.seed}"

    def open(self, parent: Path) -> np.ndarray:
        """The table, read-only and mapped, not copied; some driver must hold it."""
        with open(self.folder(parent) / "table", "rb") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.float32)


class HeldTable:
    """A table that stays in shared memory until `release`, and is made there if nobody holds it yet."""

    def __init__(self, table: NoiseTable, parent: Path) -> None:
        """Raises `CellError` when shared memory has no room for it."""
        self.table = table
        self._folder = table.folder(parent)
        self._lock = _shared_lock(self._folder)
        try:
            with open(self._folder / "making", "wb") as making:
                fcntl.flock(making, fcntl.LOCK_EX)
                if not (self._folder / "table").exists():
                    _make(table, self._folder)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Give it up; the last one to do so removes it."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass  # others hold it
        else:
            discard(self._folder)
        finally:
            os.close(self._lock)


def draw(key: Key, size: int) -> np.ndarray:
    """`(size,)` float32 ~ N(0, I), the noise of `key` without a table."""
    return generator(*key).standard_normal(size, dtype=np.float32)


def slice_of(table: np.ndarray, key: Key, size: int) -> np.ndarray:
    """The noise of `key` in a table: `(size,)` read-only, from an offset drawn uniformly; slices may overlap."""
    start = int(generator(*key).integers(table.size - size + 1))
    return table[start : start + size]


def _shared_lock(folder: Path) -> int:
    """The open lock file of `folder`, which exists then, held together with whoever else uses it."""
    while True:
        folder.mkdir(mode=0o700, exist_ok=True)
        try:
            lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        except FileNotFoundError:
            continue  # removed since
        fcntl.flock(lock, fcntl.LOCK_SH)
        try:
            if os.fstat(lock).st_ino == os.stat(folder / "lock").st_ino:
                return lock
        except FileNotFoundError:
            pass
        os.close(lock)  # the lock of a folder that was removed while we waited


def _make(table: NoiseTable, folder: Path) -> None:
    """Write the table in blocks, float32 from the start; its room is taken first, since a map cannot report none."""
    part, random = folder / "table.part", generator(table.seed)
    with open(part, "w+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, 4 * table.size)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            raise CellError(
                f"shared memory has no room for a noise table of {4 * table.size / 2**20:.0f} MiB in {folder.parent}; "
                "free some there, make it larger (docker run --shm-size), choose a smaller table, or regenerate the "
                "noise (noise_table=0)"
            ) from error
        with mmap.mmap(file.fileno(), 4 * table.size) as data:
            numbers = np.frombuffer(data, np.float32)
            for start in range(0, table.size, DRAWN_AT_ONCE):
                random.standard_normal(out=numbers[start : start + DRAWN_AT_ONCE], dtype=np.float32)
            del numbers  # or the map could not be closed
    part.rename(folder / "table")
