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

`read_columns` gives the same rows as arrays, without pandas where the file is small and no cell is out of the ordinary.
"""

from __future__ import annotations

import csv
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.files import Unusable, printable, read_bytes, reason
from erlbench.records.schema import NO_LONGER, Row, RowColumn, columns_of, declared

if TYPE_CHECKING:
    import pandas as pd

Warn = Callable[[str], None]
NAMED = 3  # damaged rows of a file that are named one by one
EMPTY = ("", "nan", "NaN")
SMALL = 2**16  # bytes of rows; below, pandas needs more time to begin than Python for all of them
# pandas is imported by the functions that need it: commands that read no rows start sooner.
_TYPES: dict[str, Any] = {"text": str, "numbers": object, "integers": object}  # pandas finds those of numbers
_PLAIN = re.compile(rb"[\t\n\x20-\x7e]*")
# Cells that the parser of pandas takes for a number; columns of numbers and of integers, a comma behind each cell.
_CELL = r" *[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)? *| *[+-]?(?i:inf|infinity) *|nan|NaN|"
_NUMBER, _NUMBERS = re.compile(_CELL, re.ASCII), re.compile(rf"(?:(?:{_CELL}),)*", re.ASCII)
_INTEGERS = re.compile(r"(?: *[+-]?\d{1,18} *,)+", re.ASCII)
FileColumns = Mapping[str, RowColumn | None]  # of a file in its order; None: the schema does not have it
Columns = dict[str, Any]  # the cells by column: arrays of numbers or tuples, and a sequence of texts


def ignore(message: object) -> None:
    """A reader that wants no warnings."""


def read_rows(folder: Path, row: type[Row], warn: Warn = ignore) -> pd.DataFrame | None:
    """The rows of a run's file, a column each; see this module for the rules."""
    columns = read_columns(folder, row, warn)
    return None if columns is None else _frame(columns)


def read_columns(folder: Path, row: type[Row], warn: Warn = ignore) -> Columns | None:
    """As `read_rows`, the columns by name."""
    path = folder / row.file
    try:
        data = read_bytes(path, inside=1)
    except OSError as error:
        warn(f"{path}: cannot be read ({reason(error)}); what it holds is missing")
        return None
    return parse_columns(data, row, path, warn)


def parse_rows(data: bytes, row: type[Row], path: Path, warn: Warn = ignore) -> pd.DataFrame | None:
    """As `read_rows`, of a file's content; `path` names it in warnings."""
    columns = parse_columns(data, row, path, warn)
    return None if columns is None else _frame(columns)


def parse_columns(data: bytes, row: type[Row], path: Path, warn: Warn = ignore) -> Columns | None:
    """As `parse_rows`, the columns by name."""
    if not _PLAIN.fullmatch(data):
        data = printable(data.decode("utf-8", errors="replace").replace("\r\n", "\n")).encode()
    end = data.rfind(b"\n") + 1
    if data[end:].strip():
        last = data.count(b"\n") + 1
        warn(f"{path}:{last}: the last line is incomplete (still being written, or cut off); left out")
    begin, line = _header(data, end)
    if begin is None and any(column.own for column in columns_of(row)):  # its header comes with its first row
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
    own = next((column for column in columns_of(row) if column.own), None)  # the algorithm's own columns are numbers
    known = {name: declared(row).get(name, own) for name in names}
    body = data[begin[1] + 1 : end]
    cells = None
    if _is_whole(body, len(names)):
        cells = _parse_long(body, known) if len(body) >= SMALL else _parse_short(body, known)
    if cells is None:
        cells = _parse_cells(_whole_rows(body, known, path, line + 1, warn), known)
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
    known = declared(row)
    return [known[name].name if name in known else name for name in _cells(line)]


def _is_whole(body: bytes, columns: int) -> bool:
    """Whether all rows can have as many cells as the header, with neither quotes nor comments between them."""
    if b'"' in body or body.startswith(b"#") or b"\n#" in body:
        return False
    return body.count(b",") == body.count(b"\n") * (columns - 1)


def _parse_short(body: bytes, known: FileColumns) -> Columns | None:
    """The cells by column, by Python; None where one of the rows may not count."""
    try:
        return _parse_cells([line.split(",") for line in body.decode().split("\n")[:-1]], known)
    except ValueError:
        return None


def _parse_long(body: bytes, known: FileColumns) -> Columns | None:
    """The cells by column, by the parser of pandas; None where one of the rows may not count."""
    import pandas as pd

    numeric = [name for name, column in known.items() if column is None or column.numeric]
    types = {name: _TYPES[column.kind] for name, column in known.items() if column and column.kind in _TYPES}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # of cells beyond the header's
            frame = pd.read_csv(
                BytesIO(body),
                header=None,
                names=list(known),
                index_col=False,
                dtype=types,
                na_values=dict.fromkeys(numeric, EMPTY),
                keep_default_na=False,
                skip_blank_lines=False,
                low_memory=False,
                **_exact(pd.__version__),
            )
        return {str(name): _typed(cells.array, known[str(name)]) for name, cells in frame.items()}
    except (ValueError, OverflowError, pd.errors.ParserWarning):
        return None


