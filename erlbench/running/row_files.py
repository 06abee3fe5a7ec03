"""The CSV files of one run: rows gather in memory and reach them once a second."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from erlbench.errors import CellError
from erlbench.records.run import checksum
from erlbench.records.schema import COUNTED, EpisodeRow, EvaluationRow, EventRow, GenerationRow, Row, TaskRow
from erlbench.records.write import RowFile

FLUSH_EVERY = 1.0  # seconds between two writes of the rows
# The names of the files in checkpoints.
NAMES: Mapping[type[Row], str] = {
    EvaluationRow: "eval",
    EpisodeRow: "episodes",
    TaskRow: "tasks",
    GenerationRow: "train",
}


class RowFiles:
    """Writes each row to its file: an event at once, all others when they are flushed.

    They are flushed once a second, with each evaluation and checkpoint, and when the run ends, however that is.
    `check` raises where nothing may be written any more.
    """

    def __init__(self, folder: Path, env_id: str, check: Callable[[], None] = lambda: None) -> None:
        comment = json.dumps({"env_id": env_id, "t_start": datetime.now(UTC).timestamp()})
        self.counted: dict[type[Row], RowFile] = {
            row: RowFile(folder, row, comment if row is EpisodeRow else "") for row in COUNTED
        }
        self.events = RowFile(folder, EventRow)
        self._all: dict[type[Row], RowFile] = {**self.counted, EventRow: self.events}
        self._check = check
        self._flushed = time.monotonic()

    def write(self, row: Row) -> None:
        """Take a row."""
        self._all[type(row)].write(row)
        if isinstance(row, EventRow):
            self.events.flush()
        elif isinstance(row, EvaluationRow):
            self.flush()

    def flush_in_time(self) -> None:
        """Flush when the last time was a second ago."""
        if time.monotonic() - self._flushed >= FLUSH_EVERY:
            self.flush()

    def start(self) -> None:
        """Begin all files anew."""
        for file in self._all.values():
            file.start()

    def flush(self) -> None:
        """Write all rows to their files, if these are still those of this run."""
        self._check()
        for file in self.counted.values():
            file.check_place()
        self.write_waiting()
        self._flushed = time.monotonic()

    def write_waiting(self) -> None:
        """Write all rows to the files that are open."""
        for file in self.counted.values():
            file.flush()

    def discard(self) -> None:
        """Forget the rows that are not in their files, which are another driver's now."""
        for file in self.counted.values():
            file.discard()

    def sync(self) -> None:
        """Have all rows that were flushed reach the disk."""
        for file in self._all.values():
            file.sync()

    def close(self) -> None:
        """Close all files; a full disk, at which the run has failed before, is not reported again."""
        for file in self._all.values():
            with suppress(OSError):
                file.close()

    # -- checkpoints: events.csv only ever grows -----------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Lengths and checksums of all files."""
        return {NAMES[row]: file.state() for row, file in self.counted.items()}

    def sums(self) -> dict[str, str]:
        """Checksums by the files' names, as status.json of a finished run holds them."""
        states = {file.path.name: file.state() for file in self.counted.values()}
        return {name: checksum(state["length"], state["crc"]) for name, state in states.items()}

    def check(self, state: Mapping[str, Any]) -> None:
        """Raise `CellError` for a file that was edited or truncated since `state`."""
        for row, file in self.counted.items():
            if not file.matches(state[NAMES[row]]):
                raise CellError(f"{file.path} was edited or truncated after the checkpoint")

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a state that `check` accepted."""
        for row, file in self.counted.items():
            file.restore(state[NAMES[row]])
        self.events.begin()  # it may have been removed
