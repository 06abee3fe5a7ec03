"""Live curves for TensorBoard: an event file in the run's folder, which grows with the run (`--tensorboard`)."""

from __future__ import annotations

import importlib.util
import os
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from erlbench.errors import UsageError
from erlbench.files import reason
from erlbench.records.schema import RESUMED, EpisodeRow, EvaluationRow, EventRow, GenerationRow, Row
from erlbench.records.training import TRAINING, TrainingReturns, tagged

NAME = "events.out.tfevents"
EVERY = 1.0  # seconds between two points of the training return


def check_installed() -> None:
    """A `UsageError` where TensorBoard is not installed."""
    if importlib.util.find_spec("tensorboard") is None:
        raise UsageError("--tensorboard needs a package: pip install 'erlbench[exports]'")


class EventFile:
    """Writes rows as events, without a thread. A new start hides what it will write again.

    `returns` are the run's training returns, `steps` gives its training steps. Where the file cannot be written,
    `warn` hears it once, and the run goes on without.
    """

    def __init__(
        self, folder: Path, returns: TrainingReturns, steps: Callable[[], int], warn: Callable[[str], None]
    ) -> None:
        from tensorboard.compat.proto.event_pb2 import Event  # not at the top: runs without curves import none of it
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary, self._records = Event, Summary, RecordWriter
        self._returns, self._steps, self._warn = returns, steps, warn
        number = len(list(folder.glob(f"{NAME}.*")))  # TensorBoard reads the files in the order of their names
        self._path = folder / f"{NAME}.{time.time():.0f}.{number:03d}.{socket.gethostname()}.{os.getpid()}"
        self._file: IO[bytes] | None = None
        self._failed = False
        self._shown = 0.0
        self._write(file_version="brain.Event:2")

    def __call__(self, row: Row) -> None:
        """Take a row."""
        if isinstance(row, EvaluationRow | GenerationRow):
            self._values(int(row.timesteps), tagged(row))
        elif isinstance(row, EventRow) and row.event == RESUMED:
            self._write(session_log={"status": "START"}, step=self._steps() + 1)
        elif isinstance(row, EpisodeRow) and time.monotonic() - self._shown >= EVERY:
            if (mean := self._returns.mean) is not None:
                self._values(self._steps(), {TRAINING: mean})
            self._shown = time.monotonic()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()

    def _values(self, step: int, values: Mapping[str, float]) -> None:
        entries = [self._summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        self._write(step=step, summary=self._summary(value=entries))

    def _write(self, **event: Any) -> None:
        if self._failed:
            return
        try:
            self._file = self._file or open(self._path, "xb")
            self._records(self._file).write(self._event(wall_time=time.time(), **event).SerializeToString())
            self._file.flush()
        except OSError as error:
            self._failed = True
            self.close()
            self._warn(f"warning: there are no more live curves: {reason(error)} ({self._path})")
