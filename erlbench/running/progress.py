"""Progress of runs: bars on a terminal, plain lines elsewhere, nothing when quiet; and status.json."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.progress import BarColumn, Progress, Task, TextColumn, TimeRemainingColumn
from rich.table import Column

from erlbench.errors import CellError
from erlbench.machine.process import Unbroken
from erlbench.records.run import NEVER_TRAINED
from erlbench.records.schema import RESUMED, EpisodeRow, EventRow, GenerationRow, Row
from erlbench.records.training import TrainingReturns
from erlbench.running.folder import DONE

if TYPE_CHECKING:
    from erlbench.running.loop import Run

PLAIN_EVERY = 15.0  # seconds between two lines of one cell
REDRAW = 0.2  # seconds, at least, between two pictures
WINDOW = 600.0  # seconds that a rate is measured over, as a generation may take minutes


@dataclass(frozen=True)
class _Narrower:
    """Leaves room for the `^C` that a terminal adds: a line that it breaks would stay when the picture goes."""

    content: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        return console.render(self.content, options.update_width(options.max_width - len("^C")))


class _Picture(Progress):
    def get_renderable(self) -> RenderableType:
        return _Narrower(super().get_renderable())


class Display:
    """Prints the progress of `cells` cells; called from several threads. Quiet, it prints failures and messages.

    Bars are drawn when a cell is updated: a thread that draws by itself would leave lines of the picture
    behind when it draws while another one prints.
    """

    def __init__(self, verbosity: int = 0, cells: int = 1, console: Console | None = None) -> None:
        stream: Any = Unbroken(sys.stderr)
        self._console = console or Console(  # honours NO_COLOR
            file=stream, highlight=False, emoji=False, force_terminal=stream.isatty()
        )
        self._quiet = verbosity < 0
        self._cells, self._ended = cells, 0
        self._lock = threading.RLock()
        draws = self._console.is_interactive and not self._quiet
        cell = TextColumn("{task.description}", markup=False, table_column=Column(ratio=2))
        words = TextColumn("{task.fields[words]}", markup=False, style="dim", table_column=Column(ratio=3))
        self._progress = _Picture(
            cell, BarColumn(12), TimeRemainingColumn(), words,
            console=self._console, auto_refresh=False, transient=True, expand=True,
            speed_estimate_period=WINDOW, get_time=lambda: time.monotonic(), disable=not draws,
        )  # fmt: skip
        self._progress.add_task("", total=cells, words="")  # of all cells together
        self._drawn = 0.0
        self._progress.start()
        if draws:
            self._console.show_cursor(True)  # it stays, whatever ends or suspends this process

    def update(self, cell: str, done: float, total: float, words: str, is_trained: bool = False) -> None:
        """Move the bar of a cell, or print a line when its last one is old enough.

        `done` of `total` is the work of the training, or the evaluations of a cell that `is_trained`.
        """
        if self._quiet:
            return
        with self._lock:
            overall, bar, now = self._progress.tasks[0], self._bar(cell, total), time.monotonic()
            if bar.total != total:  # the training is over
                self._progress.reset(bar.id, total=total)
            share = 1.0 if is_trained else done / total  # of the training
            self._progress.update(bar.id, completed=done, words=words, share=share)
            running = self._progress.tasks[1:]
            completed = self._ended + sum(each.fields["share"] for each in running)
            number = self._ended + len(running)
            self._progress.update(overall.id, completed=completed, description=f"cell {number} of {self._cells}")
            if not self._progress.disable and now - self._drawn >= REDRAW:
                self._drawn = now
                self._progress.refresh()
            elif self._progress.disable and now - bar.fields["printed"] >= PLAIN_EVERY:
                bar.fields["printed"] = now
                rate = "-" if bar.speed is None or is_trained else f"{bar.speed:,.0f}"
                self.message(
                    f"{cell}: {words}  {rate}/s  {_time_left(bar)} left  [{overall.description}, "
                    f"{_time_left(overall)} left for all]"
                )

    def message(self, text: str, important: bool = True) -> None:
        """One line, above the bars; a quiet display prints only what is `important`."""
        if important or not self._quiet:
            with self._lock:
                self._console.print(text, markup=False, soft_wrap=True)

    def finished(self, cell: str, text: str, failed: bool = False) -> None:
        """Say how a cell ended, or why it cannot go on, in place of its bar."""
        with self._lock:
            self._ended += 1
            for bar in self._progress.tasks:
                if bar.description == cell:
                    self._progress.remove_task(bar.id)
                    self._progress.refresh()
            self.message(f"{cell}: {text}", important=failed)

    def close(self) -> None:
        """Stop drawing."""
        with self._lock:
            self._progress.stop()

    def _bar(self, cell: str, total: float) -> Task:
        """The bar of a cell, which is made when it is first updated."""
        for bar in self._progress.tasks:
            if bar.description == cell:
                return bar
        self._progress.add_task(cell, total=total, words="", printed=time.monotonic())
        return self._progress.tasks[-1]


def _time_left(bar: Task) -> str:
    """`0:01:12`, or `-:--:--` while that is not known."""
    return "-:--:--" if bar.time_remaining is None else str(timedelta(seconds=int(bar.time_remaining)))


def is_watched() -> bool:
    """Whether somebody sees standard error: it is a terminal's, or a notebook's."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return sys.stderr.isatty() or hasattr(shell, "kernel")


# -- one run -----------------------------------------------------------------------------------------------------------


REFRESH = 0.25  # seconds between two updates of a cell
STATUS_EVERY = 10.0  # seconds between two writings of a running cell's status.json
SHOWN = ("node joined", "node lost", "node refused", "discarded")  # events that the user sees at once


