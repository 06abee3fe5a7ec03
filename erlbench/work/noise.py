"""Noise by key: drawn anew, or a slice of one table of normal numbers in shared memory.

A table is named by its size and seed alone, so nothing ever sends or saves one. All stores of a process share its file.
"""

from __future__ import annotations

import errno
import mmap
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from erlbench.errors import CellError
from erlbench.work.seeding import Key, generator

_made: dict[NoiseTable, Path] = {}  # where this process made a table last; it may be gone


@dataclass(frozen=True)
class NoiseTable:
    """`size` float32 numbers ~ N(0, 1) drawn from `seed`."""

    size: int
    seed: int

    def path(self, folder: Path) -> Path:
        """Its file in the folder of a store's tables."""
        return folder / f"noise-{self.size}-{self.seed}"

    def open(self, folder: Path) -> np.ndarray:
        """The table, read-only and mapped, not copied; `OSError` where there is none."""
        with open(self.path(folder), "rb") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.float32)


def make_table(table: NoiseTable, folder: Path) -> None:
    """Have a table in `folder`: the file that this process has made already, or a new one, whole or not at all.

    Its room is taken first, since a map cannot report that there is none, which is a `CellError`.
    """
    path, unfinished = table.path(folder), folder / "part"
    try:
        os.link(_made[table], path)
    except (KeyError, OSError):  # none, gone, or on another file system
        with open(unfinished, "w+b") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, 4 * table.size)
            except OSError as error:
                unfinished.unlink()
                if error.errno != errno.ENOSPC:
                    raise
                raise CellError(
                    f"shared memory has no room for a noise table of {4 * table.size / 2**20:.0f} MiB in {folder}; "
                    "free some there, make it larger (docker run --shm-size), choose a smaller table, or regenerate "
                    "the noise (noise_table=0)"
                ) from error
            numbers = np.frombuffer(mmap.mmap(file.fileno(), 4 * table.size), np.float32)
            generator(table.seed).standard_normal(out=numbers, dtype=np.float32)
        unfinished.rename(path)
    _made[table] = path


def draw_slice(table: np.ndarray, key: Key, size: int) -> np.ndarray:
    """The noise of `key` in a table: `(size,)` read-only, from an offset drawn uniformly; slices may overlap."""
    start = int(generator(*key).integers(table.size - size + 1))
    return table[start : start + size]
