"""Appends rows to a run's CSV file, which can go back to a saved length."""

from __future__ import annotations

import csv
import os
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import Any

from erlbench.errors import CellError
from erlbench.files import check_regular, is_same_file, open_file, read_bytes
from erlbench.records.schema import Row, RowColumn, cached, columns_of, declared, header


class RowFile:
    """An append-only file of rows of one kind.

    Rows gather in memory until `flush`. `state()` flushes them; it is the length in bytes, the CRC of those bytes, so
    that an edited or truncated file is noticed, and the columns. A file goes on with the columns that it began with.
    """

    def __init__(self, folder: Path, row: type[Row], comment: str = "") -> None:
        self.path = folder / row.file
        self.row = row
        self._columns: tuple[str, ...] | None = None  # None: they are taken from the first row
        self._own = any(column.own for column in columns_of(row))
        self._comment = comment
        check_regular(self.path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._file = open(open_file(self.path, flags, inside=1), "ab", buffering=0)
        self._lines: list[str] = []  # not yet in the file
        self._length = 0
        self._crc = 0

    @property
    def waiting(self) -> int:
        """How many rows are not yet in the file."""
        return len(self._lines)

    def start(self) -> None:
        """Begin anew with nothing but the header."""
        self._cut(0)
        self._crc = 0
        if self._comment:
            self._append(f"#{self._comment}\n".encode())
        self._columns = None
        if not self._own:
            self._begin_columns(header(self.row))
            self.flush()

    def begin(self) -> None:
        """Begin a file that is empty, and leave any other as it is."""
        if not self.path.stat().st_size:
            self.start()
        else:
            self._go_on_with(header(self.row))

    def write(self, row: Row) -> None:
        """Add one row."""
        if self._columns is None:
            self._begin_columns(header(self.row, tuple(row.own)))  # type: ignore[attr-defined]
        self._lines.append(self._line(row))

    def flush(self) -> None:
        """Append the rows added so far to the file; they are lost if that fails."""
        if self._lines:
            lines, self._lines = self._lines, []
            self._append("".join(lines).encode())

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
        self._lines.append(_joined(columns))

    def _go_on_with(self, columns: Sequence[str] | None) -> None:
        self._columns = None if columns is None else tuple(columns)
        if self._columns is not None:
            self._line = line_of(self.row, self._columns)

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


@cached
def line_of(row: type[Row], columns: tuple[str, ...]) -> Callable[[Row], str]:
    """The function that makes the line of a row, as one f-string: tasks.csv gets one for every task.

    `columns` are those of the file: some may have older names, be missing there, or be the algorithm's own.
    """
    known = declared(row)
    cells = [
        _cell_of(row, column) if (column := known.get(name)) else f"{{own(row, {number})}}"
        for number, name in enumerate(columns)
    ]
    names = {"text": _text, "cell": _cell, "numbers": _numbers, "integers": _numbers}
    # Only names of the schema are in the program: those of a file stay in `columns`.
    program = f"lambda row: f'{','.join(cells)}\\n'"
    made: Callable[[Row], str] = eval(program, names | {"own": lambda row, number: _own(row, columns[number])})
    return made


def _cell_of(row: type[Row], column: RowColumn) -> str:
    """The part of an f-string that is the column's cell."""
    if column.numeric:
        optional = "None" in str(row.__annotations__[column.name])
        return f"{{text(row.{column.name})}}" if optional else f"{{row.{column.name}}}"
    return f"{{{'cell' if column.kind == 'text' else column.kind}(row.{column.name})}}"


def _own(row: Any, name: str) -> str:
    """The cell of a column that the schema does not have; empty where the row has none, either."""
    return _text(getattr(row, "own", {}).get(name))


def _text(value: Any) -> str:
    """A number as it stands in a row; empty for None."""
    if value is None:
        return ""
    return repr(float(value)) if isinstance(value, float) else str(value)  # the shortest that gives the same number


def _numbers(values: Sequence[float]) -> str:
    return " ".join(map(_text, values))


@lru_cache(1024)
def _cell(text: str) -> str:
    """A text as it stands in a row, on one line; there are few different ones."""
    return _joined([" ".join(text.splitlines())]).rstrip("\n") if text else ""


def _joined(cells: Sequence[str]) -> str:
    """The line of these cells, which are quoted where they have to be."""
    buffer = StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()
