"""Scores that were edited after the run: a report and a comparison say so at the cell, and do not count them."""

import pandas as pd
import pytest

from erlbench.records.read import read_rows
from erlbench.records.run import file_checksum
from erlbench.records.schema import GenerationRow
from tests.calls import call
from tests.files import edit_json
from tests.reporting.compare import find_rows, read, run_report
from tests.reporting.make_runs import make_run


@pytest.fixture
def run(tmp_path):
    """A finished run whose status.json has the checksum of its eval.csv, beside another one."""
    make_run(tmp_path / "results", "Hopper-v5", "td3", 0, [1.0, 2.0])
    run = make_run(tmp_path / "results", "Hopper-v5", "td3", 3, [1.0, 2.0])
    edit_json(run / "status.json", files={"eval.csv": file_checksum(run / "eval.csv")})
    return run


def test_edited_scores_that_agree_with_themselves_do_not_count(run, tmp_path):
    text = read(run / "eval.csv")
    (run / "eval.csv").write_text(text.replace(",2.0,1.0,1.0 3.0,", ",900.0,1.0,899.0 901.0,"))
    for out, more in (("sides", [run.parent, "--side-by-side"]), ("report", [])):
        assert "edited after the run" in run_report(tmp_path / "results", *more, "--out", tmp_path / out)
        assert "900" not in read(tmp_path / out / "index.md")
    cells = pd.read_csv(tmp_path / "report/cells.csv").set_index("seed")
    assert cells.status.to_dict() == {0: "done", 3: "altered"}
    assert "edited" in cells.message[3]


def test_other_line_ends_are_no_edit(run, tmp_path):
    (run / "eval.csv").write_text(read(run / "eval.csv"), encoding="utf-8-sig", newline="\r\n")
    assert [row.status for row in find_rows([tmp_path / "results"], pytest.fail)] == ["done", "done"]


def test_other_files_that_were_edited_are_named(run, tmp_path):
    paths, warnings = [run / name for name in ("config.toml", "meta.json", "train.csv")], []
    edit_json(run / "status.json", files={path.name: file_checksum(path) for path in paths})
    for path in paths:
        path.write_text(read(path) + "\n")
    find_rows([tmp_path / "results"], warnings.append)
    read_rows(run, GenerationRow, warnings.append)
    assert [warning.partition(" was edited after")[0] for warning in warnings] == [*map(str, paths)]
    assert call("show", run).stderr.count("was edited after") == 2
