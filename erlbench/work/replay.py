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
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from erlbench.errors import CellError
from erlbench.work.tasks import ReplayView


class Replay:
    """Writer, owned by the driver. `length` counts transitions, `rows` observation rows."""

    def __init__(self, folder: Path | str, observation_size: int, action_size: int) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.observation_size = observation_size
        self.action_size = action_size
        self.length = 0
        self.rows = 0
        flags = os.O_CREAT | os.O_RDWR
        self._observations = os.open(self.folder / "observations.f32", flags)
        self._transitions = os.open(self.folder / "transitions.f32", flags)
        self._rows = os.open(self.folder / "rows.i32", flags)

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
        width = 4 * self.observation_size
        self._write(self._observations, np.asarray(observations, np.float32), self.rows * width)
        self._write(self._transitions, transitions, self.length * 4 * (self.action_size + 2))
        self._write(self._rows, rows + np.int32(self.rows), self.length * 4)
        self.rows += steps + episodes
        self.length += steps

    def view(self, capacity: int | None = None) -> ReplayView:
        """All transitions so far, or the last `capacity` of them."""
        start = max(0, self.length - capacity) if capacity else 0
        return ReplayView(str(self.folder), self.observation_size, self.action_size, start, self.length)

    def state(self) -> dict[str, int]:
        """What `restore` needs; the data itself stays in the files."""
        return {"length": self.length, "rows": self.rows}

    def restore(self, state: dict[str, int]) -> None:
        """Go back to a saved length; what was appended later is overwritten."""
        have = os.fstat(self._rows).st_size // 4
        if have < state["length"]:
            raise CellError(f"the replay in {self.folder} holds {have} transitions, the checkpoint {state['length']}")
        self.length, self.rows = state["length"], state["rows"]

    def flush(self) -> None:
        """Have the files reach the disk."""
        for descriptor in (self._observations, self._transitions, self._rows):
            os.fdatasync(descriptor)

    def close(self) -> None:
        """Close the files; they stay on disk."""
        for descriptor in (self._observations, self._transitions, self._rows):
            os.close(descriptor)

    @staticmethod
    def _write(descriptor: int, array: np.ndarray, offset: int) -> None:
        data = np.ascontiguousarray(array).data.cast("B")
        while data:  # pwrite, not a map: a full disk is an error here, not a signal
            written = os.pwrite(descriptor, data, offset)
            data, offset = data[written:], offset + written


class ReplayReader:
    """Maps of one replay, for reading in any process."""

    def __init__(self, view: ReplayView) -> None:
        folder = Path(view.path)
        self.stop = _items(folder / "rows.i32", 4)
        self.observations = _map(folder / "observations.f32", np.float32).reshape(-1, view.observation_size)
        self.transitions = _map(folder / "transitions.f32", np.float32, self.stop * (view.action_size + 2))
        self.transitions = self.transitions.reshape(-1, view.action_size + 2)
        self.rows = _map(folder / "rows.i32", np.int32, self.stop)

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


def _items(path: Path, size: int) -> int:
    return path.stat().st_size // size


def _map(path: Path, dtype: type, items: int | None = None) -> np.ndarray:
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    array: np.ndarray = np.frombuffer(data, dtype, count=len(data) // np.dtype(dtype).itemsize)
    return array if items is None else array[:items]
