"""Which cores are idle: what the driver and the workers of a pool tell each other without messages.

A byte for each slot says whether it has tasks, and one whether its task uses a second core; all are in a file of the
store that every process maps. Nobody waits for anybody, so two may take the last idle core at the same moment; that
costs a little time until one of them gives it back, and no result depends on it.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import time
from pathlib import Path

from erlbench.machine.resources import cores


class Occupancy:
    """The driver's side; the file is in a folder of the store's own, which is not cleared."""

    def __init__(self, store: Path, slots: int) -> None:
        folder = store / "pools"
        folder.mkdir(exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder)
        self.path = Path(name)
        os.ftruncate(descriptor, 2 * slots)
        self._slots, self._map = slots, mmap.mmap(descriptor, 2 * slots)
        os.close(descriptor)

    def begin(self, slot: int) -> None:
        """The slot has tasks."""
        self._map[slot] = 1

    def end(self, slot: int) -> None:
        """The slot is idle, or its worker is gone."""
        self._map[slot] = self._map[self._slots + slot] = 0

    def close(self) -> None:
        """Remove the file."""
        self._map.close()
        self.path.unlink(missing_ok=True)


class SecondCore:
    """The side of a worker whose task could use a second core."""

    def __init__(self, path: Path | str, slot: int) -> None:
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        slots = len(self._map) // 2
        self._size, self._mine = 2 * slots, slots + slot
        self._cores = min(cores(), slots)  # who asks for so many processes expects no more to be busy
        self._since, self._held = 0.0, 0.0

    def idle(self) -> bool:
        """Whether there is one."""
        return self._map[: self._size].count(1) < self._cores

    def take(self) -> bool:
        """Take it until `give_back` if there is one."""
        if not self.idle():
            return False
        self._map[self._mine], self._since = 1, time.monotonic()
        return True

    def give_back(self) -> None:
        """Others may have it."""
        self._map[self._mine] = 0
        self._held += time.monotonic() - self._since

    def held(self) -> float:
        """Seconds for which this process has had it since the last call."""
        held, self._held = self._held, 0.0
        return held
