"""Appends rows to a run's CSV files, which can go back to saved lengths."""

from __future__ import annotations

import csv
import json
import os
import sys
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from operator import attrgetter, methodcaller
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from erlbench.errors import CellError
from erlbench.files import check_regular, is_same_file, open_file, read_bytes
from erlbench.records.run import checksum
from erlbench.records.schema import COUNTED, EpisodeRow, EvaluationRow, EventRow, Row, columns_of, declared, header


class RowFile:
    """An append-only file of rows of one kind.

    Rows gather in memory until `flush`. `state()` flushes them; it is the length in bytes, the CRC of those bytes, so
    that an edited or truncated file is noticed, and the columns. A file goes on with the columns that it began with.
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
        self._length = 0
        self._crc = 0
        self._go_on_with(header(row) if self.path.stat().st_size else None)

    def start(self) -> None:
        """Begin anew with nothing but the header."""
        self._cut(0)
        self._crc = 0
        if self._comment:
            self._append(f"#{self._comment}\n".encode())
        self._go_on_with(None)
        if not any(column.metrics for column in columns_of(self.row)):
            self._begin_columns(header(self.row))
            self.flush()

    def write(self, row: Row) -> None:
        """Add one row."""
        if self._columns is None:
            self._begin_columns(header(self.row, tuple(getattr(row, "metrics", ()))))
        self._writer.writerow(self._cells(row))

    def flush(self) -> None:
        """Append the rows added so far to the file; they are lost if that fails."""
        if self._lines:
            data = "".join(self._lines).encode()
            self._lines.clear()
            self._append(data)

    def discard(self) -> None:
        """Forget the rows added since the last `flush`."""
        self._lines.clear()

    def state(self) -> dict[str, Any]:
        """What `restore` needs; all rows are in the file."""
        self.flush()
        columns = None if self._columns is None else list(self._columns)
        return {"length": self._length, "crc": self._crc, "columns": columns}

    def matches(self, state: Mapping[str, Any]) -> bool:
        """Whether the file still begins with the bytes that `state` describes."""
        data = read_bytes(self.path, sys.maxsize, state["length"], inside=1)
        return len(data) == state["length"] and zlib.crc32(data) == state["crc"]

    def restore(self, state: Mapping[str, Any]) -> None:
        """Cut the file back to a state that it matches."""
        self._cut(state["length"])
        self._crc = state["crc"]
        self._go_on_with(state["columns"])

    def check_place(self) -> None:
        """Raise `CellError` when the path no longer leads to the file that is written."""
        if not is_same_file(self.path, self._file.fileno()):
            raise CellError(f"{self.path} was moved, removed or replaced while this run wrote it; put it back")

    def sync(self) -> None:
        """Have the file reach the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file, with all rows in it."""
        try:
            self.flush()
        finally:
            self._file.close()

    def _begin_columns(self, columns: tuple[str, ...]) -> None:
        self._go_on_with(columns)
        self._writer.writerow(columns)

    def _go_on_with(self, columns: Sequence[str] | None) -> None:
        """Write these columns; None: the first row's."""
        self._columns = None if columns is None else tuple(columns)
        if self._columns is not None:
            self._cells = _cells_of(self.row, self._columns)

    def _cut(self, length: int) -> None:
        self._lines.clear()
        self._file.truncate(length)
        self._length = length

    def _append(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[self._file.write(left) :]  # a disk that fills up takes a part first, then raises
        self._length += len(data)
        self._crc = zlib.crc32(data, self._crc)


def _cells_of(row: type[Row], columns: Sequence[str]) -> Callable[[Row], list[Any]]:
    """The function that gives the cells of a row, in the order of a file's `columns`, as `csv.writer` takes them.

    Some columns may have older names or be missing in the file; those that the schema does not have are the
    algorithm's metrics: empty where the row has none.
    """
    schema, metrics = declared(row), next((column.name for column in columns_of(row) if column.metrics), "")
    values = attrgetter(*(schema[name].name if name in schema else metrics or "file" for name in columns))
    converts: list[tuple[int, Callable[[Any], Any]]] = []
    for at, name in enumerate(columns):
        if name not in schema:
            converts.append((at, methodcaller("get", name) if metrics else lambda _: ""))
        elif not schema[name].numeric:
            converts.append((at, _one_line if schema[name].kind == "text" else _spaced))

    def cells(row: Row) -> list[Any]:
        cells_of_row = list(values(row))
        for at, convert in converts:
            cells_of_row[at] = convert(cells_of_row[at])
        return cells_of_row

    return cells


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


def _spaced(values: Sequence[float]) -> str:
    """Several numbers in a cell."""
    return " ".join(str(float(value) if isinstance(value, float) else value) for value in values)


# -- rows: they gather in memory and reach their files once a second ---------------------------------------------------


FLUSH_EVERY = 1.0  # seconds between two writes of the rows


class RowFiles:
    """Writes each row to its file: an event at once, all others when they are flushed.

    They are flushed once a second, with each evaluation and checkpoint, and when the run ends, however that is.
    `check` raises where nothing may be written any more.
    """

    def __init__(self, folder: Path, env_id: str, check: Callable[[], None] = lambda: None) -> None:
        comment = json.dumps({"env_id": env_id, "t_start": datetime.now(UTC).timestamp()})
        self.counted = {  # by their names in checkpoints
            Path(row.file).stem: RowFile(folder, row, comment if row is EpisodeRow else "") for row in COUNTED
        }
        self.events = RowFile(folder, EventRow)
        self._all = {file.row: file for file in (*self.counted.values(), self.events)}
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
        """Write all rows to their files, if these still belong to this run."""
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
        """Flush, and have all rows reach the disk."""
        self.flush()
        for file in self._all.values():
            file.sync()

    def close(self) -> None:
        """Close all files; a full disk, at which the run has failed before, is not reported again."""
        for file in self._all.values():
            with suppress(OSError):
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
