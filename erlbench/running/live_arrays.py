"""The arrays of a run in the store, and which of them nobody needs any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from erlbench.running.encoding import references
from erlbench.work.store import Store
from erlbench.work.tasks import ArrayRef

SWEEP_FROM = 64  # new arrays, at least, between two searches for those that can be freed


class LiveArrays:
    """Arrays that may be freed when nothing refers to them; the search costs as much as it finds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: set[str] = set()
        self._sweep_at = SWEEP_FROM

    @property
    def many(self) -> bool:
        """Whether it is worth while to search."""
        return len(self._known) >= self._sweep_at

    def add(self, refs: Iterable[ArrayRef]) -> None:
        """Take in arrays that a task needs or has given."""
        self._known.update(ref.name for ref in refs)

    def free_but(self, holders: Any) -> None:
        """Free all arrays that `holders`, nested containers and dataclasses, do not refer to."""
        live = {ref.name for ref in references(holders)}
        dead = self._known - live
        self._store.free(dead)
        self._known -= dead
        self._sweep_at = len(self._known) + max(SWEEP_FROM, len(live) // 2)
