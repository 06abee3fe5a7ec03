"""One thread for BLAS and OpenMP while something is computed here; afterwards the caller has as many as before.

A sum over several threads is taken in another order, so its last digit differs. A BLAS such as OpenBLAS has one number
of threads for the whole process. OpenMP has one for each thread, and PyTorch follows it, but keeps the number that new
threads begin with. PyTorch's `set_num_threads` therefore leaves numpy's BLAS and all other threads as they are.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

TORCH, OPENMP = "torch", "openmp"


@dataclass(frozen=True)
class Library:
    """A library that is loaded, and its number of threads in the calling thread."""

    name: str
    threads: int
    set_threads: Callable[[int], object]
    of_each_thread: bool = False  # whether each thread has its number, as with OpenMP; else the process has one

    def restore(self) -> None:
        """Give it the number of threads that it has here."""
        self.set_threads(self.threads)


def loaded_libraries() -> list[Library]:
    """PyTorch, if it is imported, and every BLAS and OpenMP."""
    from threadpoolctl import ThreadpoolController  # not at the top: the identity of a run names what is imported

    libraries = [
        Library(str(library.filepath), library.num_threads or 1, partial(_set_threads, library), _has_openmp(library))
        for library in ThreadpoolController().lib_controllers
    ]
    if TORCH in sys.modules:
        import torch  # waits where another thread is importing it

        libraries.append(Library(TORCH, torch.get_num_threads(), torch.set_num_threads))
    return libraries


def _has_openmp(controller: Any) -> bool:
    """Whether it is OpenMP, or an OpenBLAS that is built with it."""
    return OPENMP in (controller.user_api, getattr(controller, "threading_layer", ""))


def _set_threads(controller: Any, number: int) -> None:
    """Have threadpoolctl set a number; its later versions ignore all but the first thread that sets OpenBLAS."""
    let_any_thread = getattr(controller, "clear_controlling_thread", lambda force: None)
    let_any_thread(force=True)
    controller.set_num_threads(number)
    let_any_thread(force=True)


def threads_of_libraries() -> int:
    """The most threads with which a library computes in the calling thread."""
    return max((library.threads for library in loaded_libraries()), default=1)


class OneThread:
    """Holds the libraries of this process to one thread as long as any of its threads asks for that."""

    def __init__(self) -> None:
        self._guard = threading.RLock()
        self._holders = 0
        self._before: dict[str, Library] = {}  # as they were before they were limited
        self._seen = threading.local()  # `modules`: how many the thread knew that renewed last

    @contextmanager
    def hold(self) -> Iterator[None]:
        """One thread until the end of the block, for the calling thread and for all that call `renew`."""
        here = [library for library in loaded_libraries() if library.of_each_thread]
        with self._guard:
            self._holders += 1
        try:
            self.limit()
            yield
        finally:
            with self._guard:
                self._holders -= 1
                if not self._holders:
                    for library in self._before.values():
                        library.restore()
                    self._before.clear()
                for library in here:
                    library.restore()

    def renew(self) -> None:
        """Hold the calling thread, and what has been loaded since its last call, to one thread, while anybody holds."""
        count = len(sys.modules)
        if self._holders and getattr(self._seen, "modules", 0) != count:
            self._seen.modules = count
            self.limit()

    def limit(self) -> None:
        """One thread for all that is loaded now; for good where none is held, as in a process of a pool."""
        with self._guard:
            libraries = loaded_libraries()  # all are looked at before one is changed: PyTorch changes OpenMP
            for library in libraries:
                if self._holders:
                    self._before.setdefault(library.name, library)
            for library in libraries:
                library.set_threads(1)


ONE_THREAD = OneThread()
