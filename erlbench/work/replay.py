"""The replay of one run: append-only files that every process maps.

Three files, episode by episode: `observations.f32` with one row more than an episode has steps, so that the next
observation is the next row; `transitions.f32` with the normalised action in [-1, 1], the reward, and 1 where the
episode went on or was truncated and 0 where it terminated; `rows.i32` with the row of each transition's
observation. The driver appends whole episodes in task order; learners read up to the length that their task names.
A ring of the last N transitions is a view that starts at `length - N`.
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.errors import CellError
from erlbench.files import check_regular, is_same_file, open_file
from erlbench.work.tasks import ReplayView

OBSERVATIONS, TRANSITIONS, ROWS = "observations.f32", "transitions.f32", "rows.i32"
NAME = "replay"  # of the replay of a run, by which a store finds its folder (`Store.attach`)
CHECKED_AT_ONCE = 1 << 20  # bytes read at once to check a file


class Replay:
    """Writer, owned by the driver. `length` counts transitions, `rows` observation rows.

    It knows the CRC-32 of all that it has written, so that a checkpoint can check whether the files are still whole.
    """

    def __init__(self, folder: Path, observation_size: int, action_size: int) -> None:
        self.folder = folder
        self.folder.mkdir(exist_ok=True)
        self.observation_size = observation_size
        self.action_size = action_size
        self.length = 0
        self.rows = 0
        widths = {OBSERVATIONS: observation_size, TRANSITIONS: action_size + 2, ROWS: 1}
        self._widths = {name: 4 * width for name, width in widths.items()}  # bytes of a row
        for name in widths:
            check_regular(self.folder / name)
        flags = os.O_CREAT | os.O_RDWR
        self._descriptors = {name: open_file(self.folder / name, flags, inside=2) for name in widths}
        self._crcs = dict.fromkeys(widths, 0)

    def append(
        self,
        observations: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        continues: np.ndarray,
        lengths: Sequence[int],
    ) -> None:
        """Add episodes, one after another.

        With N steps in all and E episodes: observations `(N + E, observation)`, normalised actions `(N, action)`,
        rewards and continues `(N,)`, lengths the E episode lengths.
        """
        steps, episodes = len(rewards), len(lengths)
        assert len(observations) == steps + episodes
        assert sum(lengths) == steps
        rows = np.arange(steps, dtype=np.int32) + np.repeat(np.arange(episodes, dtype=np.int32), lengths)
        transitions = np.column_stack([actions, rewards, continues]).astype(np.float32, copy=False)
        self._write(OBSERVATIONS, np.asarray(observations, np.float32), self.rows)
        self._write(TRANSITIONS, transitions, self.length)
        self._write(ROWS, rows + np.int32(self.rows), self.length)
        self.rows += steps + episodes
        self.length += steps

    def view(self, capacity: int | None = None) -> ReplayView:
        """All transitions so far, or the last `capacity` of them."""
        start = max(0, self.length - capacity) if capacity else 0
        return ReplayView(NAME, self.observation_size, self.action_size, start, self.length)

    def state(self) -> dict[str, Any]:
        """What `restore` needs: lengths and checksums; the data itself stays in the files."""
        return {"length": self.length, "rows": self.rows, "crcs": dict(self._crcs)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a saved length; what was appended later is cut off, as readers take a file's size for its length.

        Raises `CellError` for a file that is shorter than it was, or no longer what it was up to that length.
        """
        counts = {OBSERVATIONS: state["rows"], TRANSITIONS: state["length"], ROWS: state["length"]}
        sizes = {name: width * counts[name] for name, width in self._widths.items()}
        for name, size in sizes.items():
            crc = _crc(self._descriptors[name], size)
            if crc is None or crc != state["crcs"][name]:
                what = "was truncated" if crc is None else "was damaged or edited"
                raise CellError(f"{self.folder / name} {what} since the checkpoint was written")
            self._crcs[name] = crc
        for name, size in sizes.items():
            os.ftruncate(self._descriptors[name], size)
        self.length, self.rows = state["length"], state["rows"]

    def flush(self) -> None:
        """Have the files reach the disk; `CellError` when one was moved or removed meanwhile."""
        for name, descriptor in self._descriptors.items():
            if not is_same_file(self.folder / name, descriptor):
                raise CellError(f"{self.folder / name} was moved, removed or replaced while this run wrote it")
            os.fdatasync(descriptor)

    def close(self) -> None:
        """Close the files; they stay on disk."""
        for descriptor in self._descriptors.values():
            os.close(descriptor)

    def _write(self, name: str, array: np.ndarray, row: int) -> None:
        data, offset = np.ascontiguousarray(array).data.cast("B"), row * self._widths[name]
        self._crcs[name] = zlib.crc32(data, self._crcs[name])
        while data:  # pwrite, not a map: a full disk is an error here, not a signal
            written = os.pwrite(self._descriptors[name], data, offset)
            data, offset = data[written:], offset + written


def _crc(descriptor: int, size: int) -> int | None:
    """The CRC-32 of the first `size` bytes of a file; None when it has fewer."""
    crc, offset = 0, 0
    while offset < size:
        block = os.pread(descriptor, min(CHECKED_AT_ONCE, size - offset), offset)
        if not block:
            return None
        crc, offset = zlib.crc32(block, crc), offset + len(block)
    return crc


class ReplayReader:
    """Maps of one replay, for reading in any process, also while its writer appends.

    A file may then end within a row. Rows are written last: what they name is whole.
    """

    def __init__(self, view: ReplayView, folder: Path) -> None:
        self.rows = _map(folder / ROWS, np.int32, 1)[:, 0]
        self.stop = len(self.rows)
        self.observations = _map(folder / OBSERVATIONS, np.float32, view.observation_size)
        self.transitions = _map(folder / TRANSITIONS, np.float32, view.action_size + 2)

    def gather(
        self,
        indices: np.ndarray,
        observations: np.ndarray,
        transitions: np.ndarray | None = None,
        next_observations: np.ndarray | None = None,
    ) -> None:
        """Copy the transitions `indices` into the given float32 arrays (batch first), all of them optional but one."""
        rows = self.rows.take(indices)
        self.observations.take(rows, axis=0, out=observations, mode="clip")
        if transitions is not None:
            self.transitions.take(indices, axis=0, out=transitions, mode="clip")
        if next_observations is not None:
            self.observations.take(rows + 1, axis=0, out=next_observations, mode="clip")


def _map(path: Path, dtype: type, columns: int) -> np.ndarray:
    """The whole rows of a file, `(rows, columns)`."""
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    rows = len(data) // (columns * np.dtype(dtype).itemsize)
    return np.frombuffer(data, dtype, count=rows * columns).reshape(rows, columns)
