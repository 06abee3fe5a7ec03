"""Signals that ask a run to stop: Ctrl-C, SIGTERM and a closed terminal."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def heeded(stop: threading.Event) -> Iterator[None]:
    """Inside, such a signal sets `stop`; a second one acts as it does outside."""
    before: dict[signal.Signals, Any] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        stop.set()
        for known, handler in before.items():
            signal.signal(known, handler)

    if threading.current_thread() is threading.main_thread():
        for number in STOPPING:
            if signal.getsignal(number) != signal.SIG_IGN:  # as nohup and shells without job control set it
                before[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        for known, handler in before.items():
            signal.signal(known, handler)
