"""Arrays in shared memory: written once, read by every process, freed by the driver.

A store is a folder in the machine's shared memory that is named after its user and its driver's process.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from erlbench.errors import CellError
from erlbench.work.noise import NoiseTable, draw_slice, make_table
from erlbench.work.seeding import Key, generator
from erlbench.work.tasks import ArrayRef, Input, Perturbed, ReplayView


def shared_memory_folder() -> Path:
    """Where the stores lie: /dev/shm where there is one, else the temporary folder."""
    shm = Path("/dev/shm")
    return shm if os.access(shm, os.W_OK) else Path(tempfile.gettempdir())


def make_store_folder(parent: Path) -> Path:
    """A new folder in `parent` for this process alone; folders of this user's dead processes are removed."""
    namespace = os.stat("/proc/self/ns/pid").st_ino  # a container has another one, and may share the parent with others
    prefix = f"erlbench-{os.geteuid()}-{namespace}-"
    for path in parent.glob(f"{prefix}*"):
        pid = path.name.removeprefix(prefix).partition("-")[0]
        if pid.isdecimal() and not Path("/proc", pid).exists():
            with suppress(OSError):  # another start has removed it
                if path.lstat().st_uid == os.geteuid():
                    shutil.rmtree(path, ignore_errors=True)  # no link
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=parent))


class Store:
    """The arrays of one driver, in `folder`. A worker opens the same folder to read and to add results."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._table: tuple[NoiseTable, np.ndarray] | None = None  # the one that was last read

    @classmethod
    def create(cls) -> Self:
        """A new store of this process."""
        return cls(make_store_folder(shared_memory_folder()))

    @property
    def gone(self) -> bool:
        """Whether another program has removed its folder, and what it held."""
        return not self.folder.is_dir()

    def put(self, name: str, array: npt.ArrayLike) -> ArrayRef:
        """Write `array` under `name`; a repeated task replaces its array by an equal one."""
        data = np.ascontiguousarray(array)
        path = self.folder / name
        unfinished = path.with_name(f"{name}.part{os.getpid()}")
        try:
            with open(unfinished, "wb") as file:
                file.write(data.data if data.size else b"")
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            if error.errno != errno.ENOSPC:
                raise
            raise CellError(
                f"shared memory is full: no room for the {data.nbytes / 2**20:.1f} MiB of array '{name}' in "
                f"{self.folder.parent}; free some there, or make it larger (docker run --shm-size)"
            ) from error
        unfinished.rename(path)
        return ArrayRef(name, tuple(data.shape), str(data.dtype))

    def get(self, ref: ArrayRef) -> np.ndarray:
        """The array of `ref`, read-only and mapped, not copied."""
        if 0 in ref.shape:
            return np.empty(ref.shape, ref.dtype)
        with open(self.folder / ref.name, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(data, ref.dtype).reshape(ref.shape)

    def load(self, value: Input) -> np.ndarray | ReplayView:
        """What a task function sees of an input: an array, or the replay view itself."""
        if isinstance(value, ArrayRef):
            return self.get(value)
        if isinstance(value, Perturbed):
            return self.perturbed(value)
        if isinstance(value, ReplayView):
            return value
        raise TypeError(f"an ArrayRef or a Perturbed is needed, which is computed, not {value}")

    def perturbed(self, value: Perturbed) -> np.ndarray:
        """The float32 vector of a `Perturbed`."""
        centre = self.get(value.centre)
        size = centre.size if value.size is None else value.size
        noise = self.noise(value.key, size, value.table)
        scale = self.get(value.scale) if isinstance(value.scale, ArrayRef) else np.float32(value.scale)
        vector = np.multiply(noise, scale, out=None if value.table else noise)  # a table's is read-only
        if value.sign < 0:
            np.negative(vector, out=vector)
        vector += centre[:size]
        return vector if size == centre.size else np.concatenate((vector, centre[size:]))

    def noise(self, key: Key, size: int, table: NoiseTable | None = None) -> np.ndarray:
        """The standard normal numbers `(size,)` float32 of `key`; read-only where they are a slice of `table`."""
        if table is None:
            return generator(*key).standard_normal(size, dtype=np.float32)
        if self._table is None or self._table[0] != table:
            self.hold(table)  # on a node of a cluster the first task that needs it makes it
            self._table = table, table.open(self._tables)
        return draw_slice(self._table[1], key, size)

    def hold(self, table: NoiseTable) -> None:
        """Put `table` into shared memory until the store is closed; one process does it, and others wait.

        Raises `CellError` when there is no room for it.
        """
        if table.path(self._tables).exists():
            return
        import fcntl  # not at the top: results are also read on Windows, which has none

        with open(self.folder / "lock", "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not table.path(self._tables).exists():
                shutil.rmtree(self._tables, ignore_errors=True)
                self._tables.mkdir()
                make_table(table, self._tables)

    @property
    def _tables(self) -> Path:
        return self.folder / "tables"

    def attach(self, replay: str, folder: Path) -> None:
        """Have the name of a replay mean the files in `folder`; for the driver, and the agent of a node."""
        link = self.replay_folder(replay)
        link.parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(folder.absolute())

    def replay_folder(self, replay: str) -> Path:
        """Where the files of a replay are found."""
        return self.folder / "replays" / replay

    def free(self, names: Iterable[str]) -> None:
        """Remove arrays; maps that are still open stay valid."""
        for name in names:
            (self.folder / name).unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove all arrays."""
        self.free(path.name for path in self.folder.iterdir() if not path.is_dir())

    def close(self) -> None:
        """Remove the store; for its creator."""
        self._table = None
        shutil.rmtree(self.folder, ignore_errors=True)
