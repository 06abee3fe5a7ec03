"""Warnings of a report: kinds and values, and one line for what many runs have in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from erlbench.reporting.data.cut import Moment
from erlbench.reporting.data.remarks import RemarkKind, as_remark, folded, remark

HERE, THERE = Path("results/a"), Path("results/b")


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (remark(RemarkKind.LEFT_OUT, HERE, reason="no\x1b[2J file"), "results/a: left out: no\ufffd[2J file"),
        (remark(RemarkKind.REPEATED, HERE, seed=3, other=THERE), "results/a: repeats seed 3 of results/b with the same "
         "kernel and software; listed only, the first finished run of a seed counts"),
        (remark(RemarkKind.NO_EVALUATION, HERE, near="10%", moment=Moment(2000)),
         "results/a: no evaluation within 10% of 2,000 training steps; left out"),
        (remark(RemarkKind.DAMAGED_END, HERE, problem="bad"),
         "results/a: the last row of eval.csv is damaged: bad; left out"),
        (remark(RemarkKind.NEVER_TRAINED, HERE), "results/a: made no gradient step, as its budget is not above its "
         "warm-up; it has no score and is compared with nothing"),
        (remark(RemarkKind.OTHER_SETTINGS, HERE, study="s", profile="p", settings=("tau", "sigma")),
         "results/a: has the name and the budget of study s, profile p, but other settings (tau, sigma); it is not "
         "shown there"),
        (remark(RemarkKind.NO_PAGE, study="s", profile=", profile p"),
         "no run belongs to the study 's', profile p; it has no page"),
        (remark(RemarkKind.NO_CURVES, env="Ant-v5", reason="Why."), "Ant-v5: no learning curves. Why."),
        (remark(RemarkKind.NO_SCORES, env="Ant-v5"),
         "no scores to reach are published for Ant-v5; name them by --reach=SCORE[,SCORE...]"),
        (as_remark("{as} it is"), "{as} it is"),
    ],
)  # fmt: skip
def test_the_sentence_of_each_kind(said, sentence):
    assert str(said) == sentence


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
