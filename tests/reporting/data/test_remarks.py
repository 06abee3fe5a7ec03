"""Warnings of a report: kinds and values, and one line for what many runs have in common."""

from __future__ import annotations

from pathlib import Path

from erlbench.reporting.data.remarks import RemarkKind, as_remark, folded, remark

HERE, THERE = Path("results/a"), Path("results/b")


def test_remarks_that_differ_in_their_paths_only_are_one_line():
    remarks = [
        remark(RemarkKind.REPEATED, HERE, seed=1, other="x"),
        remark(RemarkKind.LEFT_OUT, HERE, reason="cannot be read"),
        remark(RemarkKind.REPEATED, THERE, seed=1, other="x"),
        remark(RemarkKind.LEFT_OUT, THERE, reason="cannot be read"),
    ]
    same, one, two = folded(remarks)
    assert same == f"{remarks[0]} (and 1 more like this)"
    assert [one, two] == [str(remarks[1]), str(remarks[3])]


def test_each_folder_that_is_left_out_is_named():
    remarks = [remark(RemarkKind.LEFT_OUT, path, reason="cannot be read") for path in (HERE, THERE)]
    assert folded(remarks) == list(map(str, remarks))


def test_sentences_of_readers_of_files_are_one_line_where_their_paths_differ():
    said = [
        "results/a/train.csv: cannot be read",
        "results/b/train.csv: cannot be read",
        "Ant-v5: 3 of 10",
        "Ant-v5: 4",
    ]
    assert folded(map(as_remark, said)) == [f"{said[0]} (and 1 more like this)", *said[2:]]
