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

PLAIN = frozenset({str, int, bool, float})  # csv writes these as `str` does, floats thus without loss


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
        self._rows: list[Mapping[str, Any] | tuple[Any, ...]] = []  # not yet in the file
        self._length = 0
        self._crc = 0

    def start(self) -> None:
        """Begin anew with nothing but the header."""
        self._cut(0)
        self._crc = 0
        if self._comment:
            self._append(f"#{self._comment}\n".encode())
        if self.columns:
            self._append(_lines([self.columns]))

    def begin(self) -> None:
        """Begin a file that is empty, and leave any other as it is."""
        if not self.path.stat().st_size:
            self.start()

    def write(self, row: Mapping[str, Any] | tuple[Any, ...]) -> None:
        """Add one row, which must not change any more: its values in the order of the columns, or by their names.

        Names that are no columns are left out; missing ones are empty.
        """
        self._rows.append(row)

    def flush(self) -> None:
        """Append the rows added so far to the file; they are lost if that fails."""
        if not self._rows:
            return
        rows, self._rows = self._rows, []
        header = []
        if self.columns is None:
            assert isinstance(rows[0], Mapping)
            self.columns = list(rows[0])
            header = [self.columns]
        self._append(_lines(header + [self._cells(row) for row in rows]))

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
        self._rows.clear()
        self._file.truncate(length)
        self._length = length

    def _cells(self, row: Mapping[str, Any] | tuple[Any, ...]) -> list[Any]:
        assert self.columns is not None
        values = row if isinstance(row, tuple) else map(row.get, self.columns)
        return [value if type(value) in PLAIN else _text(value) for value in values]

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


def _lines(rows: Sequence[Sequence[Any]]) -> bytes:
    buffer = StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()
