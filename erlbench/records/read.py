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
"""

from __future__ import annotations

import csv
import math
import re
import warnings
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.files import Unusable, printable, read_bytes, reason
from erlbench.records.schema import Row, RowColumn, columns_of, declared

if TYPE_CHECKING:
    import pandas as pd

Warn = Callable[[str], None]
NAMED = 3  # damaged rows of a file that are named one by one
EMPTY = ("", "nan", "NaN")
# pandas is imported by the functions that need it: commands that read no rows start sooner.
_PLAIN = re.compile(rb"[\t\n\x20-\x7e]*")
# Cells that the parser of pandas takes for a number, and for an integer.
_NUMBER = re.compile(r" *[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)? *| *[+-]?(?i:inf|infinity) *|nan|NaN|", re.ASCII)
_INTEGER = re.compile(r" *[+-]?\d{1,18} *", re.ASCII)


def ignore(message: object) -> None:
    """A reader that wants no warnings."""


def read_rows(folder: Path, row: type[Row], warn: Warn = ignore) -> pd.DataFrame | None:
    """The rows of a run's file, a column each; see this module for the rules."""
    path = folder / row.file
    try:
        data = read_bytes(path, inside=1)
    except OSError as error:
        warn(f"{path}: cannot be read ({reason(error)}); what it holds is missing")
        return None
    return parse_rows(data, row, path, warn)


def parse_rows(data: bytes, row: type[Row], path: Path, warn: Warn = ignore) -> pd.DataFrame | None:
    """As `read_rows`, of a file's content; `path` names it in warnings."""
    if not _PLAIN.fullmatch(data):
        data = printable(data.decode("utf-8", errors="replace").replace("\r\n", "\n")).encode()
    end = data.rfind(b"\n") + 1
    if data[end:].strip():
        last = data.count(b"\n") + 1
        warn(f"{path}:{last}: the last line is incomplete (still being written, or cut off); left out")
    begin, line = _header(data, end)
    if begin is None and any(column.own for column in columns_of(row)):  # its header comes with its first row
        return _in_order(_frame_of([], {}), row)
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
    known = _known(row, names)
    body = data[begin[1] + 1 : end]
    frame = _frame(body, known) if _is_whole(body, len(names)) else None
    if frame is None:
        frame = _frame_of(_whole_rows(body, known, path, line + 1, warn), known)
    return _without_repeats(_in_order(frame, row), row, path, warn)


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


def _known(row: type[Row], names: Sequence[str]) -> dict[str, RowColumn | None]:
    """The file's columns in its order; None for one that the schema does not have. The algorithm's own are numbers."""
    own = next((column for column in columns_of(row) if column.own), None)
    return {name: declared(row).get(name, own) for name in names}


def _is_whole(body: bytes, columns: int) -> bool:
    """Whether all rows can have as many cells as the header, with neither quotes nor comments between them."""
    if b'"' in body or body.startswith(b"#") or b"\n#" in body:
        return False
    return body.count(b",") == body.count(b"\n") * (columns - 1)


def _frame(body: bytes, known: dict[str, RowColumn | None]) -> pd.DataFrame | None:
    """The rows by the parser of pandas; None where one of them may not count."""
    import pandas as pd

    numeric = {name for name, column in known.items() if column is None or column.numeric}
    if not body.strip():
        body = b""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # of cells beyond the header's
            frame = pd.read_csv(
                BytesIO(body),
                header=None,
                names=list(known),
                index_col=False,
                dtype={name: str for name in known if name not in numeric},
                na_values=dict.fromkeys(numeric, EMPTY),
                keep_default_na=False,
                skip_blank_lines=False,
                low_memory=False,
                **_exact(pd.__version__),
            )
    except pd.errors.EmptyDataError:
        return _frame_of([], known)
    except (ValueError, OverflowError, pd.errors.ParserWarning):
        return None
    try:
        for name, column in known.items():
            if column is not None:
                frame[name] = _typed(frame[name], column)
    except (ValueError, OverflowError):
        return None
    return frame


