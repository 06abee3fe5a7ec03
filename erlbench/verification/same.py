"""Whether two runs are the same to the last bit, apart from what a clock measured."""

from __future__ import annotations

from collections.abc import Iterator

from erlbench import files
from erlbench.running.results import POLICY
from erlbench.verification.check import AGREES, DIFFERS, UNKNOWN, Check, Files, Row

# What differs between two equal runs: times, and which process had a task.
MEASURED = frozenset({
    "train_time_s", "total_time_s", "t", "ready_s", "start_s", "end_s", "second_core_s", "cpu_s", "paused_s", "process",
    "queueing_median_s", "queueing_90_s", "busy_processes", "second_cores",
})  # fmt: skip


def same(run: Files, other: Files) -> Iterator[Check]:
    """Compare configuration, rows and saved policy of two runs."""
    yield _configuration(run, other)
    pairs = {
        "eval.csv": (run.evaluations, other.evaluations), "episodes.csv": (run.episodes, other.episodes),
        "train.csv": (run.train, other.train), "tasks.csv": (_by_id(run.tasks), _by_id(other.tasks)),
    }  # fmt: skip
    for name, (ours, theirs) in pairs.items():
        yield _rows(name, ours, theirs)
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


def _rows(name: str, ours: list[Row] | None, theirs: list[Row] | None) -> Check:
    if ours is None or theirs is None:
        return Check(name, UNKNOWN, "missing in one of the runs")
    for index, (one, two) in enumerate(zip(ours, theirs)):
        for column in [*one, *(two.keys() - one.keys())]:
            if column not in MEASURED and one.get(column) != two.get(column):
                texts = _short(one.get(column)), _short(two.get(column))
                return Check(name, DIFFERS, f"row {index}, {column}: {texts[0]}, {texts[1]}")
    if len(ours) != len(theirs):
        return Check(name, DIFFERS, f"{len(ours):,} rows and {len(theirs):,}; the first ones are equal")
    return Check(name, AGREES, f"{len(ours):,} rows, all columns but times")


def _policies(run: Files, other: Files) -> Check:
    try:
        equal = files.read_bytes(run.path / POLICY) == files.read_bytes(other.path / POLICY)
    except (OSError, ValueError):
        return Check(POLICY, UNKNOWN, "missing in one of the runs")
    return Check(POLICY, AGREES if equal else DIFFERS, "equal to the last bit" if equal else "other parameters")


def _by_id(rows: list[Row] | None) -> list[Row] | None:
    """Tasks finish in any order; the shorter number is the smaller one."""
    return rows and sorted(rows, key=lambda row: (len(row.get("task", "")), row.get("task", "")))


def _short(value: str | None) -> str:
    text = str(value)
    return text if len(text) <= 24 else f"{text[:24]}..."
