"""Warnings of a report: one line for what many runs have in common."""

from __future__ import annotations

from erlbench.reporting.cells import LEFT_OUT, REPEATED, fold


def test_warnings_that_differ_in_their_paths_only_are_one_line():
    first, second = (f"results/{name}{REPEATED}1 of results/x; listed only" for name in "ab")
    assert fold([first, second]) == [f"{first} (and 1 more like this)"]
    files = [f"results/{name}/train.csv: cannot be read" for name in "ab"]
    assert fold([*files, "Ant-v5: 3 of 10", "Ant-v5: 4"]) == [
        f"{files[0]} (and 1 more like this)", "Ant-v5: 3 of 10", "Ant-v5: 4"
    ]  # fmt: skip


def test_each_folder_that_is_left_out_is_named():
    warnings = [f"results/{name}{LEFT_OUT}cannot be read" for name in "ab"]
    assert fold(warnings) == warnings
