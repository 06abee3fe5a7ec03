"""Whether two runs are the same to the last bit apart from what a clock measured, and whether runs are copies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.files import read_bytes
from erlbench.records.run import POLICY
from erlbench.records.schema import COUNTED, Row, columns_of, header
from erlbench.verification.files import Check, Files, Findings, Unverifiable, make_check

if TYPE_CHECKING:
    import pandas as pd

# What differs between two equal runs: times, and which process had a task.
MEASURED = frozenset(column.name for row in COUNTED for column in columns_of(row) if column.measured)
DIGESTS_FROM = 5  # format of a run since which digests have been computed as today
FEWEST = 5  # different returns that tell runs apart


def compare_runs(run: Files, other: Files) -> Iterator[Check]:
    """Compare configuration, rows and saved policy of two runs."""
    yield make_check("config.toml", _compare_configurations, run, other)
    for row in COUNTED:
        yield make_check(
            row.file, compare_rows, row, run.rows.get(row), other.rows.get(row), unlike_digests(run, other)
        )
    yield make_check(POLICY, _compare_policies, run, other)


def _compare_configurations(run: Files, other: Files) -> Findings:
    differing = [
        f"{table}.{key}"
        for table in sorted(run.config.keys() | other.config.keys())
        for ours, theirs in [(run.table(table), other.table(table))]
        for key in sorted(ours.keys() | theirs.keys())
        if ours.get(key) != theirs.get(key)
    ]
    return [", ".join(differing)] if differing else [], "all settings are equal"


def unlike_digests(run: Files, other: Files) -> str:
    """Why the digests of two runs are not compared: they are computed otherwise since `DIGESTS_FROM`. Else empty."""
    formats = [number if isinstance(number := files.meta.get("format"), int) else 0 for files in (run, other)]
    if (formats[0] >= DIGESTS_FROM) == (formats[1] >= DIGESTS_FROM):
        return ""
    return f"digests of formats {formats[0]} and {formats[1]} are not compared"


def compare_rows(
    row: type[Row], ours: pd.DataFrame | None, theirs: pd.DataFrame | None, unlike_digests: str = ""
) -> Findings:
    """Compare all columns that no clock measured; the first cell that differs is named."""
    if ours is None or theirs is None:
        raise Unverifiable("missing in one of the runs")
    left_out = MEASURED | {"digest"} if unlike_digests else MEASURED
    columns = [name for name in dict.fromkeys([*ours, *theirs]) if name not in left_out]
    counts, length = (len(ours), len(theirs)), min(len(ours), len(theirs))
    if row.unique:  # tasks finish in any order
        ours, theirs = (rows.sort_values(row.unique, ignore_index=True) for rows in (ours, theirs))
    ours, theirs = (rows.reindex(columns=columns).head(length) for rows in (ours, theirs))
    equal = ((ours == theirs) | (ours.isna() & theirs.isna())).to_numpy()
    if not equal.all():
        index, column = np.argwhere(~equal)[0]
        values = (rows.iloc[index, column] for rows in (ours, theirs))
        return [f"row {index}, {columns[column]}: {', '.join(str(value)[:40] for value in values)}"], ""
    wrong = [] if counts[0] == counts[1] else [f"{counts[0]:,} rows and {counts[1]:,}; the first ones are equal"]
    more = f"; {unlike_digests}" if unlike_digests and "digest" in header(row) else ""
    return wrong, f"{length:,} rows, all columns but times{more}"


def _compare_policies(run: Files, other: Files) -> Findings:
    try:
        ours, theirs = (read_bytes(files.path / POLICY, inside=1) for files in (run, other))
    except (OSError, ValueError):
        raise Unverifiable("missing in one of the runs") from None
    return [] if ours == theirs else ["other parameters"], "equal to the last bit"


def evaluation_marks(run: Files) -> set[Any]:
    """What no run of another seed has: each digest, or without any all returns after the first steps."""
    rows = run.evaluations
    if digests := {digest for digest in rows["digest"] if digest}:
        return digests
    returns = tuple(rows["returns"][rows["timesteps"] > 0])
    return {returns} if len({value for values in returns for value in values}) >= FEWEST else set()


def find_copies(runs: Mapping[Path, tuple[Any, set[Any]]]) -> Iterator[tuple[Path, Check]]:
    """The check of each run, given by its seed and `evaluation_marks`, against the others."""
    seeds: defaultdict[Any, dict[Any, Path]] = defaultdict(dict)  # mark -> seed -> run
    for path, (seed, marks) in runs.items():
        for mark in marks:
            seeds[mark].setdefault(seed, path)

    def compare(seed: Any, marks: set[Any]) -> Findings:
        if not marks:
            raise Unverifiable("eval.csv has nothing that distinguishes runs")
        others = {other for mark in marks for theirs, other in seeds[mark].items() if theirs != seed}
        wrong = [f"it has evaluations of {min(others)}, which has another seed"] if others else []
        return wrong, f"none of the {len(runs)} runs has its evaluations with another seed"

    for path, of_run in runs.items():
        yield path, make_check("copies", compare, *of_run)
