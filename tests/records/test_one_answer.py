"""A damaged file has one answer, whoever asks: report, API, verify, show, export and compare."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from click.testing import CliRunner

import erlbench
from erlbench.cli import cli
from erlbench.records.read import read_rows
from erlbench.records.schema import EvaluationRow, TaskRow
from erlbench.reporting.timeline import load_timeline
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
    assert len(warnings) == 2
    assert all("eval.csv" in warning for warning in warnings)
    frame = erlbench.load_results(damaged).evaluations
    assert capsys.readouterr().err.splitlines() == [f"warning: {warning}" for warning in warnings]
    assert frame["return_mean"].tolist() == [1, 4]
    assert frame["train_time_s"].dtype == float
    assert load_files(damaged).evaluations["return_mean"].tolist() == [1, 4]
    assert [check.outcome for check in verify(damaged) if check.name == "damage"] == [DIFFERS]
    shown = CliRunner().invoke(cli, ["show", str(damaged)])
    assert shown.stderr.count("eval.csv") == 2
    out = tmp_path / "out"
    exported = CliRunner().invoke(cli, ["convert", str(damaged), "--to", "csv", "--out", str(out)])
    assert exported.exit_code == 0, exported.stderr
    assert pd.read_csv(out / "evaluations.csv")["return_mean"].tolist() == [1, 4]
    make_run(tmp_path / "other", "Foo-v5", "cem", 0, [1.0, 2.0])
    folders = [str(tmp_path / "results"), str(tmp_path / "other")]
    compared = CliRunner().invoke(cli, ["report", *folders, "--side-by-side", "--out", str(tmp_path / "report")])
    assert compared.stderr.count("eval.csv") == 2


def test_an_older_name_is_read_by_the_timeline_as_by_the_api(tmp_path):
    run = make_run(tmp_path, "Foo-v5", "cem", 0, [1.0], tasks=[("es", 0, 0.0, 1.0, 0)])
    path = run / "tasks.csv"
    path.write_text(path.read_text().replace("individual", "worker"))
    assert load_timeline(load_run(run, pytest.fail), pytest.fail) is not None
    assert erlbench.load_results(run).tasks["individual"].tolist() == [0]
    assert read_rows(run, TaskRow, pytest.fail)["individual"].tolist() == [0]


def test_a_file_without_a_required_column_is_left_out_by_everybody(tmp_path, capsys):
    run = make_run(tmp_path, "Foo-v5", "cem", 0, [1.0, 2.0])
    (run / "eval.csv").write_text("evaluation,timesteps,train_time_s\n0,0,1.0\n")
    warnings: list[str] = []
    assert read_rows(run, EvaluationRow, warnings.append) is None
    assert not len(load_run(run, lambda warning: None).evaluations)
    assert erlbench.load_results(run).evaluations.empty
    assert "no column return_mean" in capsys.readouterr().err
    assert load_files(run).evaluations.empty
    assert json.loads((run / "status.json").read_text())["status"] == "done"
    assert [check.outcome for check in verify(run) if check.name == "damage"] == [DIFFERS]
