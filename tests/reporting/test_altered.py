"""Scores that were edited after the run: a report and a comparison say so at the cell, and do not count them."""

import csv
import json
import zlib

import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.records.run import checksum
from tests.reporting.compare import find_rows
from tests.reporting.make_runs import make_run


@pytest.fixture
def run(tmp_path):
    """A finished run whose status.json has the checksum of its eval.csv, beside another one."""
    make_run(tmp_path / "results", "Hopper-v5", "td3", 0, [1.0, 2.0])
    run = make_run(tmp_path / "results", "Hopper-v5", "td3", 3, [1.0, 2.0])
    data = (run / "eval.csv").read_bytes()
    status = json.loads((run / "status.json").read_text())
    (run / "status.json").write_text(
        json.dumps(status | {"files": {"eval.csv": checksum(len(data), zlib.crc32(data))}})
    )
    return run


def edit(run, old, new):
    data = (run / "eval.csv").read_bytes()
    assert old in data
    (run / "eval.csv").write_bytes(data.replace(old, new))


def cells(folder):
    with open(folder / "cells.csv") as file:
        return {row["seed"]: row for row in csv.DictReader(file)}


def test_edited_scores_that_agree_with_themselves_do_not_count(run, tmp_path):
    edit(run, b",2.0,1.0,1.0 3.0,", b",900.0,1.0,899.0 901.0,")
    for out, more in (("report", []), ("sides", [run.parent, "--side-by-side"])):
        words = ["report", tmp_path / "results", *more, "--out", tmp_path / out]
        result = CliRunner().invoke(cli, [*map(str, words)])
        assert result.exit_code == 0, result.output
        assert "edited after the run" in " ".join(result.output.split())
        assert "900" not in (tmp_path / out / "index.md").read_text()
    assert cells(tmp_path / "report")["3"]["status"] == "altered"
    assert "edited" in cells(tmp_path / "report")["3"]["message"]
    assert cells(tmp_path / "report")["0"]["status"] == "done"


@pytest.mark.parametrize("change", [lambda data: data.replace(b"\n", b"\r\n"), lambda data: b"\xef\xbb\xbf" + data])
def test_other_line_ends_are_no_edit(run, tmp_path, change):
    (run / "eval.csv").write_bytes(change((run / "eval.csv").read_bytes()))
    assert [found.status for found in find_rows([tmp_path / "results"], pytest.fail)] == ["done", "done"]
