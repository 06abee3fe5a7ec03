"""Reads a run's CSV file: one set of rules for damage, repeated rows and older names, whoever asks.

The contract of `read_rows`:

- A row counts if it has as many cells as the header, a number in each numeric column, and a finite one in each column
  that the schema requires. An empty cell has the column's default. All other rows are left out, with a warning that
  names file and line; of each file the first `NAMED` are named and the rest counted.
- A last line without its line end is being written, or was cut off: left out, with a warning.
- Of rows that repeat (`Row.grows`, `Row.unique`) the later ones count, with a warning.
- The columns are those of the schema in its order, under the names of today, then others of the file. A column that an
  older file lacks has its default.
- An empty train.csv has no row yet. Any other file that is missing, has no header or lacks a required column gives
  None, with a warning. What no run writes, such as a FIFO or more than `files.LARGE` bytes, raises `files.Unusable`.
- Memory: the file's bytes, and 8 bytes a cell; in all below 1 KiB a row of tasks.csv.

pandas parses the cells, and Python those of a small file, for which pandas takes ten times as long. Where a row may not
count, Python looks at each cell first, and pandas gets the rows that do.
"""

from __future__ import annotations

import csv
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.files import Unusable, printable, read_bytes, reason
from erlbench.records.schema import NO_LONGER, Row, RowColumn, columns_of, declared

if TYPE_CHECKING:
    import pandas as pd

Warn = Callable[[str], None]
NAMED = 3  # damaged rows of a file that are named one by one
SMALL = 1 << 16  # bytes of the rows of a file that Python parses
EMPTY = ("", "nan", "NaN")
# pandas is imported by the functions that need it: commands that read no rows start sooner.
_TYPES: dict[str, Any] = {"text": str, "numbers": object, "integers": object}  # pandas finds those of numbers
_PLAIN = re.compile(rb"[\t\n\x20-\x7e]*")
# Cells that the parser of pandas takes for a number; Python takes more texts for numbers.
_NUMBER = re.compile(r" *[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)? *| *[+-]?(?i:inf|infinity) *|nan|NaN|", re.ASCII)
_DIGITS = re.compile(r"[0-9.eE+-]*")  # what neither of them takes for anything but a number
FileColumns = Mapping[str, RowColumn | None]  # of a file in its order; None: the schema does not have it


def ignore(message: object) -> None:
    """A reader that wants no warnings."""


def read_rows(folder: Path, row: type[Row], warn: Warn = ignore) -> pd.DataFrame | None:
    """The rows of a run's file, a column each; see this module for the rules."""
    data = _read(folder / row.file, warn)
    return None if data is None else parse_rows(data, row, folder / row.file, warn)


def read_columns(folder: Path, row: type[Row], warn: Warn = ignore) -> dict[str, Any] | None:
    """As `read_rows`, an array for each column."""
    data = _read(folder / row.file, warn)
    return None if data is None else parse_columns(data, row, folder / row.file, warn)


def parse_columns(data: bytes, row: type[Row], path: Path, warn: Warn = ignore) -> dict[str, Any] | None:
    """As `parse_rows`, an array for each column."""
    columns = _parse_file(data, row, path, warn)
    return None if columns is None else {name: np.asarray(values) for name, values in columns.items()}


def parse_rows(data: bytes, row: type[Row], path: Path, warn: Warn = ignore) -> pd.DataFrame | None:
    """As `read_rows`, of a file's content; `path` names it in warnings."""
    import pandas as pd

    columns = _parse_file(data, row, path, warn)
    return None if columns is None else pd.DataFrame(columns)


def _read(path: Path, warn: Warn) -> bytes | None:
    try:
        return read_bytes(path, inside=1)
    except OSError as error:
        warn(f"{path}: cannot be read ({reason(error)}); what it holds is missing")
        return None


def _parse_file(data: bytes, row: type[Row], path: Path, warn: Warn) -> dict[str, Any] | None:
    """The values of each column, in the order of the schema."""
    if not _PLAIN.fullmatch(data):
        data = printable(data.decode("utf-8", errors="replace").replace("\r\n", "\n")).encode()
    end = data.rfind(b"\n") + 1
    if data[end:].strip():
        last = data.count(b"\n") + 1
        warn(f"{path}:{last}: the last line is incomplete (still being written, or cut off); left out")
    begin, line = _header(data, end)
    metric = next((column for column in columns_of(row) if column.metrics), None)  # whose columns are numbers
    if begin is None and metric is not None:  # its header comes with its first row
        return _ordered({}, 0, row)
    if begin is None:
        warn(f"{path}: empty, not even a header line; what it should hold is missing")
        return None
    names = _names(data[begin[0] : begin[1]].decode(), row)
    if missing := [column.name for column in columns_of(row) if column.required and column.name not in names]:
        warn(f"{path}:{line}: no column {', '.join(missing)}; the file is left out")
        return None
    if len(set(names)) < len(names):
        warn(f"{path}:{line}: two columns have one name; the file is left out")
        return None
    columns = {name: declared(row).get(name, metric) for name in names}
    body = data[begin[1] + 1 : end]
    try:
        if not _is_whole(body, len(names)):
            raise ValueError("rows of other lengths")
        cells = (_parse_small if 0 < len(body) < SMALL else _parse)(body, columns)
    except (ValueError, OverflowError, Warning):
        cells = _parse(_whole_rows(body, columns, path, line + 1, warn), columns, checked=True)
    return _without_repeats(_ordered(cells, len(next(iter(cells.values()))), row), row, path, warn)


