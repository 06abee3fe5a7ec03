"""The display and status.json of a run: where it is, in steps, scores and seconds."""

from __future__ import annotations

import time
from typing import Any

from erlbench.experiment.cells import Cell
from erlbench.pool import Pool
from erlbench.records.schema import RESUMED, EpisodeRow, EventRow, GenerationRow, Row
from erlbench.records.training import TrainingReturns
from erlbench.running.loop import Run
from erlbench.running.progress import Display, Reading
from erlbench.running.results import RunDirectory

REFRESH = 0.25  # seconds between two readings of a cell
STATUS_EVERY = 10.0  # seconds between two writings of a running cell's status.json
SHOWN = ("node joined", "node lost", "node refused", "discarded")  # events that the user sees at once


class ShownRun:
    """Keeps the display and status.json up to date; called with each row, and between two steps."""

    def __init__(self, cell: Cell, directory: RunDirectory, display: Display, pool: Pool) -> None:
        self.returns = TrainingReturns()
        self._cell, self._directory, self._display, self._pool = cell, directory, display, pool
        self._shown = self._written = 0.0
        self._measured: dict[str, float] = {}
        self._nan_told = False

    def begin(self, run: Run) -> None:
        """Say that the run goes on; again as soon as it has gone on from its checkpoint."""
        self.write(run, "running", "")
        self._written = 0.0

    def __call__(self, row: Row) -> None:
        """Take a row in."""
        if isinstance(row, EpisodeRow):
            self.returns.add(row)
        elif isinstance(row, GenerationRow):
            if (count := row.own.get("nan_fitness", 0)) and not self._nan_told:
                self._nan_told = True
                self._display.message(
                    f"{self._cell.label}: {count:g} of generation {row.generation} have NaN as their return and rank "
                    "last; the column nan_fitness of train.csv counts them"
                )
        elif isinstance(row, EventRow):
            if row.event == RESUMED:
                self.returns.restore(self._directory.path)
            if row.event in SHOWN:
                self._display.message(f"{self._cell.label}: {row.event}: {row.message}")

    def update(self, run: Run) -> None:
        """Show where the run is, and write it from time to time."""
        if time.monotonic() - self._shown < REFRESH:
            return
        self._shown = time.monotonic()
        self.record_measured(run)
        self._display.update(self._cell.label, self._reading(run))
        if self._shown - self._written >= STATUS_EVERY:
            self.write(run, "running", "")

    def record_measured(self, run: Run) -> None:
        """Print, and write to meta.json, which values of settings the run has found out by itself."""
        found = run.algorithm.measured()
        if not found or found == self._measured:
            return
        self._measured = found
        self._directory.amend_meta(measured=found)
        values = ", ".join(f"{name} {value:.4g}" for name, value in found.items())
        self._display.message(f"{self._cell.label}: {values}, by a rule from the first returns")

    def _reading(self, run: Run) -> Reading:
        counters = run.algorithm.counters
        planned, played = run.evaluations.progress() if run.clock.ended else (0, 0)
        return Reading(
            timesteps=counters.timesteps,
            total_timesteps=self._cell.total_timesteps,
            last_return=run.evaluations.state.last_return,
            busy=len(self._pool.running()),
            processes=max(1, self._pool.processes),
            generation=counters.generation,
            total_generations=self._cell.total_generations,
            evaluations=planned,
            evaluated=played,
            minutes=run.clock.train / 60,
            total_minutes=self._cell.total_minutes,
            training_return=self.returns.mean,
        )

    def write(self, run: Run, status: str, message: str, **more: Any) -> None:
        """Write status.json; `more` are further keys."""
        self._written = time.monotonic()
        self._directory.write_status(
            status=status,
            message=message,
            timesteps=run.algorithm.counters.timesteps,
            total_timesteps=self._cell.total_timesteps or None,
            **({"total_minutes": minutes} if (minutes := self._cell.total_minutes) is not None else {}),
            train_time_s=run.clock.train,
            total_time_s=run.clock.total,
            paused_s=run.clock.paused,
            return_mean=run.evaluations.state.last_return,
            training_return=self.returns.mean,
            **more,
        )
