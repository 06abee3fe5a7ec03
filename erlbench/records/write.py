"""Appends rows to a run's CSV files, which can go back to saved lengths."""

from __future__ import annotations

import csv
import json
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from erlbench.errors import CellError
from erlbench.files import check_regular, is_same_file, open_file, read_bytes
from erlbench.records.run import checksum
from erlbench.records.schema import (
    COUNTED,
    EpisodeRow,
    EvaluationRow,
    EventRow,
    Row,
    RowColumn,
    cached,
    declared,
    header,
    list_columns,
)


class RowFile:
    """An append-only file of rows of one kind.

    Rows gather in memory until `flush`. `state()` flushes them; it is the length in bytes, the CRC of those bytes, so
    that an edited or truncated file is noticed, and the columns.
    """

    def __init__(self, folder: Path, row: type[Row], comment: str = "") -> None:
        self.path = folder / row.file
        self.row = row
        self._comment = comment
        check_regular(self.path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._file = open(open_file(self.path, flags, inside=1), "ab", buffering=0)
        self._lines: list[str] = []  # not yet in the file
        self._writer = csv.writer(SimpleNamespace(write=self._lines.append), lineterminator="\n")
        self._length = self._crc = 0
        self._columns = header(row) if self.path.stat().st_size else ()  # none before the line with their names

    def start(self) -> None:
        """Begin anew with nothing but the header; without it where the first row decides on the columns."""
        self._go_back(0, 0, ())
        if self._comment:
            self._append(f"#{self._comment}\n".encode())
        if not any(column.metrics for column in list_columns(self.row)):
            self._write_header(())
            self.flush()

    def write(self, row: Row) -> None:
        """Add one row."""
        if not self._columns:
            self._write_header(getattr(row, "metrics", ()))
        self._writer.writerow(_cells(row, self._columns))

    def flush(self) -> None:
        """Append the rows added so far to the file; they are lost if that fails."""
        if self._lines:
            data = "".join(self._lines).encode()
            self._lines.clear()
            self._append(data)

    def state(self) -> dict[str, Any]:
        """What `restore` needs; all rows are in the file."""
        self.flush()
        return {"length": self._length, "crc": self._crc, "columns": list(self._columns) or None}

    def matches(self, state: Mapping[str, Any]) -> bool:
        """Whether the file still begins with the bytes that `state` describes."""
        data = read_bytes(self.path, sys.maxsize, state["length"], inside=1)
        return len(data) == state["length"] and zlib.crc32(data) == state["crc"]

    def restore(self, state: Mapping[str, Any]) -> None:
        """Cut the file back to a state that it matches."""
        self._go_back(state["length"], state["crc"], state["columns"] or ())

    def check_place(self) -> None:
        """Raise `CellError` when the path no longer leads to the file that is written."""
        if not is_same_file(self.path, self._file.fileno()):
            raise CellError(f"{self.path} was moved, removed or replaced while this run wrote it; put it back")

    def sync(self) -> None:
        """Have the file reach the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; rows that were not flushed are lost."""
        self._file.close()

    def _write_header(self, metrics: Iterable[str]) -> None:
        self._columns = header(self.row, tuple(metrics))
        self._writer.writerow(self._columns)

    def _go_back(self, length: int, crc: int, columns: Sequence[str]) -> None:
        self._lines.clear()
        self._file.truncate(length)
        self._length, self._crc, self._columns = length, crc, tuple(columns)

    def _append(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[self._file.write(left) :]  # a disk that fills up takes a part first, then raises
        self._length += len(data)
        self._crc = zlib.crc32(data, self._crc)


def _cells(row: Row, columns: Sequence[str]) -> list[Any]:
    """The cells of a row, as `csv.writer` takes them; empty for columns of metrics that it lacks."""
    values, converted = _conversion(type(row))
    cells = [*values(row)]
    for at, column in converted:
        if column.metrics:
            cells[at : at + 1] = [cells[at].get(name, "") for name in columns if name not in declared(type(row))]
        elif column.kind == "text":
            cells[at] = " ".join(cells[at].splitlines())
        else:
            cells[at] = " ".join(str(float(value) if isinstance(value, float) else value) for value in cells[at])
    return cells


@cached
def _conversion(row: type[Row]) -> tuple[Callable[[Row], Sequence[Any]], list[tuple[int, RowColumn]]]:
    """The function that gives the values of a row, and the columns that are no single number, with their places."""
    columns = list_columns(row)
    converted = [(at, column) for at, column in enumerate(columns) if column.metrics or not column.numeric]
    return attrgetter(*(column.name for column in columns)), converted


# -- rows: they gather in memory and reach their files once a second ---------------------------------------------------


FLUSH_EVERY = 1.0  # seconds between two writes of the rows


class RowFiles:
    """Writes each row to its file: an event at once, all others when they are flushed.

    They are flushed once a second, with each evaluation and checkpoint, and when the run ends, however that is.
    `check` raises where nothing may be written any more.
    """

    def __init__(self, folder: Path, env_id: str, check: Callable[[], None] = lambda: None) -> None:
        comment = json.dumps({"env_id": env_id, "t_start": datetime.now(UTC).timestamp()})
        counted = [RowFile(folder, row, comment if row is EpisodeRow else "") for row in COUNTED]
        self.counted = {file.path.stem: file for file in counted}  # by their names in checkpoints
        self._all = {file.row: file for file in (*counted, RowFile(folder, EventRow))}
        self._check = check
        self._flushed = time.monotonic()

    def write(self, row: Row) -> None:
        """Take a row."""
        file = self._all[type(row)]
        file.write(row)
        if isinstance(row, EventRow):
            file.flush()
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
        """Write all rows to their files, if these still belong to this run."""
        self._check()
        for file in self.counted.values():
            file.check_place()
            file.flush()
        self._flushed = time.monotonic()

    def sync(self) -> None:
        """Flush, and have all rows reach the disk."""
        self.flush()
        for file in self._all.values():
            file.sync()

    def close(self) -> None:
        """Close all files; rows that were not flushed are lost."""
        for file in self._all.values():
            file.close()

    # -- checkpoints: events.csv only ever grows -----------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Lengths and checksums of the files that a checkpoint cuts back: all but events.csv."""
        return {name: file.state() for name, file in self.counted.items()}

    def sums(self) -> dict[str, str]:
        """Checksums by the files' names, as status.json of a finished run holds them."""
        states = {file.path.name: file.state() for file in self.counted.values()}
        return {name: checksum(state["length"], state["crc"]) for name, state in states.items()}

    def check(self, state: Mapping[str, Any]) -> None:
        """Raise `CellError` for a file that was edited or truncated since `state`."""
        for name, file in self.counted.items():
            if not file.matches(state[name]):
                raise CellError(f"{file.path} was edited or truncated after the checkpoint")

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a state that `check` accepted."""
        for name, file in self.counted.items():
            file.restore(state[name])
