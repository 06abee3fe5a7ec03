"""Append-only CSV files that can go back to a saved length."""

from __future__ import annotations

import csv
import zlib
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

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
        self._file = open(path, "ab", buffering=0)
        self._rows = StringIO()
        self._writer = csv.writer(self._rows, lineterminator="\n")
        self._length = 0
        self._crc = 0

    def start(self) -> None:
        """Begin anew with nothing but the header."""
        self._cut(0)
        self._crc = 0
        if self._comment:
            self._rows.write(f"#{self._comment}\n")
        if self.columns:
            self._writer.writerow(self.columns)
        self.flush()

    def begin(self) -> None:
        """Begin a file that is empty, and leave any other as it is."""
        if not self.path.stat().st_size:
            self.start()

    def write(self, row: Mapping[str, Any]) -> None:
        """Add one row; keys beyond the columns are left out, missing ones are left empty."""
        if self.columns is None:
            self.columns = list(row)
            self._writer.writerow(self.columns)
        values = [row.get(column) for column in self.columns]
        self._writer.writerow([value if type(value) in PLAIN else _text(value) for value in values])

    def flush(self) -> None:
        """Append the rows added so far to the file; they are lost if that fails."""
        if data := self._rows.getvalue().encode():
            self._forget_rows()
            self._append(data)

    def state(self) -> dict[str, Any]:
        """What `restore` needs; all rows are in the file."""
        self.flush()
        return {"length": self._length, "crc": self._crc, "columns": self.columns}

    def matches(self, state: Mapping[str, Any]) -> bool:
        """Whether the file still begins with the bytes that `state` describes."""
        data = self.path.read_bytes()[: state["length"]]
        return len(data) == state["length"] and zlib.crc32(data) == state["crc"]

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
        self._forget_rows()
        self._file.truncate(length)
        self._length = length

    def _forget_rows(self) -> None:
        self._rows.seek(0)
        self._rows.truncate()

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
