"""Append-only CSV files that can go back to a saved length."""

from __future__ import annotations

import csv
import os
import zlib
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from erlbench.errors import CellError
from erlbench.files import check_regular, is_same_file


class CsvFile:
    """An append-only CSV file that can go back to a saved length.

    Rows gather in memory until `flush`. `state()` flushes them; it is the length in bytes and the CRC of those bytes,
    so that an edited or truncated file is noticed.
    """

    def __init__(self, path: Path, columns: Sequence[str] | None, comment: str = "") -> None:
        """`columns` None: they are taken from the first row written."""
        self.path = path
        self.columns = list(columns) if columns else None
        self._comment = comment
        check_regular(path)
        self._file = open(path, "ab", buffering=0)
        self._lines: list[str] = []  # not yet in the file
        self._length = 0
        self._crc = 0

    def start(self) -> None:
        """Begin anew with nothing but the header."""
        self._cut(0)
        self._crc = 0
        if self._comment:
            self._append(f"#{self._comment}\n".encode())
        if self.columns:
            self._append(line(self.columns).encode())

    def begin(self) -> None:
        """Begin a file that is empty, and leave any other as it is."""
        if not self.path.stat().st_size:
            self.start()

    def write(self, row: Mapping[str, Any]) -> None:
        """Add one row: the values of its columns by name. Other names are left out; missing ones are empty."""
        if self.columns is None:
            self.columns = list(row)
            self._lines.append(line(self.columns))
        self._lines.append(line([_text(row.get(column)) for column in self.columns]))

    def write_line(self, line: str) -> None:
        """Add one row as the text that `write` would make of it, for files that get one for every task."""
        self._lines.append(line)

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
        return {"length": self._length, "crc": self._crc, "columns": self.columns}

    def matches(self, state: Mapping[str, Any]) -> bool:
        """Whether the file still begins with the bytes that `state` describes."""
        data = self.path.read_bytes()[: state["length"]]
        return len(data) == state["length"] and zlib.crc32(data) == state["crc"]

    def check_place(self) -> None:
        """Raise `CellError` when the path no longer leads to the file that is written."""
        if not is_same_file(self.path, self._file.fileno()):
            raise CellError(f"{self.path} was moved, removed or replaced while this run wrote it; put it back")

    def sync(self) -> None:
        """Have the file reach the disk."""
        os.fsync(self._file.fileno())

    def restore(self, state: Mapping[str, Any]) -> None:
        """Cut the file back to a state that it matches."""
        self._cut(state["length"])
        self._crc, self.columns = state["crc"], state["columns"]

    def close(self) -> None:
        """Close the file, with all rows in it."""
        try:
            self.flush()
        finally:
            self._file.close()

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


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(float(value))  # the shortest text that gives the same number back
    if isinstance(value, list | tuple):
        return " ".join(_text(item) for item in value)
    return str(value)


def line(cells: Sequence[str]) -> str:
    """The line of a row with these cells, which are quoted where they have to be."""
    buffer = StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()
