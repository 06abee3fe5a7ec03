"""Columns of a CSV file of somebody else."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import numpy as np

from erlbench.files import printable
from erlbench.importing.source import MOST_ROWS, content, refuse


def foreign_columns(path: Path, needed: tuple[str, ...]) -> tuple[str, dict[str, list[str]], str]:
    """The first line where it is a comment, the cells of the `needed` columns, and the file's SHA-256.

    `UsageError` for a file without one of them, or with a row that has more or fewer cells than the header.
    """
    data, digest = content(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        refuse(path, "it is no text in UTF-8")
    comment = ""
    if text.startswith("#"):
        comment, _, text = text.partition("\n")
    cells: dict[str, list[str]] = {name: [] for name in needed}
    try:
        rows = csv.reader(StringIO(text), strict=True)
        names = [name.strip() for name in next(rows, [])]
        if missing := [name for name in needed if name not in names]:
            refuse(path, f"it has no column {', '.join(missing)}")
        places = [(cells[name], names.index(name)) for name in needed]
        for number, row in _rows(path, rows):
            if len(row) != len(names):
                refuse(path, f"line {number + (comment != '')} has {len(row)} cells, the header {len(names)}")
            for column, place in places:
                column.append(row[place].strip())
    except csv.Error as error:
        refuse(path, error)
    if not cells[needed[0]]:
        refuse(path, "it has no row")
    return comment[1:].strip(), cells, digest


def _rows(path: Path, rows: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    for number, row in enumerate(rows, 2):
        if number > MOST_ROWS:
            refuse(path, f"it has more than {MOST_ROWS:,} rows")
        if row:
            yield number, row


def numbers(path: Path, name: str, cells: list[str]) -> np.ndarray:
    """A column as numbers; `UsageError` names the first cell that is none."""
    values = np.empty(len(cells))
    for index, cell in enumerate(cells):
        try:
            values[index] = float(cell) if "_" not in cell else math.nan
        except ValueError:
            values[index] = math.nan
        if math.isnan(values[index]):
            refuse(path, f"its column {name} has {printable(cell[:40])!r}, which is no number")
    return values
