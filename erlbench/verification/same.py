"""Whether two runs are the same to the last bit apart from what a clock measured, and whether runs are copies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench import files
from erlbench.records.run import POLICY
from erlbench.records.schema import COUNTED, Row, columns_of, header
from erlbench.verification.files import AGREES, DIFFERS, UNKNOWN, Check, Files

if TYPE_CHECKING:
    import pandas as pd

# What differs between two equal runs: times, and which process had a task.
MEASURED = frozenset(column.name for row in COUNTED for column in columns_of(row) if column.measured)
DIGESTS_FROM = 4  # format of a run since which digests have been computed as today
FEWEST = 5  # different returns that tell runs apart
Marks = frozenset[int]


def compare_runs(run: Files, other: Files) -> Iterator[Check]:
    """Compare configuration, rows and saved policy of two runs."""
    yield _configuration(run, other)
    for row in COUNTED:
        yield compare_rows(row, run.rows.get(row), other.rows.get(row), unlike_digests(run, other))
    yield _policies(run, other)


def _configuration(run: Files, other: Files) -> Check:
    differing = [
        f"{table}.{key}"
        for table in sorted(run.config.keys() | other.config.keys())
        for ours, theirs in [(run.table(table), other.table(table))]
        for key in sorted(ours.keys() | theirs.keys())
        if ours.get(key) != theirs.get(key)
    ]
    text = ", ".join(differing) or "all settings are equal"
    return Check("config.toml", DIFFERS if differing else AGREES, text)


def unlike_digests(run: Files, other: Files) -> str:
    """Why the digests of two runs are not compared: they are computed otherwise since `DIGESTS_FROM`. Else empty."""
    formats = [number if isinstance(number := files.meta.get("format"), int) else 0 for files in (run, other)]
    if (formats[0] >= DIGESTS_FROM) == (formats[1] >= DIGESTS_FROM):
        return ""
    return f"digests of formats {formats[0]} and {formats[1]} are not compared"


def compare_rows(
    row: type[Row], ours: pd.DataFrame | None, theirs: pd.DataFrame | None, unlike_digests: str = ""
) -> Check:
    """Compare all columns that no clock measured; the first cell that differs is named."""
    if ours is None or theirs is None:
        return Check(row.file, UNKNOWN, "missing in one of the runs")
    left_out = MEASURED | {"digest"} if unlike_digests else MEASURED
    columns = [name for name in dict.fromkeys([*ours, *theirs]) if name not in left_out]
    counts, length = (len(ours), len(theirs)), min(len(ours), len(theirs))
    ours, theirs = (_in_order(row, rows).reindex(columns=columns).head(length) for rows in (ours, theirs))
    equal = ((ours == theirs) | (ours.isna() & theirs.isna())).to_numpy()
    if not equal.all():
        index, column = np.argwhere(~equal)[0]
        texts = [_short(rows.iloc[index, column]) for rows in (ours, theirs)]
        return Check(row.file, DIFFERS, f"row {index}, {columns[column]}: {texts[0]}, {texts[1]}")
    if counts[0] != counts[1]:
        return Check(row.file, DIFFERS, f"{counts[0]:,} rows and {counts[1]:,}; the first ones are equal")
    more = f"; {unlike_digests}" if unlike_digests and "digest" in header(row) else ""
    return Check(row.file, AGREES, f"{length:,} rows, all columns but times{more}")


def _policies(run: Files, other: Files) -> Check:
    try:
        equal = files.read_bytes(run.path / POLICY, inside=1) == files.read_bytes(other.path / POLICY, inside=1)
    except (OSError, ValueError):
        return Check(POLICY, UNKNOWN, "missing in one of the runs")
    return Check(POLICY, AGREES if equal else DIFFERS, "equal to the last bit" if equal else "other parameters")


def _in_order(row: type[Row], rows: pd.DataFrame) -> pd.DataFrame:
    """Tasks finish in any order."""
    return rows.sort_values(row.unique, ignore_index=True) if row.unique else rows


def _short(value: Any) -> str:
    text = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return text if len(text) <= 24 else f"{text[:24]}..."


def evaluation_marks(run: Files) -> Marks:
    """Hashes of what no run of another seed has: each digest, or without any all returns after the first steps."""
    rows = run.evaluations
    if digests := [digest for digest in rows["digest"] if digest]:
        return frozenset(map(hash, digests))
    returns = tuple(rows["returns"][rows["timesteps"] > 0])
    distinct = {value for values in returns for value in values}
    return frozenset([hash(returns)] if len(distinct) >= FEWEST else [])


def find_copies(marks: Mapping[Path, tuple[Any, Marks]]) -> Iterator[tuple[Path, Check]]:
    """The check of each run, given by its seed and `evaluation_marks`, against the others."""
    runs: defaultdict[int, dict[Any, Path]] = defaultdict(dict)  # mark -> seed -> run
    for path, (seed, of_run) in marks.items():
        for mark in of_run:
            runs[mark].setdefault(seed, path)
    for path, (seed, of_run) in marks.items():
        others = {other for mark in of_run for theirs, other in runs[mark].items() if theirs != seed}
        if others:
            yield path, Check("copies", DIFFERS, f"it has evaluations of {min(others)}, which has another seed")
        elif of_run:
            yield path, Check("copies", AGREES, f"none of the {len(marks)} runs has its evaluations with another seed")
        else:
            yield path, Check("copies", UNKNOWN, "eval.csv has nothing that distinguishes runs")
