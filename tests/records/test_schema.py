"""The columns of a run's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from erlbench.records.schema import COUNTED, ROWS, columns_of, declared

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text()


@pytest.mark.parametrize("row", ROWS)
def test_each_column_is_explained_and_no_two_share_a_name(row):
    names = [name for column in columns_of(row) for name in (column.name, *column.was)]
    assert len(set(names)) == len(names)
    assert all(column.help for column in columns_of(row))
    assert {row.grows, row.unique} - {""} <= declared(row).keys()
    assert f"<!-- columns: {row.file} -->" in PAGE.partition(f"### {row.file}\n")[2]  # where the site's hook puts them


def test_equal_runs_may_differ_in_what_a_clock_measured_alone():
    measured = {column.name for row in COUNTED for column in columns_of(row) if column.measured}
    assert measured == {
        "train_time_s", "total_time_s", "t", "ready_s", "start_s", "end_s", "cpu_s", "paused_s",
        "process", "queueing_median_s", "queueing_90_s", "busy_processes",
    }  # fmt: skip
