"""Reads columns of a run's CSV file; what cannot be read is left out with a warning, never silently."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erlbench.files import Unusable, printable, read_bytes

Warn = Callable[[str], None]


def read_columns(
    path: Path, numbers: Sequence[str], warn: Warn, *, optional: Sequence[str] = (), texts: Sequence[str] = ()
) -> dict[str, NDArray[np.float64] | list[str]] | None:
    """The named columns of a CSV file: `numbers` and `optional` as arrays of float64 (rows,), `texts` as lists.

    A row counts if its `numbers` are finite and its `optional` cells are numbers or empty (NaN); others are dropped
    with a warning that names file and line. An `optional` column that the file lacks is NaN, a missing text "". None
    (with a warning) when there is no such file, no header, or no such required column. A last line without its line
    end is still being written, or cut off: it does not count.
    """
    try:
        text = printable(read_bytes(path).decode("utf-8", errors="replace").replace("\r\n", "\n"))
    except OSError as error:
        warn(f"{path}: cannot be read ({error.strerror or error}); what it holds is missing from the report")
        return None
    lines = text.split("\n")
    rest = lines.pop()
    first = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), None)
    if first is None:
        warn(f"{path}: empty, not even a header line; what it should hold is missing from the report")
        return None
    header = _cells(lines[first])
    missing = [name for name in numbers if name not in header]
    if missing:
        warn(f"{path}:{first + 1}: no column {', '.join(missing)}; the file is left out")
        return None
    required = [header.index(name) for name in numbers]
    present = [name for name in optional if name in header]
    extra = [header.index(name) for name in present]
    words = [(header.index(name) if name in header else -1) for name in texts]
    rows: list[list[float]] = []
    strings: list[list[str]] = []
    for line_number, line in enumerate(lines[first + 1 :], first + 2):
        if not line.strip():
            continue
        cells = _cells(line)
        try:
            if len(cells) != len(header):
                raise ValueError(f"{len(cells)} cells instead of {len(header)}")
            row = [float(cells[i]) for i in required]
            if not all(map(math.isfinite, row)):
                raise ValueError(f"not a finite number in {', '.join(n for n, v in zip(numbers, row) if v - v)}")
            rows.append(row + [float(cells[i]) if cells[i] else math.nan for i in extra])
        except Unusable as error:
            raise Unusable(f"{path.name}, line {line_number}: {error}") from error
        except ValueError as error:
            warn(f"{path}:{line_number}: row left out: {error}")
            continue
        strings.append([cells[i] if i >= 0 else "" for i in words])
    if rest.strip():
        warn(f"{path}:{len(lines) + 1}: the last line is incomplete (still being written, or cut off); left out")
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(required) + len(extra))
    result: dict[str, NDArray[np.float64] | list[str]] = {
        name: np.full(len(rows), math.nan) for name in optional if name not in header
    }
    result |= {name: table[:, i] for i, name in enumerate([*numbers, *present])}
    return result | {name: [row[i] for row in strings] for i, name in enumerate(texts)}


def _cells(line: str) -> list[str]:
    line = line.rstrip("\r")
    try:
        return next(csv.reader([line])) if '"' in line else line.split(",")
    except csv.Error as error:
        raise Unusable(str(error)) from error
