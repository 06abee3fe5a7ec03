"""Noise by key: drawn anew, or a slice of one table of normal numbers that the whole machine shares.

A table is named by its size and seed alone, so nothing ever sends or saves one. It lies beside the stores of its user
(`erlbench.work.held`), in a folder whose lock file every driver that uses it holds. The last one removes it, and what
killed drivers left behind goes when the next store is made. A driver that finds a table there draws all of its numbers
again and compares them: the generator's stream can only be entered at its beginning.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from erlbench.errors import CellError
from erlbench.machine.locks import lock_file
from erlbench.work.held import LOCK, discard, open_lock
from erlbench.work.private import is_own_file
from erlbench.work.seeding import Key, generator

DRAWN_AT_ONCE = 2**22  # numbers that are drawn at once: 16 MiB


@dataclass(frozen=True)
class NoiseTable:
    """`size` float32 numbers ~ N(0, 1) drawn from `seed`."""

    size: int
    seed: int

    def folder(self, home: Path) -> Path:
        """Where it lies in the user's private folder when some driver holds it; each NumPy may have other numbers."""
        return home / f"noise-{self.size}-{self.seed}-numpy-{np.__version__}"

    def open(self, home: Path) -> np.ndarray:
        """The table, read-only and mapped, not copied; some driver must hold it.

        Raises `OSError` or `ValueError` when there is none of this size and user.
        """
        descriptor = os.open(self.folder(home) / "table", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if not is_own_file(descriptor) or os.fstat(descriptor).st_size != 4 * self.size:
                raise ValueError(f"{self.folder(home)} does not hold {self.size} numbers")
            return np.frombuffer(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ), np.float32)
        finally:
            os.close(descriptor)

    def blocks(self) -> Iterator[np.ndarray]:
        """Its numbers, in consecutive blocks; the next one overwrites the last."""
        random, whole = generator(self.seed), np.empty(min(DRAWN_AT_ONCE, self.size), np.float32)
        for start in range(0, self.size, DRAWN_AT_ONCE):
            block = whole[: self.size - start]
            random.standard_normal(out=block, dtype=np.float32)
            yield block


class HeldTable:
    """A table that stays in shared memory until `release`, and is made there if nobody holds it yet."""

    def __init__(self, table: NoiseTable, home: Path) -> None:
        """`home`: the user's private folder. Raises `CellError` when shared memory has no room for the table."""
        self.table = table
        self._folder = table.folder(home)
        self._lock = _shared_lock(self._folder)
        try:
            with open(self._folder / "making", "wb") as making:
                for shared in (True, False):
                    lock_file(making.fileno(), shared=shared)
                    if _is_whole(table, home):
                        return
                _make(table, self._folder)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Give it up; the last one to do so removes it."""
        try:
            lock_file(self._lock, wait=False)
        except OSError:
            pass  # another driver holds it
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
            lock = open_lock(folder / LOCK)
        except FileNotFoundError:
            continue  # removed since
        lock_file(lock, shared=True)
        try:
            if os.fstat(lock).st_ino == os.stat(folder / LOCK).st_ino:
                return lock
        except FileNotFoundError:
            pass
        os.close(lock)  # the lock of a folder that was removed while we waited


def _is_whole(table: NoiseTable, home: Path) -> bool:
    """Whether the table is there with the numbers of its seed."""
    try:
        found = table.open(home)
    except (OSError, ValueError):
        return False
    starts = range(0, table.size, DRAWN_AT_ONCE)
    return all(np.array_equal(found[start : start + block.size], block) for start, block in zip(starts, table.blocks()))


def _make(table: NoiseTable, folder: Path) -> None:
    """Write the table in blocks; its room is taken first, since a map cannot report none."""
    part = folder / "table.part"
    with open(part, "wb") as file:
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
        for block in table.blocks():
            file.write(block.data)
    part.rename(folder / "table")
