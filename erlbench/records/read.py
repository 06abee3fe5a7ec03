"""Reads a run's CSV file: one set of rules for damage, repeated rows and older names, whoever asks.

The contract of `read_rows`:

- A row counts if it has as many cells as the header, a number in each numeric column, and a finite one in each column
  that the schema requires. An empty cell has the column's default. All other rows are left out, with a warning that
  names file and line; of each file the first `NAMED` are named and the rest counted.
- A last line without its line end is being written, or was cut off: left out, with a warning.
- Of rows that repeat (`Row.grows`, `Row.unique`) the later ones count, with a warning.
- The columns are the schema's in its order, under the names of today, with those of the algorithm's metrics. A column
  that an older file lacks has its default; other columns of the file are left out.
- An empty train.csv has no row yet. Any other file that is missing, has no header or lacks a required column gives
  None, with a warning. What no run writes, such as a FIFO or more than `files.LARGE` bytes, raises `files.Unusable`.
- Memory: the file's bytes, and 8 bytes a cell; in all below 1 KiB a row of tasks.csv.

Rows become arrays in blocks. Where one of a block may not count, each of its rows is looked at.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.files import Unusable, printable, read_bytes, reason
from erlbench.records.run import EDITED, STATUS, RunFiles, checked
from erlbench.records.schema import NO_LONGER, EvaluationRow, Row, RowColumn, declared, list_columns

if TYPE_CHECKING:
    import pandas as pd

Warn = Callable[[str], None]
NAMED = 3  # damaged rows of a file that are named one by one
BLOCK = 10_000  # rows
# pandas is imported by the function that needs it: commands that read no rows start sooner.
_PLAIN = re.compile(rb"[\t\n\x20-\x7e]*")
_BEFORE = re.compile(rb"(?:#[^\n]*\n|[^\S\n]*\n)*")  # the header: comments and empty lines
FileColumns = Mapping[str, RowColumn | None]  # of a file in its order; None: left out


def ignore(message: object) -> None:
    """A reader that wants no warnings."""


def final_status(run: RunFiles) -> dict[str, Any]:
    """status.json; a finished run is `altered` and has no score where eval.csv has another checksum or last score."""
    status, file = run.status() or {"message": f"{STATUS} is missing or damaged"}, EvaluationRow.file
    if status.get("status") != "done":
        return status
    data, unread = checked(run.path / file, None)
    rows: dict[str, Any] | None = None
    with suppress(ValueError):
        rows = read_columns(run.path, EvaluationRow, data=data)
    last = rows["return_mean"][-1:].tolist() if rows else []
    if run.is_edited(file, data):
        message = f"{file}: {unread}" if unread else f"{file} {EDITED}"
    elif last and status.get("return_mean") not in (None, *last):
        message = f"{STATUS} has another score than {file}"
    else:
        return status
    return status | {"status": "altered", "return_mean": None, "message": message}


def read_rows(folder: Path, row: type[Row], warn: Warn = ignore, data: bytes | None = None) -> pd.DataFrame | None:
    """The rows of a run's file, a column each; see this module for the rules. `data`: its content, if it is known."""
    import pandas as pd

    columns = read_columns(folder, row, warn, data)
    return None if columns is None else pd.DataFrame(columns)


def read_columns(folder: Path, row: type[Row], warn: Warn = ignore, data: bytes | None = None) -> dict[str, Any] | None:
    """As `read_rows`, an array for each column."""
    path = folder / row.file
    if data is None:
        try:
            data = read_bytes(path, inside=1)
        except OSError as error:
            warn(f"{path}: cannot be read ({reason(error)}); what it holds is missing")
            return None
        if RunFiles(folder).is_edited(row.file, data):
            warn(f"{path} {EDITED}")
    if not _PLAIN.fullmatch(data):
        data = printable(data.decode("utf-8", errors="replace").replace("\r\n", "\n")).encode()
    end = data.rfind(b"\n") + 1
    if data[end:].strip():
        last = data.count(b"\n") + 1
        warn(f"{path}:{last}: the last line is incomplete (still being written, or cut off); left out")
    begin = next(_BEFORE.finditer(data, 0, end)).end()
    schema, metrics = declared(row), next((column for column in list_columns(row) if column.metrics), None)
    if begin == end:
        if metrics is not None:  # its header comes with its first row
            return _in_order([], row)
        warn(f"{path}: empty, not even a header line; what it should hold is missing")
        return None
    line, stop = data.count(b"\n", 0, begin) + 1, data.index(b"\n", begin)
    names = [schema[name].name if name in schema else name for name in _cells(data[begin:stop].decode())]
    if missing := [column.name for column in list_columns(row) if column.required and column.name not in names]:
        warn(f"{path}:{line}: no column {', '.join(missing)}; the file is left out")
        return None
    if len(set(names)) < len(names):
        warn(f"{path}:{line}: two columns have one name; the file is left out")
        return None
    columns = {name: schema.get(name, metrics) if name != NO_LONGER else None for name in names}
    blocks = [*_blocks(data[stop + 1 : end].decode(), columns, path, line + 1, warn)]
    return _without_repeats(_in_order(blocks or [_values([], columns)], row), row, path, warn)


