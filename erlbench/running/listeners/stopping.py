"""Ends a run that somebody has asked to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable

from erlbench.errors import Interrupted
from erlbench.running.loop import WHOLE, Record


class Stopping:
    """Saves the run and raises `Interrupted` once `stop` is set."""

    def __init__(self, stop: threading.Event, save: Callable[[], None]) -> None:
        self._stop = stop
        self._save = save

    def __call__(self, record: Record) -> None:
        """Look at `stop` where the run can be saved."""
        if record is WHOLE and self._stop.is_set():
            self._save()
            raise Interrupted("interrupted; everything is saved, the same command continues")
