"""Reads a run's CSV file: one set of rules for damage, repeated rows and older names, whoever asks.

The contract of `read_rows`:

- A row counts if it has as many cells as the header, a number in each numeric column, and a finite one in each column
  that the schema requires. An empty cell has the column's default. All other rows are left out, with a warning that
  names file and line; of each file the first `NAMED` are named and the rest counted.
- A last line without its line end is being written, or was cut off: left out, with a warning.
- Of rows that repeat (`Row.grows`, `Row.unique`) the later ones count, with a warning.
- The columns are the schema's in its order, under the names of today, then others of the file. A column that an
  older file lacks has its default.
- An empty train.csv has no row yet. Any other file that is missing, has no header or lacks a required column gives
  None, with a warning. What no run writes, such as a FIFO or more than `files.LARGE` bytes, raises `files.Unusable`.
- Memory: the file's bytes, and 8 bytes a cell; in all below 1 KiB a row of tasks.csv.

Rows become arrays in blocks. Where one of a block may not count, each of its cells is looked at.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.files import Unusable, printable, read_bytes, reason
from erlbench.records.schema import NO_LONGER, Row, RowColumn, columns_of, declared

if TYPE_CHECKING:
    import pandas as pd

Warn = Callable[[str], None]
NAMED = 3  # damaged rows of a file that are named one by one
BLOCK = 10_000  # rows
# pandas is imported by the functions that need it: commands that read no rows start sooner.
_PLAIN = re.compile(rb"[\t\n\x20-\x7e]*")
_BEFORE = re.compile(rb"(?:#[^\n]*\n|[^\S\n]*\n)*")  # the header: comments and empty lines
# Cells that count as a number; Python takes more texts for numbers.
_NUMBER = re.compile(r" *[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)? *| *[+-]?(?i:inf|infinity) *|nan|NaN|", re.ASCII)
_DIGITS = re.compile(r"[0-9.eE+-]*")  # of which Python takes nothing for a number that does not count as one
FileColumns = Mapping[str, RowColumn | None]  # of a file in its order; None: the schema does not have it


def ignore(message: object) -> None:
    """A reader that wants no warnings."""


def read_rows(folder: Path, row: type[Row], warn: Warn = ignore, data: bytes | None = None) -> pd.DataFrame | None:
    """The rows of a run's file, a column each; see this module for the rules. `data`: its content, if it is known."""
    import pandas as pd

    columns = _read(folder / row.file, row, warn, data)
    return None if columns is None else pd.DataFrame(columns)


def read_columns(folder: Path, row: type[Row], warn: Warn = ignore, data: bytes | None = None) -> dict[str, Any] | None:
    """As `read_rows`, an array for each column."""
    columns = _read(folder / row.file, row, warn, data)
    return None if columns is None else {name: np.asarray(values) for name, values in columns.items()}


def _read(path: Path, row: type[Row], warn: Warn, data: bytes | None) -> dict[str, Any] | None:
    """The values of each column, in the order of the schema."""
    try:
        data = read_bytes(path, inside=1) if data is None else data
    except OSError as error:
        warn(f"{path}: cannot be read ({reason(error)}); what it holds is missing")
        return None
    if not _PLAIN.fullmatch(data):
        data = printable(data.decode("utf-8", errors="replace").replace("\r\n", "\n")).encode()
    end = data.rfind(b"\n") + 1
    if data[end:].strip():
        last = data.count(b"\n") + 1
        warn(f"{path}:{last}: the last line is incomplete (still being written, or cut off); left out")
    begin = next(_BEFORE.finditer(data, 0, end)).end()
    schema, metric = declared(row), next((column for column in columns_of(row) if column.metrics), None)
    if begin == end:
        if metric is not None:  # its header comes with its first row
            return _ordered({}, 0, row)
        warn(f"{path}: empty, not even a header line; what it should hold is missing")
        return None
    line, stop = data.count(b"\n", 0, begin) + 1, data.index(b"\n", begin)
    names = [schema[name].name if name in schema else name for name in _cells(data[begin:stop].decode())]
    if missing := [column.name for column in columns_of(row) if column.required and column.name not in names]:
        warn(f"{path}:{line}: no column {', '.join(missing)}; the file is left out")
        return None
    if len(set(names)) < len(names):
        warn(f"{path}:{line}: two columns have one name; the file is left out")
        return None
    columns = {name: schema.get(name, metric) for name in names}  # metrics are numbers
    blocks = [*_blocks(data[stop + 1 : end].decode(), columns, path, line + 1, warn)]
    blocks = blocks or [_values(_by_column([], columns), columns)]
    values = {name: _join([block[name] for block in blocks], columns[name]) for name in blocks[0]}
    return _without_repeats(_ordered(values, len(next(iter(values.values()))), row), row, path, warn)


