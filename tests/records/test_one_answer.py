"""What is damaged in a run's folder has one answer, whoever asks: report, API, verify, show, export and compare."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from click.testing import CliRunner

import erlbench
from erlbench.cli import cli
from erlbench.records.run import starts
from erlbench.reporting.runs import parse_machine
from erlbench.verification import DIFFERS, load_files, verify
from tests.reporting.compare import load_run
from tests.reporting.make_runs import make_run


@pytest.fixture
def damaged(tmp_path):
    """Four rows in eval.csv: one has an unreadable time, and one is repeated by the next."""
    run = make_run(tmp_path / "results", "Foo-v5", "cem", 0, [1.0, 2.0, 4.0])
    head, *rows = [line.split(",") for line in (run / "eval.csv").read_text().splitlines()]
    rows[1][head.index("train_time_s")] = "oops"
    lines = [head, rows[0], rows[1], rows[2], rows[2]]
    (run / "eval.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    return run


def test_an_unreadable_cell_and_a_repeated_row_give_two_rows_and_two_warnings_to_everybody(damaged, tmp_path, capsys):
    warnings: list[str] = []
    assert load_run(damaged, lambda warning: warnings.append(str(warning))).evaluations.return_mean.tolist() == [1, 4]
    assert ["eval.csv" in warning for warning in warnings] == [True, True]
    assert erlbench.load_results(damaged).evaluations["return_mean"].tolist() == [1, 4]
    assert capsys.readouterr().err.splitlines() == [f"warning: {warning}" for warning in warnings]
    assert load_files(damaged).evaluations["return_mean"].tolist() == [1, 4]
    assert [check.outcome for check in verify(damaged) if check.name == "damage"] == [DIFFERS]
    other = make_run(tmp_path / "other", "Foo-v5", "cem", 0, [1.0, 2.0])
    for words in (
        ["show", damaged],
        ["convert", damaged, "--to", "csv", "--out", tmp_path / "out"],
        ["report", damaged, other, "--side-by-side", "--out", tmp_path / "report"],
    ):
        assert CliRunner().invoke(cli, [*map(str, words)]).stderr.count("eval.csv") == 2
    assert pd.read_csv(tmp_path / "out" / "evaluations.csv")["return_mean"].tolist() == [1, 4]


def test_damaged_starts_hide_no_whole_one(tmp_path):
    start = {"started": "2024-01-01T00:00:00+00:00", "cpu": "a"}
    meta = {"starts": [True, start, None]}
    assert starts(meta) == [start]
    assert parse_machine(meta)["cpu"] == "a"
    run = make_run(tmp_path, "Foo-v5", "cem", 0, [1.0])
    (run / "meta.json").write_text(json.dumps({"starts": True}))
    assert load_files(run).starts == []
    assert DIFFERS in {check.outcome for check in verify(run) if check.name == "version"}
