"""The display and status.json of a run: where it is, in steps, scores and seconds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from erlbench.experiment.cells import Cell
from erlbench.pool import Pool
from erlbench.records.schema import RESUMED, EpisodeRow, EventRow
from erlbench.records.training import TrainingReturns
from erlbench.running.loop import WHOLE, Record
from erlbench.running.progress import Display
from erlbench.running.remaining import Reading
from erlbench.running.results import RunDirectory

if TYPE_CHECKING:
    from erlbench.running.training import Training

REFRESH = 0.25  # seconds between two readings of a cell
STATUS_EVERY = 10.0  # seconds between two writings of a running cell's status.json
SHOWN = ("node joined", "node lost", "node refused", "discarded")  # events that the user sees at once


class ShownRun:
    """Keeps the display and status.json up to date."""

    training: Training  # of which it is a listener

    def __init__(self, cell: Cell, directory: RunDirectory, display: Display, pool: Pool) -> None:
        self.returns = TrainingReturns()
        self._cell, self._directory, self._display, self._pool = cell, directory, display, pool
        self._shown = self._written = 0.0
        self._measured: dict[str, float] = {}

    def begin(self) -> None:
        """Say that the run goes on; again as soon as it has gone on from its checkpoint."""
        self.write("running", "")
        self._written = 0.0

    def __call__(self, record: Record) -> None:
        """Take a record in; show and write where nothing is half done."""
        if isinstance(record, EpisodeRow):
            self.returns.add(record)
        elif isinstance(record, EventRow):
            if record.event == RESUMED:
                self.returns.restore(self._directory.path)
            if record.event in SHOWN:
                self._display.message(f"{self._cell.label}: {record.event}: {record.message}")
        if record is not WHOLE or time.monotonic() - self._shown < REFRESH:
            return
        self._shown = time.monotonic()
        self.record_measured()
        self._display.update(self._cell.label, self._reading())
        if self._shown - self._written >= STATUS_EVERY:
            self.write("running", "")

    def record_measured(self) -> None:
        """Print, and write to meta.json, which values of settings the run has found out by itself."""
        found = self.training.loop.algorithm.measured()
        if not found or found == self._measured:
            return
        self._measured = found
        self._directory.amend_meta(measured=found)
        values = ", ".join(f"{name} {value:.4g}" for name, value in found.items())
        self._display.message(f"{self._cell.label}: {values}, by a rule from the first returns")

    def _reading(self) -> Reading:
        loop, evaluations = self.training.loop, self.training.evaluations
        counters = loop.algorithm.counters
        planned, played = evaluations.evaluator.progress() if loop.clock.ended else (0, 0)
        return Reading(
            timesteps=counters.timesteps,
            total_timesteps=self._cell.total_timesteps,
            last_return=evaluations.last_return,
            busy=len(self._pool.running()),
            processes=max(1, self._pool.processes),
            generation=counters.generation,
            total_generations=self._cell.total_generations,
            evaluations=planned,
            evaluated=played,
            minutes=loop.clock.train / 60,
            total_minutes=self._cell.total_minutes,
            training_return=self.returns.mean,
        )

    def write(self, status: str, message: str, **more: Any) -> None:
        """Write status.json; `more` are further keys."""
        loop = self.training.loop
        self._written = time.monotonic()
        self._directory.write_status(
            status=status,
            message=message,
            timesteps=loop.algorithm.counters.timesteps,
            total_timesteps=self._cell.total_timesteps or None,
            **({"total_minutes": minutes} if (minutes := self._cell.total_minutes) is not None else {}),
            train_time_s=loop.clock.train,
            total_time_s=loop.clock.total,
            paused_s=loop.clock.paused,
            return_mean=self.training.evaluations.last_return,
            training_return=self.returns.mean,
            **more,
        )