def _exact(version: str) -> dict[str, Any]:
    """What has pandas read the nearest number, which is its default from 3.1 on."""
    return {} if tuple(map(int, version.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}


def _typed(cells: Any, column: RowColumn | None) -> Any:
    """The cells of a column; ValueError where one of them must not count."""
    if column is None or column.kind == "text":
        return cells
    if not column.numeric:
        return _several(np.asarray(cells).tolist(), column)
    if cells.dtype.kind not in "iuf":
        raise ValueError(f"{column.name} is no number")
    if column.kind == "number":
        cells = np.asarray(cells, float)
    if column.required and not np.isfinite(cells).all():
        raise ValueError(f"{column.name} is not finite")
    return cells


def _several(cells: Sequence[str], column: RowColumn) -> Any:
    """Cells of several numbers each, as tuples."""
    number = int if column.kind == "integers" else float
    if "_" in "".join(cells):  # which Python allows in numbers
        raise ValueError(f"{column.name} is no number")
    return _objects([tuple(map(number, text.split())) for text in cells])


def _objects(values: Sequence[Any]) -> Any:
    """An array that holds each value as it is."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _texts(values: Sequence[str]) -> Any:
    import pandas as pd

    return pd.array(list(values), dtype=pd.StringDtype(na_value=np.nan))


def _parse_cells(rows: Sequence[Sequence[str]], known: FileColumns) -> Columns:
    """The cells by column; ValueError where one of the rows does not count."""
    cells = zip(*rows, strict=True) if rows else ((),) * len(known)
    return {name: _parse_column(of, column) for (name, column), of in zip(known.items(), cells, strict=True)}


def _parse_column(cells: Sequence[str], column: RowColumn | None) -> Any:
    """The cells of a column; of one that the schema does not have numbers, if that is what they all are."""
    if column is not None and not column.numeric:
        return cells if column.kind == "text" else _several(cells, column)
    joined = ",".join((*cells, ""))
    if (column is None or column.kind == "integer") and _INTEGERS.fullmatch(joined):
        return np.array(list(map(int, cells)), int)
    try:
        numbers = np.array([float(cell or "nan") for cell in cells] if "" in cells else list(map(float, cells)), float)
    except ValueError:
        numbers = None
    if numbers is None or not _NUMBERS.fullmatch(joined):  # Python takes more texts for numbers
        if column is None:
            return cells
        raise ValueError(f"{column.name} is no number")
    if column is not None and column.required and not np.isfinite(numbers).all():
        raise ValueError(f"{column.name} is not finite")
    return numbers


def _whole_rows(body: bytes, known: FileColumns, path: Path, first: int, warn: Warn) -> list[list[str]]:
    """The cells of the rows that count; the damaged ones are named."""
    whole: list[list[str]] = []
    damaged = 0
    for number, line in enumerate(body.decode().split("\n"), first):
        if not line.strip() or line.startswith("#"):
            continue
        cells = _cells(line)
        if not (problem := _problem(cells, known)):
            whole.append(cells)
            continue
        damaged += 1
        if damaged <= NAMED:
            warn(f"{path}:{number}: row left out: {problem}")
    if damaged > NAMED:
        warn(f"{path}: {damaged - NAMED} more rows left out")
    return whole


def _problem(cells: Sequence[str], known: FileColumns) -> str:
    """Why a row does not count; empty where it does."""
    if len(cells) != len(known):
        return f"{len(cells)} cells instead of {len(known)}"
    for cell, (name, column) in zip(cells, known.items(), strict=True):
        if column is None or column.kind == "text":
            continue
        whole = column.kind == "integers"
        for word in [cell] if column.numeric else cell.split():
            if not _NUMBER.fullmatch(word) or (whole and not word.lstrip("+-").isdigit()):
                return f"{name} is {word[:40]!r}, not a number"
        if column.required and not (cell and math.isfinite(float(cell))):
            return f"{name} is {cell[:40]!r}, not a finite number"
    return ""


def _ordered(cells: Columns, count: int, row: type[Row]) -> Columns:
    """The `count` rows: the columns of the schema, by default where the file lacks them, and others in their place."""
    ordered: Columns = {}
    cells = {name: found for name, found in cells.items() if name not in NO_LONGER}
    for column in columns_of(row):
        if column.own:
            ordered |= {name: found for name, found in cells.items() if name not in declared(row)}
        else:
            ordered[column.name] = cells[column.name] if column.name in cells else _default(column, count)
    return {**ordered, **cells}


def _frame(columns: Columns) -> pd.DataFrame:
    """The columns of a file as a frame; texts are those of pandas."""
    import pandas as pd

    return pd.DataFrame(
        {name: _texts(cells) if isinstance(cells, tuple | list) else cells for name, cells in columns.items()}
    )


def _default(column: RowColumn, count: int) -> Any:
    """The cells of a column that a file lacks."""
    if column.numeric:
        return np.full(count, column.default, float)
    values = [column.default] * count
    return values if column.kind == "text" else _objects(values)


def _without_repeats(columns: Columns, row: type[Row], path: Path, warn: Warn) -> Columns:
    """Of rows that repeat, the later ones."""
    keep = _later(columns, row)
    if keep.all():
        return columns
    what = f"no larger {row.grows}" if row.grows else f"the same {row.unique}"
    warn(f"{path}: rows that are repeated by later rows with {what}, which count: {int((~keep).sum())}")
    return {
        name: list(compress(cells, keep)) if isinstance(cells, tuple | list) else cells[keep]
        for name, cells in columns.items()
    }


def _later(columns: Columns, row: type[Row]) -> Any:
    """Which rows (rows,) no later one repeats."""
    if not (row.grows or row.unique):
        return np.array(True)
    values = np.asarray(columns[row.grows or row.unique])
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