@dataclass(eq=False)
class ShownRun:
    """Keeps the display and status.json up to date; called with each row, and between two steps."""

    run: Run
    display: Display

    def __post_init__(self) -> None:
        """Write that the run goes on; `update` writes it again once the run has gone on from its checkpoint."""
        self.returns = TrainingReturns()
        self._measured: dict[str, float] = {}
        self._nan_told = False
        self.write_status("running")
        self._shown = self._written = 0.0

    def say(self, text: str) -> None:
        """A line on the run."""
        self.display.message(f"{self.run.cell.label}: {text}")

    def __call__(self, row: Row) -> None:
        """Take a row in."""
        if isinstance(row, EpisodeRow):
            self.returns.add(row)
        elif isinstance(row, GenerationRow):
            if (count := row.metrics.get("nan_fitness", 0)) and not self._nan_told:
                self._nan_told = True
                self.say(f"{count:g} of generation {row.generation} have NaN as their return and rank last (train.csv)")
        elif isinstance(row, EventRow):
            if row.event == RESUMED:
                self.returns.restore(self.run.directory.path)
            if row.event in SHOWN:
                self.say(f"{row.event}: {row.message}")

    def update(self) -> None:
        """Show where the run is, and write it from time to time."""
        if time.monotonic() - self._shown < REFRESH:
            return
        self._shown = time.monotonic()
        self.record_measured()
        played, evaluations = self.run.evaluations.progress() if self.run.clock.ended else (0, 0)
        done, total = (played, evaluations) if evaluations else self._work()
        words = self._words(played, evaluations)
        self.display.update(self.run.cell.label, done, total, words, is_trained=evaluations > 0)
        if self._shown - self._written >= STATUS_EVERY:
            self.write_status("running")

    def record_measured(self) -> None:
        """Print, and write to meta.json, which values of settings the run has found out by itself."""
        measured = self.run.algorithm.measured()
        if not measured or measured == self._measured:
            return
        self._measured = measured
        self.run.directory.amend_meta(measured=measured)
        values = ", ".join(f"{name} {value:.4g}" for name, value in measured.items())
        self.say(f"{values}, by a rule from the first returns")

    def finish(self) -> str:
        """Write that the run is done, for good once this returns; how it ended, in words."""
        self.run.directory.amend_meta(device=self.run.pool.device)
        self.record_measured()
        counters, score = self.run.algorithm.counters, self.run.evaluations.state.last_return
        entries: dict[str, Any] = {}
        algorithm = self.run.algorithm
        if algorithm.critic_updates and not (counters.critic_updates or counters.actor_updates):
            entries["never_trained"] = algorithm.gradient_workers(algorithm.settings, 1) > 0
        self.write_status(DONE, **entries, files=self.run.sums | self.run.directory.sums())
        if entries.get("never_trained"):
            return NEVER_TRAINED
        return DONE if score is None else f"{DONE}, final score {score:,.1f}"

    def end(self, status: str, message: str = "") -> str:
        """Write how the run ended; that even this cannot be written must not hide the reason."""
        with suppress(OSError, CellError):
            self.run.directory.amend_meta(device=self.run.pool.device)
            self.write_status(status, message)
        return status

    def _work(self) -> tuple[float, int]:
        """How far the training is: by its steps and minutes or by its generations, whichever ends it first.

        The whole work is the steps of its budget, or 1 where minutes alone end it.
        """
        cell, counters = self.run.cell, self.run.algorithm.counters
        whole = cell.total_timesteps or 1
        share = counters.timesteps / whole if cell.total_timesteps else 1.0
        if cell.total_minutes is not None:
            share = min(share, self.run.clock.train / 60 / cell.total_minutes)
        if cell.total_generations:
            share = max(share, counters.generation / cell.total_generations)
        return min(1.0, share) * whole, whole

    def _words(self, played: int, evaluations: int) -> str:
        """Steps, and minutes or generations where they end the run; returns; busy processes."""
        cell, counters, pool = self.run.cell, self.run.algorithm.counters, self.run.pool
        words = f"{counters.timesteps:,}{f'/{cell.total_timesteps:,}' if cell.total_timesteps else ''} steps"
        if cell.total_minutes is not None:
            words += f", {self.run.clock.train / 60:.1f}/{cell.total_minutes:g} modelled minutes"
        if cell.total_generations:
            words = f"{counters.timesteps:,} steps, generation {counters.generation}/{cell.total_generations}"
        if evaluations:
            words += f"  evaluation {min(played + 1, evaluations)} of {evaluations}"
        elif self.returns.mean is not None:
            words += f"  training return {self.returns.mean:,.1f}"
        score = self.run.evaluations.state.last_return
        busy = f"{len(pool.running())}/{max(1, pool.processes)}"
        return f"{words}  score {'-' if score is None else f'{score:,.1f}'}  busy {busy}"

    def write_status(self, status: str, message: str = "", **entries: Any) -> None:
        """Write status.json; `entries` are further keys."""
        self._written = time.monotonic()
        self.run.directory.write_status(
            status=status,
            message=message,
            timesteps=self.run.algorithm.counters.timesteps,
            total_timesteps=self.run.cell.total_timesteps or None,
            **({"total_minutes": minutes} if (minutes := self.run.cell.total_minutes) is not None else {}),
            train_time_s=self.run.clock.train,
            total_time_s=self.run.clock.total,
            paused_s=self.run.clock.paused,
            return_mean=self.run.evaluations.state.last_return,
            training_return=self.returns.mean,
            **entries,
        )
