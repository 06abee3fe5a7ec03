"""Work that does not depend on each other, in this thread or in two: the outcome is the same."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

Work = Callable[[], object]
Together = Callable[[Sequence[Work]], None]


def in_turn(works: Sequence[Work]) -> None:
    """One after the other, in this thread."""
    for work in works:
        work()


@contextmanager
def two_threads(surroundings: AbstractContextManager[object]) -> Iterator[Together]:
    """Inside, the first of some works runs in this thread, all others meanwhile in a second one.

    The second thread lives within `surroundings`: what a processor does with denormal numbers is a matter of threads.
    What a work raises is raised here when all have ended.
    """
    helper = _Helper(surroundings)
    helper.start()
    try:
        yield helper.together
    finally:
        helper.stop()


class _Helper(threading.Thread):
    """A thread that waits for work; two locks, each taken by one thread and given back by the other, hand it over."""

    def __init__(self, surroundings: AbstractContextManager[object]) -> None:
        super().__init__(name="side-by-side", daemon=True)
        self._surroundings = surroundings
        self._works: Sequence[Work] | None = None  # None: the end
        self._error: BaseException | None = None
        self._go, self._done = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._done.acquire()

    def run(self) -> None:
        with self._surroundings:
            while True:
                self._go.acquire()
                if self._works is None:
                    return
                try:
                    in_turn(self._works)
                except BaseException as error:
                    self._error = error
                self._done.release()

    def together(self, works: Sequence[Work]) -> None:
        """Run all; returns when they have ended."""
        self._works = works[1:]
        self._go.release()
        try:
            works[0]()
        finally:
            self._done.acquire()
        error, self._error = self._error, None
        if error is not None:
            raise error

    def stop(self) -> None:
        """End the thread."""
        self._works = None
        self._go.release()
        self.join()
