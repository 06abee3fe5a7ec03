"""Live curves for TensorBoard: an event file in the run's folder, which grows with the run (`--tensorboard`)."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from erlbench.errors import UsageError
from erlbench.files import reason
from erlbench.records.read import read_rows
from erlbench.records.schema import RESUMED, EpisodeRow, EvaluationRow, EventRow, GenerationRow, Row
from erlbench.records.training import TRAINING, TrainingReturns, points, tagged

EVERY = 1.0  # seconds between two points of the training return


def check_installed() -> None:
    """A `UsageError` where TensorBoard is not installed."""
    if importlib.util.find_spec("tensorboard") is None:
        raise UsageError("--tensorboard needs a package: pip install 'erlbench[exports]'")


@dataclass(eq=False)
class LiveCurves:
    """Writes rows as events. A new start hides all earlier ones, and begins with the rows that the run goes on from.

    `returns` are the run's training returns, `steps` gives its training steps. Where the file cannot be written,
    `warn` hears it once, and the run goes on without.
    """

    folder: Path
    returns: TrainingReturns
    steps: Callable[[], int]
    warn: Callable[[str], None]

    def __post_init__(self) -> None:
        self._writer: Any = None
        self._failed = False
        self._shown = 0.0

    def __call__(self, row: Row) -> None:
        """Take a row."""
        if isinstance(row, EvaluationRow | GenerationRow):
            self._add(int(row.timesteps), tagged(row))
        elif isinstance(row, EventRow) and row.event == RESUMED:
            self._restart(time.time() - row.time_s)
        elif isinstance(row, EpisodeRow) and time.monotonic() - self._shown >= EVERY:
            if (mean := self.returns.mean) is not None:
                self._add(self.steps(), {TRAINING: mean})
            self._shown = time.monotonic()

    def close(self) -> None:
        """Close the file."""
        if self._writer is not None:
            with suppress(OSError):
                self._writer.close()

    def _restart(self, begin: float) -> None:
        """Draw the rows of the files anew; the run's clock was 0 at the moment `begin`."""
        frames = (read_rows(self.folder, row) for row in (EvaluationRow, GenerationRow, EpisodeRow))
        for tag, value, step, seconds in points(*(rows for rows in frames if rows is not None)):
            self._add(step, {tag: value}, begin + seconds)

    def _add(self, step: int, values: Mapping[str, float], moment: float | None = None) -> None:
        """Add points, by default of now; the first call opens the file, which hides the points of earlier files."""
        from torch.utils.tensorboard import SummaryWriter  # not at the top: runs without curves import none of it

        if self._failed:
            return
        try:
            self._writer = self._writer or SummaryWriter(self.folder, purge_step=0, flush_secs=1)
            for tag, value in values.items():
                self._writer.add_scalar(tag, value, step, moment)
        except OSError as error:
            self._failed = True
            self.close()
            self.warn(f"warning: there are no more live curves: {reason(error)} ({self.folder})")
