"""Progress on standard error: bars on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from erlbench.machine.descriptors import Unbroken
from erlbench.running.readings import LittleCurve, overall, reading_words
from erlbench.running.remaining import Reading, Remaining, Workload

PLAIN_EVERY = 15.0  # seconds between two lines of one cell
REDRAW = 0.2  # seconds, at least, between two pictures


class Display(Protocol):
    """What the runner reports about its cells; called from several threads."""

    def update(self, cell: str, reading: Reading) -> None: ...
    def message(self, text: str) -> None: ...
    def finished(self, cell: str, text: str) -> None: ...
    def failed(self, cell: str, reason: str) -> None: ...
    def close(self) -> None: ...
    def summary(self, text: str) -> None: ...


def create(verbosity: int, workloads: Iterable[Workload] = (), at_once: int = 1) -> Display:
    """A display for `verbosity` (-1 quiet, 0 normal, 1 verbose) of `workloads`, of which `at_once` run at a time."""
    stream: Any = Unbroken(sys.stderr)
    if verbosity < 0:
        return Quiet(stream)
    remaining = Remaining(workloads, at_once)
    console = Console(file=stream, highlight=False)  # honours NO_COLOR
    return Bars(console, remaining) if console.is_terminal else Plain(stream, remaining)


def is_watched() -> bool:
    """Whether somebody sees standard error: it is a terminal's, or a notebook's."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return sys.stderr.isatty() or hasattr(shell, "kernel")


class Quiet:
    """Errors only."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def update(self, cell: str, reading: Reading) -> None:
        """Nothing."""

    def message(self, text: str) -> None:
        """One line on standard error."""
        print(text, file=self._stream, flush=True)

    def finished(self, cell: str, text: str) -> None:
        """Nothing."""

    def failed(self, cell: str, reason: str) -> None:
        """Say why the cell cannot go on."""
        self.message(f"{cell}: failed: {reason}")

    def close(self) -> None:
        """Nothing."""

    def summary(self, text: str) -> None:
        """Nothing."""


class Plain(Quiet):
    """One line per cell every few seconds."""

    def __init__(self, stream: Any, remaining: Remaining) -> None:
        super().__init__(stream)
        self._lock = threading.Lock()
        self._remaining = remaining
        self._printed: dict[str, float] = {}

    def update(self, cell: str, reading: Reading) -> None:
        """Print a line when the last one is old enough."""
        with self._lock:
            now = time.monotonic()
            self._remaining.update(cell, reading, now)
            if now - self._printed.setdefault(cell, now) >= PLAIN_EVERY:
                self._printed[cell] = now
                words = "  ".join(reading_words(reading, *self._remaining.of(cell)))
                self.message(f"{cell}: {words}  [{overall(self._remaining)}]")

    def finished(self, cell: str, text: str) -> None:
        """Say how the cell ended."""
        with self._lock:
            self._remaining.end(cell)
        self.message(f"{cell}: {text}")

    def failed(self, cell: str, reason: str) -> None:
        """Say why the cell cannot go on."""
        self.finished(cell, f"failed: {reason}")

    def summary(self, text: str) -> None:
        """What there is at the end."""
        self.message(text)


class Bars:
    """Two lines per running cell, and one for all; none is wider than the terminal.

    They are drawn again when a cell reports its reading. A thread that draws by itself, as `Live` has by default,
    leaves lines of the picture behind when it draws while another one prints.
    """

    def __init__(self, console: Console, remaining: Remaining) -> None:
        self._remaining = remaining
        self._lock = threading.RLock()  # one thread draws or prints at a time
        self._drawn = 0.0
        self._running: dict[str, Reading] = {}
        self._curves: dict[str, LittleCurve] = {}
        self._live = Live(console=console, get_renderable=self._picture, auto_refresh=False, transient=True)
        self._live.start()

    def update(self, cell: str, reading: Reading) -> None:
        """Move the bar."""
        with self._lock:
            self._remaining.update(cell, reading, time.monotonic())
            self._running[cell] = reading
            self._curves.setdefault(cell, LittleCurve()).add(reading)
            if time.monotonic() - self._drawn >= REDRAW:
                self._live.refresh()
                self._drawn = time.monotonic()

    def message(self, text: str) -> None:
        """One line above the bars."""
        with self._lock:
            self._live.console.print(text, markup=False, soft_wrap=True)

    def finished(self, cell: str, text: str) -> None:
        """Replace the bar by a line."""
        with self._lock:
            self._running.pop(cell, None)
            curve = str(self._curves.pop(cell, ""))
            self._remaining.end(cell)
            self._live.refresh()  # else its bar stays until another cell moves its own
            self.message(f"{cell}: {text} {curve}".rstrip())

    def failed(self, cell: str, reason: str) -> None:
        """Replace the bar by the reason."""
        with self._lock:
            self._curves.pop(cell, None)
        self.finished(cell, f"failed: {reason}")

    def close(self) -> None:
        """Stop drawing."""
        with self._lock:
            self._live.stop()

    def summary(self, text: str) -> None:
        """What there is at the end."""
        self.message(text)

    def _picture(self) -> RenderableType:
        return Group(*self._lines())

    def _lines(self) -> Iterator[RenderableType]:
        for cell, reading in self._running.items():
            row = Table.grid(padding=(0, 1), expand=True)
            row.add_column(no_wrap=True, overflow="ellipsis")
            row.add_column(width=24)
            row.add_row(Text(cell), ProgressBar(reading.whole, min(reading.work, reading.whole), width=24))
            yield row
            words = reading_words(reading, *self._remaining.of(cell), compact=True)
            words.insert(-1, str(self._curves.get(cell, "")))
            yield Text("  " + "  ".join(filter(None, words)), no_wrap=True, overflow="ellipsis", style="dim")
        if self._remaining.workloads:
            yield Text(overall(self._remaining), no_wrap=True, overflow="ellipsis")
