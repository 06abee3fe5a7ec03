"""What clean processes have found out, each once for the life of this process, and again when a source file changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from erlbench.work import identity

BELIEVED = 600.0  # seconds that a failure counts, so that nobody waits for a hanging environment twice


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What a clean process has answered."""

    answer: Any = None  # None where it has not answered
    failure: str = ""  # why not
    files: dict[str, str] | None = None  # of the modules that it has loaded; None: unknown
    model: str = ""  # digest of the compiled model, or an empty text
    sources: dict[str, str] | None = None  # digests of the modules that belong to no distribution, as they were then
    ended: float = field(default_factory=time.monotonic)

    def is_fresh(self) -> bool:
        """Whether these modules are still the same; where they are unknown, whether it is not long ago."""
        if self.files is None:
            return time.monotonic() - self.ended < BELIEVED
        return identity.described(self.files)["modules"] == self.sources


_known: dict[Hashable, Future[Inspection]] = {}  # for the life of this process
_lock = threading.Lock()


def inspection(key: Hashable, find: Callable[[], Inspection]) -> Future[Inspection]:
    """What is known of `key`, or what a thread finds out now."""
    with _lock:
        future = _known.get(key)
        if future is not None and future.done() and not future.result().is_fresh():
            future = None
        if future is None:
            future = _known[key] = Future()
            threading.Thread(target=_fill, args=(future, find), name="erlbench-inspection", daemon=True).start()
    return future


def also(key: Hashable, future: Future[Inspection]) -> None:
    """Have `key` known by the same inspection."""
    with _lock:
        _known.setdefault(key, future)


def of_files(answer: Any, files: dict[str, str], model: str = "") -> Inspection:
    """An inspection that has loaded `files`."""
    return Inspection(answer=answer, files=files, model=model, sources=identity.described(files)["modules"])


def _fill(future: Future[Inspection], find: Callable[[], Inspection]) -> None:
    try:
        future.set_result(find())
    except Exception as error:  # unknown, whatever it was
        future.set_result(Inspection(failure=f"{type(error).__name__}: {error}"))