def _blocks(body: str, columns: FileColumns, path: Path, first: int, warn: Warn) -> Iterator[dict[str, Any]]:
    """The values of each column, in blocks of rows; rows that do not count are named."""
    lines = enumerate(body.split("\n"), first)
    rows = ((number, _cells(line)) for number, line in lines if line.strip() and not line.startswith("#"))
    damaged = 0
    while block := [*islice(rows, BLOCK)]:
        try:
            values = _values([row for _, row in block], columns)
        except ValueError:
            whole = []
            for number, row in block:
                try:
                    _values([row], columns)
                except ValueError as problem:
                    damaged += 1
                    if damaged <= NAMED:
                        warn(f"{path}:{number}: row left out: {problem}")
                else:
                    whole.append(row)
            values = _values(whole, columns)
        yield values
    if damaged > NAMED:
        warn(f"{path}: {damaged - NAMED} more rows left out")


def _values(rows: Sequence[Sequence[str]], columns: FileColumns) -> dict[str, Any]:
    """The values of each column of the schema; ValueError where a row must not count, of the first row why."""
    if any(len(row) != len(columns) for row in rows):
        raise ValueError(f"{len(rows[0])} cells instead of {len(columns)}")
    cells = zip(*rows, strict=True) if rows else [()] * len(columns)
    named = zip(columns.items(), cells, strict=True)
    return {name: _typed(texts, name, column) for (name, column), texts in named if column}


def _typed(cells: Sequence[str], name: str, column: RowColumn) -> Any:
    if column.kind == "text":
        return _objects(cells)
    try:
        if "_" in "".join(cells):  # which Python allows in numbers
            raise ValueError
        if column.kind in ("integers", "numbers"):
            number = int if column.kind == "integers" else float
            return _objects([tuple(map(number, text.split())) for text in cells])
        values = _numbers(cells)
    except ValueError:
        raise ValueError(f"{name} is {cells[0][:40]!r}, not a number") from None
    if column.required and not np.isfinite(values).all():
        raise ValueError(f"{name} is {cells[0][:40]!r}, not a finite number")
    return values if column.kind == "integer" else values.astype(float)


def _numbers(cells: Sequence[str]) -> np.ndarray:
    """Whole numbers where all are, else float64; NaN for an empty cell."""
    try:
        return np.array([*map(int, cells)], np.int64)
    except (ValueError, OverflowError):
        return np.array([float(cell or math.nan) for cell in cells])


def _objects(values: Sequence[Any]) -> np.ndarray:
    """An array that holds each value as it is."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _in_order(blocks: Sequence[Mapping[str, Any]], row: type[Row]) -> dict[str, Any]:
    """The rows of all blocks: the columns of the schema, by default where the file lacks them."""
    joined = {name: np.concatenate([block[name] for block in blocks]) for name in (blocks[0] if blocks else ())}
    count = len(next(iter(joined.values()), ()))
    ordered: dict[str, Any] = {}
    for column in list_columns(row):
        if column.metrics:
            ordered |= {name: values for name, values in joined.items() if name not in declared(row)}
        elif column.name in joined:
            ordered[column.name] = joined[column.name]
        elif column.numeric:
            ordered[column.name] = np.full(count, math.nan if column.required else column.default, float)
        else:
            ordered[column.name] = _objects([column.default] * count)
    return ordered


def _without_repeats(rows: dict[str, Any], row: type[Row], path: Path, warn: Warn) -> dict[str, Any]:
    """Of rows that repeat, the later ones."""
    if not (row.grows or row.unique):
        return rows
    values = rows[row.grows or row.unique]
    if row.grows:
        keep = np.append(values[:-1] < np.minimum.accumulate(values[::-1])[::-1][1:], True)[: len(values)]
        what = f"no larger {row.grows}"
    else:
        keep = np.isnan(values)
        keep[len(values) - 1 - np.unique(values[::-1], return_index=True)[1]] = True
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
