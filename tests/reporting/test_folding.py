"""Warnings that many runs have in common."""

from erlbench.reporting.data.runs import LeftOut
from erlbench.reporting.folding import folded


def test_warnings_that_differ_in_their_paths_only_are_one_line():
    messages = [
        "results/a/seed-000: no tasks.csv, so the report has no timeline",
        "results/a/seed-000/train.csv: cannot be read (No such file)",
        "results/a/seed-001: no tasks.csv, so the report has no timeline",
        "results/b/seed-000: has the budget of results/c/seed-000; left out here",
        "results/b/seed-001: has the budget of results/c/seed-001; left out here",
        "results/a/seed-002: no tasks.csv, so the report has no timeline",
    ]
    assert folded(messages) == [
        messages[0] + " (and 2 more like this)",
        messages[1],
        messages[3] + " (and 1 more like this)",
    ]


def test_each_folder_that_is_left_out_is_named():
    messages = [LeftOut("results/a: cannot be read"), LeftOut("results/b: cannot be read")]
    assert folded(messages) == messages


def test_a_number_is_not_a_path():
    messages = ["Walker2d-v5: 3 of 10 seeds", "Walker2d-v5: 4 of 10 seeds"]
    assert folded(messages) == messages
