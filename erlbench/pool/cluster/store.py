"""The driver's store of a cluster: arrays lie on the driver's machine, and the pool hears which ones are freed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from erlbench.work.store import Store


class ClusterStore(Store):
    """A store that remembers what was freed until the nodes have had the names."""

    def __init__(self, folder: Path | str) -> None:
        super().__init__(folder)
        self.freed: list[str] = []

    def free(self, names: Iterable[str]) -> None:
        names = list(names)
        super().free(names)
        self.freed += names

    def take_freed(self) -> list[str]:
        """The names that were freed since the last call."""
        freed, self.freed = self.freed, []
        return freed