def _exact(version: str) -> dict[str, Any]:
    """What has pandas read the nearest number, which is its default from 3.1 on."""
    return {} if tuple(map(int, version.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}


def _typed(cells: pd.Series[Any], column: RowColumn) -> Any:
    """The cells of a declared column; ValueError where a row must not count."""
    if column.kind == "text":
        return cells
    if not column.numeric:
        return _several(list(cells), column)
    if cells.dtype.kind not in "iuf":
        raise ValueError(f"{column.name} is no number")
    if column.kind == "number":
        cells = cells.astype(float)
    if column.required and not np.isfinite(cells.to_numpy(float)).all():
        raise ValueError(f"{column.name} is not finite")
    return cells


def _several(cells: Sequence[str], column: RowColumn) -> pd.Series[Any]:
    """Cells of several numbers each, as tuples."""
    import pandas as pd

    number = int if column.kind == "integers" else float
    if any("_" in text for text in cells):  # which Python allows in numbers
        raise ValueError(f"{column.name} is no number")
    return pd.Series([tuple(map(number, text.split())) for text in cells], dtype=object)


def _frame_of(rows: Sequence[Sequence[str]], known: dict[str, RowColumn | None]) -> pd.DataFrame:
    """A frame of rows that count."""
    import pandas as pd

    columns = zip(*rows, strict=True) if rows else ((),) * len(known)
    return pd.DataFrame(
        {name: _column(cells, column) for (name, column), cells in zip(known.items(), columns, strict=True)}
    )


def _column(cells: Sequence[str], column: RowColumn | None) -> pd.Series[Any]:
    """The cells of a column; of one that the schema does not have numbers, if that is what they all are."""
    import pandas as pd

    if column is not None and not column.numeric:
        return pd.Series(cells, dtype=str) if column.kind == "text" else _several(cells, column)
    if column is None and not all(map(_NUMBER.fullmatch, cells)):
        return pd.Series(cells, dtype=str)
    whole = (column is None or column.kind == "integer") and bool(cells) and all(map(_INTEGER.fullmatch, cells))
    return pd.Series([int(cell) if whole else float(cell or "nan") for cell in cells], dtype=int if whole else float)


def _whole_rows(body: bytes, known: dict[str, RowColumn | None], path: Path, first: int, warn: Warn) -> list[list[str]]:
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


def _problem(cells: Sequence[str], known: dict[str, RowColumn | None]) -> str:
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


def _in_order(frame: pd.DataFrame, row: type[Row]) -> pd.DataFrame:
    """The columns of the schema, with defaults for those that are not there, and the others in their place."""
    import pandas as pd

    others = [str(name) for name in frame if name not in declared(row)]
    order: list[str] = []
    for column in columns_of(row):
        if column.own:
            order += others
            others = []
            continue
        order.append(column.name)
        if column.name not in frame:
            frame[column.name] = pd.Series([column.default] * len(frame), dtype=_dtype(column))
    return frame[order + others]


def _dtype(column: RowColumn) -> Any:
    return float if column.numeric else str if column.kind == "text" else object


def _without_repeats(frame: pd.DataFrame, row: type[Row], path: Path, warn: Warn) -> pd.DataFrame:
    """Of rows that repeat, the later ones."""
    keep = np.ones(len(frame), bool)
    if row.grows and len(frame):
        values = frame[row.grows].to_numpy()
        keep[:-1] = values[:-1] < np.minimum.accumulate(values[::-1])[::-1][1:]
    elif row.unique:
        keep = (~frame.duplicated(row.unique, keep="last") | frame[row.unique].isna()).to_numpy()
    if keep.all():
        return frame
    what = f"no larger {row.grows}" if row.grows else f"the same {row.unique}"
    warn(f"{path}: rows that are repeated by later rows with {what}, which count: {int((~keep).sum())}")
    return frame[keep].reset_index(drop=True)


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line])) if '"' in line else line.split(",")
    except csv.Error as error:
        raise Unusable(str(error)) from error
