"""Tables of measurements that a program of benchmarks/ wrote: a row for each seed of each name on each environment."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from erlbench.errors import UsageError
from erlbench.files import read_text, readable
from erlbench.reporting.statistics.estimates import Array

KEYS = "env", "name", "seed"  # columns of every table; all others are numbers


def read_measurements(path: Path) -> list[dict[str, str]]:
    """The rows of a table; `UsageError` where it cannot be read, is no such table, or has a seed twice."""
    with readable(path):
        lines = csv.DictReader(io.StringIO(read_text(path)))
        rows = [dict(row) for row in lines]
    if missing := [key for key in KEYS if key not in (lines.fieldnames or ())]:
        raise UsageError(f"{path} has no column {', '.join(missing)}")
    keys = [tuple(row[key] for key in KEYS) for row in rows]
    if again := next((key for index, key in enumerate(keys) if key in keys[:index]), None):
        raise UsageError(f"{path} has two rows of {' '.join(again)}")
    return rows


def measured_column(path: Path, env: str, name: str, column: str) -> tuple[tuple[int, ...], Array]:
    """Seeds, and their numbers `(seeds,)`, of a name on an environment; both are empty where there are none.

    `UsageError` for a cell that is no finite number.
    """
    rows = [row for row in read_measurements(path) if (row["env"], row["name"]) == (env, name)]
    try:
        seeds, values = tuple(int(row["seed"]) for row in rows), [float(row[column]) for row in rows]
    except (KeyError, TypeError, ValueError):
        raise UsageError(f"{path}: {name} on {env} has no numbers in the columns seed and {column}") from None
    if not all(map(math.isfinite, values)):
        raise UsageError(f"{path}: {column} of {name} on {env} is not finite")
    return seeds, np.array(values)


def distance_matrix(path: Path, env: str, name: str, seeds: Sequence[int]) -> Array:
    """Distances `(seeds, seeds)` within a name, which the columns `to_SEED` hold."""
    return np.array([measured_column(path, env, name, f"to_{seed}")[1] for seed in seeds])


def measurements_text(rows: Sequence[Mapping[str, object]]) -> str:
    """What such a table holds, as CSV."""
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()
