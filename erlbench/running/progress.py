"""Progress on standard error: bars on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

PLAIN_EVERY = 15.0  # seconds between two lines of one cell


@dataclass(frozen=True)
class Reading:
    """Where a cell is."""

    timesteps: int
    total_timesteps: int
    train_time: float  # seconds
    last_return: float | None
    busy: int  # processes
    processes: int


class Display(Protocol):
    """What the runner tells about its cells; called from several threads."""

    def update(self, cell: str, reading: Reading) -> None: ...
    def message(self, text: str) -> None: ...
    def finished(self, cell: str, text: str) -> None: ...
    def failed(self, cell: str, reason: str) -> None: ...
    def close(self) -> None: ...


def create(verbosity: int) -> Display:
    """A display for `verbosity` (-1 quiet, 0 normal, 1 verbose)."""
    if verbosity < 0:
        return Quiet()
    console = Console(stderr=True, highlight=False)  # honours NO_COLOR
    return Bars(console) if console.is_terminal else Plain()


class Quiet:
    """Errors only."""

    def update(self, cell: str, reading: Reading) -> None:
        """Nothing."""

    def message(self, text: str) -> None:
        """One line on standard error."""
        print(text, file=sys.stderr, flush=True)

    def finished(self, cell: str, text: str) -> None:
        """Nothing."""

    def failed(self, cell: str, reason: str) -> None:
        """Say why the cell cannot go on."""
        self.message(f"{cell}: failed: {reason}")

    def close(self) -> None:
        """Nothing."""


class Rate:
    """Steps per second since a cell was first seen, and the time that is left at that rate."""

    def __init__(self, reading: Reading) -> None:
        self._first = reading

    def of(self, reading: Reading) -> tuple[float, float | None]:
        """(steps per second, seconds left or None)."""
        seconds = reading.train_time - self._first.train_time
        rate = (reading.timesteps - self._first.timesteps) / seconds if seconds > 0 else 0.0
        left = (reading.total_timesteps - reading.timesteps) / rate if rate > 0 else None
        return rate, max(left, 0.0) if left is not None else None


def facts(reading: Reading, rate: Rate) -> str:
    """Steps, rate, remaining time, last score and busy processes as text."""
    speed, left = rate.of(reading)
    score = "-" if reading.last_return is None else f"{reading.last_return:,.1f}"
    remaining = "-:--:--" if left is None else duration(left)
    return (
        f"{reading.timesteps:,}/{reading.total_timesteps:,} steps  {speed:,.0f}/s  {remaining} left  "
        f"score {score}  busy {reading.busy}/{reading.processes}"
    )


def duration(seconds: float) -> str:
    """h:mm:ss."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}"


class Plain(Quiet):
    """One line per cell every few seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rates: dict[str, Rate] = {}
        self._printed: dict[str, float] = {}

    def update(self, cell: str, reading: Reading) -> None:
        """Print a line when the last one is old enough."""
        with self._lock:
            now = time.monotonic()
            rate = self._rates.setdefault(cell, Rate(reading))
            if now - self._printed.setdefault(cell, now) >= PLAIN_EVERY:
                self._printed[cell] = now
                self.message(f"{cell}: {facts(reading, rate)}")

    def finished(self, cell: str, text: str) -> None:
        """Say how the cell ended."""
        self.message(f"{cell}: {text}")


class Bars:
    """A bar per running cell."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[facts]}"),
            console=console,
            refresh_per_second=4,
        )
        self._lock = threading.Lock()
        self._bars: dict[str, tuple[TaskID, Rate]] = {}
        self._progress.start()

    def update(self, cell: str, reading: Reading) -> None:
        """Move the bar."""
        with self._lock:
            if cell not in self._bars:
                bar = self._progress.add_task(cell, total=reading.total_timesteps, facts="")
                self._bars[cell] = (bar, Rate(reading))
            bar, rate = self._bars[cell]
        done = min(reading.timesteps, reading.total_timesteps)
        self._progress.update(bar, completed=done, facts=facts(reading, rate))

    def message(self, text: str) -> None:
        """One line above the bars."""
        self._console.print(text, markup=False, soft_wrap=True)

    def finished(self, cell: str, text: str) -> None:
        """Replace the bar by a line."""
        with self._lock:
            bar, _ = self._bars.pop(cell, (None, None))
        if bar is not None:
            self._progress.remove_task(bar)
        self.message(f"{cell}: {text}")

    def failed(self, cell: str, reason: str) -> None:
        """Replace the bar by the reason."""
        self.finished(cell, f"failed: {reason}")

    def close(self) -> None:
        """Stop drawing."""
        self._progress.stop()