def _blocks(body: str, columns: FileColumns, path: Path, first: int, warn: Warn) -> Iterator[dict[str, Any]]:
    """The values of each column, in blocks of rows; rows that do not count are named."""
    numeric = [name for name, column in columns.items() if column and column.numeric]
    lines = enumerate(body.split("\n"), first)
    rows = ((number, _cells(line)) for number, line in lines if line.strip() and not line.startswith("#"))
    damaged = 0
    while block := [*islice(rows, BLOCK)]:
        try:
            cells = _by_column([row for _, row in block], columns)
            if not all(_DIGITS.fullmatch("".join(cells[name])) for name in numeric):
                raise ValueError("a cell may be no number")
            values = _values(cells, columns)
        except (ValueError, OverflowError):
            whole = []
            for number, row in block:
                if not (problem := _problem(row, columns)):
                    whole.append(row)
                    continue
                damaged += 1
                if damaged <= NAMED:
                    warn(f"{path}:{number}: row left out: {problem}")
            if not whole:
                continue
            values = _values(_by_column(whole, columns), columns)
        yield values
    if damaged > NAMED:
        warn(f"{path}: {damaged - NAMED} more rows left out")


def _by_column(rows: Sequence[Sequence[str]], columns: FileColumns) -> dict[str, Sequence[str]]:
    cells = zip(*rows, strict=True) if rows else [()] * len(columns)
    return dict(zip(columns, cells, strict=True))


def _values(cells: Mapping[str, Sequence[str]], columns: FileColumns) -> dict[str, Any]:
    """The values of each column, texts as they are; ValueError where one of them must not count."""
    return {name: _typed(cells[name], column) for name, column in columns.items() if name not in NO_LONGER}


def _typed(cells: Sequence[str], column: RowColumn | None) -> Any:
    if column is None or column.kind == "text":
        return cells
    if not column.numeric:
        if "_" in "".join(cells):  # which Python allows in numbers
            raise ValueError(f"{column.name} is no number")
        number = int if column.kind == "integers" else float
        return _objects([tuple(map(number, text.split())) for text in cells])
    values = _numbers(cells)
    if column.required and not np.isfinite(values).all():
        raise ValueError(f"{column.name} is not finite")
    return values if column.kind == "integer" else values.astype(float)


def _join(parts: Sequence[Any], column: RowColumn | None) -> Any:
    """The values of a column from its blocks; numbers where all cells of an unknown column are."""
    if column is None:
        with suppress(ValueError, OverflowError):
            return _numbers([*chain(*parts)])
    return _texts([*chain(*parts)]) if column is None or column.kind == "text" else np.concatenate(parts)


def _numbers(cells: Sequence[str]) -> np.ndarray:
    """Whole numbers where all are, else float64; NaN for an empty cell."""
    with suppress(ValueError, OverflowError):
        if cells:
            return np.array([*map(int, cells)], np.int64)
    return np.array([float(cell or math.nan) for cell in cells], float)


def _texts(values: Sequence[str]) -> Any:
    import pandas as pd

    return pd.array(values, dtype=pd.StringDtype(na_value=np.nan))


def _objects(values: Sequence[Any]) -> Any:
    """An array that holds each value as it is."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _problem(cells: Sequence[str], columns: FileColumns) -> str:
    """Why a row does not count; empty where it does."""
    if len(cells) != len(columns):
        return f"{len(cells)} cells instead of {len(columns)}"
    for cell, (name, column) in zip(cells, columns.items(), strict=True):
        if column is None or column.kind == "text":
            continue
        whole = column.kind == "integers"
        for word in [cell] if column.numeric else cell.split():
            if not _NUMBER.fullmatch(word) or (whole and not word.lstrip("+-").isdigit()):
                return f"{name} is {word[:40]!r}, not a number"
        if column.required and not (cell and math.isfinite(float(cell))):
            return f"{name} is {cell[:40]!r}, not a finite number"
    return ""


def _ordered(cells: dict[str, Any], count: int, row: type[Row]) -> dict[str, Any]:
    """The `count` rows: the columns of the schema, by default where the file lacks them, and others in their place."""
    ordered: dict[str, Any] = {}
    for column in columns_of(row):
        if column.metrics:
            ordered |= {name: values for name, values in cells.items() if name not in declared(row)}
        else:
            ordered[column.name] = cells[column.name] if column.name in cells else _default(column, count)
    return {**ordered, **cells}


def _default(column: RowColumn, count: int) -> Any:
    """The cells of a column that a file lacks."""
    if column.numeric:
        return np.full(count, math.nan if column.required else column.default, float)
    values = [column.default] * count
    return _texts(values) if column.kind == "text" else _objects(values)


def _without_repeats(rows: dict[str, Any], row: type[Row], path: Path, warn: Warn) -> dict[str, Any]:
    """Of rows that repeat, the later ones."""
    import pandas as pd

    if not (row.grows or row.unique):
        return rows
    values = np.asarray(rows[row.grows or row.unique])
    if row.grows:
        keep = np.append(values[:-1] < np.minimum.accumulate(values[::-1])[::-1][1:], True)[: len(values)]
        what = f"no larger {row.grows}"
    else:
        keep = ~pd.Series(values).duplicated(keep="last").to_numpy() | np.isnan(values)
        what = f"the same {row.unique}"
    if keep.all():
        return rows
    warn(f"{path}: rows that are repeated by later rows with {what}, which count: {int((~keep).sum())}")
    return {name: values[keep] for name, values in rows.items()}


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line])) if '"' in line else line.split(",")
    except csv.Error as error:
        raise Unusable(str(error)) from error
