"""Append-only CSV files that can go back to a saved length."""

from __future__ import annotations

import csv
import zlib
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any


class CsvFile:
    """An append-only CSV file that can go back to a saved length.

    `state()` is the length in bytes and the CRC of those bytes, so that an edited or truncated file is noticed.
    """

    def __init__(self, path: Path, columns: Sequence[str] | None, comment: str = "") -> None:
        """`columns` None: they are taken from the first row written."""
        self.path = path
        self.columns = list(columns) if columns else None
        self._comment = comment
        self._file = open(path, "ab")
        self._length = 0
        self._crc = 0

    def start(self) -> None:
        """Begin anew with nothing but the header."""
        self._file.truncate(0)
        self._length = self._crc = 0
        if self._comment:
            self._append(f"#{self._comment}\n".encode())
        if self.columns:
            self._append(_line(self.columns))

    def begin(self) -> None:
        """Begin a file that is empty, and leave any other as it is."""
        if not self.path.stat().st_size:
            self.start()

    def write(self, row: Mapping[str, Any]) -> None:
        """Append one row; keys beyond the columns are an error, missing ones are left empty."""
        if self.columns is None:
            self.columns = list(row)
            self._append(_line(self.columns))
        self._append(_line([_text(row.get(column)) for column in self.columns]))

    def state(self) -> dict[str, Any]:
        """What `restore` needs."""
        return {"length": self._length, "crc": self._crc, "columns": self.columns}

    def matches(self, state: Mapping[str, Any]) -> bool:
        """Whether the file still begins with the bytes that `state` describes."""
        data = self.path.read_bytes()[: state["length"]]
        return len(data) == state["length"] and zlib.crc32(data) == state["crc"]

    def restore(self, state: Mapping[str, Any]) -> None:
        """Cut the file back to a state that it matches."""
        self._file.truncate(state["length"])
        self._length, self._crc, self.columns = state["length"], state["crc"], state["columns"]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _append(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()
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


def _line(cells: Sequence[str]) -> bytes:
    buffer = StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue().encode()