def _header(data: bytes, end: int) -> tuple[tuple[int, int] | None, int]:
    """Where the first line is that is neither empty nor a comment, and its number; None without one."""
    begin, number = 0, 1
    while begin < end:
        stop = data.index(b"\n", begin)
        if (line := data[begin:stop]).strip() and not line.startswith(b"#"):
            return (begin, stop), number
        begin, number = stop + 1, number + 1
    return None, number


def _names(line: str, row: type[Row]) -> list[str]:
    """The names of the columns, those of today."""
    schema = declared(row)
    return [schema[name].name if name in schema else name for name in _cells(line)]


def _is_whole(body: bytes, columns: int) -> bool:
    """Whether all rows can have as many cells as the header, with neither quotes nor comments between them."""
    if b'"' in body or body.startswith(b"#") or b"\n#" in body:
        return False
    return body.count(b",") == body.count(b"\n") * (columns - 1)


def _parse(body: bytes, columns: FileColumns, checked: bool = False) -> dict[str, Any]:
    """The cells by column; an error where a row may not count, unless each cell was `checked`."""
    import pandas as pd

    numeric = [name for name, column in columns.items() if column is None or column.numeric]
    if not body:
        return {name: _default(column, 0) if column else np.empty(0) for name, column in columns.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # of cells beyond the header's
        frame = pd.read_csv(
            BytesIO(body),
            header=None,
            names=list(columns),
            index_col=False,
            dtype={name: _TYPES[column.kind] for name, column in columns.items() if column and column.kind in _TYPES},
            na_values=dict.fromkeys(numeric, EMPTY),
            keep_default_na=False,
            skip_blank_lines=False,
            low_memory=False,
            **_exact(pd.__version__),
        )
    return {str(name): _typed(cells.array, columns[str(name)], checked) for name, cells in frame.items()}


def _parse_small(body: bytes, columns: FileColumns) -> dict[str, Any]:
    """As `_parse`; an error also where a number is not written in digits, such as inf."""
    rows = (line.split(",") for line in body.decode().split("\n")[:-1])
    by_column = zip(columns.items(), zip(*rows, strict=True), strict=True)
    return {name: _typed(_numbers(cells, column), column, checked=False) for (name, column), cells in by_column}


def _numbers(cells: tuple[str, ...], column: RowColumn | None) -> Any:
    """The cells of a column of numbers as an array (rows,), other cells as they are."""
    if column is not None and not column.numeric:
        return _texts(cells) if column.kind == "text" else cells
    digits = "".join(cells)
    if not _DIGITS.fullmatch(digits):
        raise ValueError("a cell may be no number")
    if all(cells) and not {*".eE"} & {*digits}:
        return np.array([*map(int, cells)], np.int64)
    return np.array([float(cell) if cell else math.nan for cell in cells])


def _texts(values: Sequence[str]) -> Any:
    import pandas as pd

    return pd.array(values, dtype=pd.StringDtype(na_value=np.nan))


def _exact(version: str) -> dict[str, Any]:
    """What has pandas read the nearest number, which is its default from 3.1 on."""
    return {} if tuple(map(int, version.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}


def _typed(cells: Any, column: RowColumn | None, checked: bool) -> Any:
    """The cells of a column; ValueError where one of them must not count."""
    if column is None or column.kind == "text":
        return cells
    if not column.numeric:
        number = int if column.kind == "integers" else float
        if "_" in "".join(cells):  # which Python allows in numbers
            raise ValueError(f"{column.name} is no number")
        return _objects([tuple(map(number, text.split())) for text in cells])
    if cells.dtype.kind not in "iuf" and not checked:
        raise ValueError(f"{column.name} is no number")
    values = np.asarray(cells if column.kind == "integer" and cells.dtype.kind in "iuf" else cells.astype(float))
    if column.required and not np.isfinite(values).all():
        raise ValueError(f"{column.name} is not finite")
    return values


def _objects(values: Sequence[Any]) -> Any:
    """An array that holds each value as it is."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _whole_rows(body: bytes, columns: FileColumns, path: Path, first: int, warn: Warn) -> bytes:
    """The rows that count; the damaged ones are named."""
    text = StringIO()
    whole = csv.writer(text, lineterminator="\n")
    damaged = 0
    for number, line in enumerate(body.decode().split("\n"), first):
        if not line.strip() or line.startswith("#"):
            continue
        cells = _cells(line)
        if not (problem := _problem(cells, columns)):
            whole.writerow(cells)
            continue
        damaged += 1
        if damaged <= NAMED:
            warn(f"{path}:{number}: row left out: {problem}")
    if damaged > NAMED:
        warn(f"{path}: {damaged - NAMED} more rows left out")
    return text.getvalue().encode()


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
    cells = {name: values for name, values in cells.items() if name not in NO_LONGER}
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
    keep = _later(rows, row)
    if keep.all():
        return rows
    what = f"no larger {row.grows}" if row.grows else f"the same {row.unique}"
    warn(f"{path}: rows that are repeated by later rows with {what}, which count: {int((~keep).sum())}")
    return {name: values[keep] for name, values in rows.items()}


def _later(rows: dict[str, Any], row: type[Row]) -> Any:
    """Which rows (rows,) no later one repeats."""
    if not (row.grows or row.unique):
        return np.array(True)
    values = np.asarray(rows[row.grows or row.unique])
    keep = np.ones(len(values), bool)
    if row.grows and len(values):
        keep[:-1] = values[:-1] < np.minimum.accumulate(values[::-1])[::-1][1:]
    elif row.unique:
        last = len(values) - 1 - np.unique(values[::-1], return_index=True)[1]
        keep = np.isnan(values)
        keep[last] = True
    return keep


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line])) if '"' in line else line.split(",")
    except csv.Error as error:
        raise Unusable(str(error)) from error
