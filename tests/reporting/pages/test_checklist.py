"""`report --checklist`: answers from files of runs; what they do not say is unknown, and no path of anybody is left."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.reporting.checklist import TOTAL, checklist
from erlbench.reporting.documents import Content, render
from tests.reporting.compare import find_rows
from tests.reporting.make_runs import make_run, write_json

HOUR = 3600.0


def edit(path: Path, **values: object) -> None:
    write_json(path, {**json.loads(path.read_text()), **values})


def runs_in(folder: Path):
    return find_rows([folder], lambda said: None)


def checklist_of(folder: Path) -> str:
    return render(Content(template="checklist.jinja", values=checklist([], runs_in(folder), [])))


def compute_of(folder: Path):
    """The rows of the table of computing time, but the total."""
    return checklist([], runs_in(folder), [])["compute"].rows[:-1]


def test_hours_are_those_of_finished_and_other_runs(tmp_path):
    done = make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 1])
    failed = make_run(tmp_path, "Hopper-v5", "td3", 1, [0, 1], status="failed")
    for folder, seconds in ((done, 7200), (failed, 1800)):
        edit(folder / "status.json", total_time_s=seconds)
    cell, total = checklist([], runs_in(tmp_path), [])["compute"].rows
    assert (cell["environment"], cell["algorithm"]) == ("Hopper-v5", "td3")
    assert cell["machine"].startswith("Test CPU")
    assert total["environment"] == TOTAL
    for row in (cell, total):
        assert (row["runs"], row["hours"], row["not_finished"], row["their_hours"]) == (1, 2.0, 1, 0.5)


def test_pauses_are_no_computing_and_modelled_hours_are_none(tmp_path):
    run = make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 1])
    edit(run / "status.json", total_time_s=2 * HOUR)
    text = (run / "eval.csv").read_text().splitlines()
    place = text[0].split(",").index("paused_s")
    last = text[-1].split(",")
    last[place] = "3600.0"
    (run / "eval.csv").write_text("\n".join([*text[:-1], ",".join(last)]) + "\n")
    make_run(tmp_path, "Hopper-v5", "aes-rl", 0, [0, 1], simulated=True)
    modelled, measured = compute_of(tmp_path)
    assert measured["hours"] == 1.0
    assert math.isnan(modelled["hours"])
    assert modelled["modelled_hours"] > 0


@pytest.mark.parametrize("value", ["soon", True, None, -5, [], {"a": 1}])
def test_a_total_time_that_is_none_is_unknown_and_not_zero(tmp_path, value):
    run = make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 1])
    edit(run / "status.json", total_time_s=value, train_time_s=math.nan)
    assert [math.isnan(row["hours"]) for row in compute_of(tmp_path)] == [True]
    assert "1 runs whose computing time is not recorded" in checklist_of(tmp_path)


def test_command_lines_lose_home_folder_user_and_host(tmp_path, monkeypatch):
    monkeypatch.setattr("platform.node", lambda: "bigbox")
    monkeypatch.setenv("LOGNAME", "alice")
    run = make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 1])
    meta = json.loads((run / "meta.json").read_text())
    line = "erlbench run --out /home/janedoe/results --name alice@bigbox"
    write_json(run / "meta.json", {**meta, "starts": [{"command_line": line}]})
    assert "erlbench run --out ~/results --name user@host" in checklist_of(tmp_path)


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"[" * 5000, b'{"starts": [{"command_line": {"a": 1}}]}'])
def test_damaged_meta_and_tasks_end_no_checklist(tmp_path, damage):
    run = make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 1])
    (run / "meta.json").write_bytes(damage)
    (run / "tasks.csv").write_bytes(damage)
    make_run(tmp_path, "Hopper-v5", "td3", 1, [0, 1])
    assert "Compute resources" in checklist_of(tmp_path)


def test_the_command_writes_the_checklist_and_the_page_leads_to_it(tmp_path):
    for seed in range(5):
        make_run(tmp_path / "results", "Hopper-v5", "td3", seed, [0, seed])
        make_run(tmp_path / "results", "Hopper-v5", "cem", seed, [0, 100 + seed])
    words = ["report", str(tmp_path / "results"), "--out", str(tmp_path / "report")]
    assert CliRunner().invoke(cli, words).exit_code == 0
    assert not (tmp_path / "report/checklist").exists()
    assert CliRunner().invoke(cli, [*words, "--checklist"]).exit_code == 0
    page = (tmp_path / "report/index.html").read_text()
    assert 'id="checklist"' in page
    assert 'href="#checklist"' in page
    with open(tmp_path / "report/checklist/compute.csv", newline="") as file:
        assert [row["environment"] for row in csv.DictReader(file)] == ["Hopper-v5", "Hopper-v5", TOTAL]
    text = (tmp_path / "report/checklist/index.md").read_text()
    assert [line.split()[1] for line in text.splitlines() if line.startswith("## ")] == [
        "4.", "5.", "6.", "7.", "8.", "12."
    ]  # fmt: skip
