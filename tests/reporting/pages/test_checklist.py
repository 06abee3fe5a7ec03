"""`report --checklist`: what files of runs do not say is unknown, and no path of anybody is left."""

import math

import pandas as pd
import pytest

from erlbench.reporting.checklist import TOTAL, checklist
from erlbench.reporting.documents import Content, render
from tests.files import edit_json, edit_rows
from tests.reporting.compare import find_rows, read, write_report
from tests.reporting.make_runs import make_cells, make_run


def answers(folder):
    return checklist([], find_rows([folder], lambda said: None), [])


def text_of(folder):
    return render(Content(template="checklist.jinja", values=answers(folder)))


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 1])


def test_hours_are_those_of_finished_and_other_runs_without_pauses(tmp_path, run):
    failed = make_run(tmp_path, "Hopper-v5", "td3", 1, [0, 1], status="failed")
    make_run(tmp_path, "Hopper-v5", "aes-rl", 0, [0, 1], simulated=True)
    edit_json(run / "status.json", total_time_s=3 * 3600)
    edit_json(failed / "status.json", total_time_s=1800)
    edit_rows(run / "eval.csv", paused_s=3600)
    modelled, measured, total = answers(tmp_path)["compute"].rows
    hours = {"runs": 1, "hours": 2.0, "not_finished": 1, "their_hours": 0.5}
    assert measured.items() >= {"environment": "Hopper-v5", "algorithm": "td3", **hours}.items()
    assert [total[name] for name in ("environment", "hours", "their_hours")] == [TOTAL, 2.0, 0.5]
    assert math.isnan(modelled["hours"])
    assert modelled["modelled_hours"] > 0


@pytest.mark.parametrize("value", ["soon", True, -5])
def test_a_total_time_that_is_none_is_unknown_and_not_zero(tmp_path, run, value):
    edit_json(run / "status.json", total_time_s=value, train_time_s=math.nan)
    assert math.isnan(answers(tmp_path)["compute"].rows[0]["hours"])


def test_command_lines_lose_home_folder_user_and_host(tmp_path, run, monkeypatch):
    monkeypatch.setattr("platform.node", lambda: "bigbox")
    monkeypatch.setenv("LOGNAME", "alice")
    edit_json(
        run / "meta.json", starts=[{"command_line": "erlbench run --out /home/janedoe/results --name alice@bigbox"}]
    )
    assert "erlbench run --out ~/results --name user@host" in text_of(tmp_path)


@pytest.mark.parametrize("damage", [b"\xff\xfe", b"[" * 5000, b'{"starts": [{"command_line": {"a": 1}}]}'])
def test_damaged_meta_and_tasks_end_no_checklist(tmp_path, run, damage):
    (run / "meta.json").write_bytes(damage)
    (run / "tasks.csv").write_bytes(damage)
    make_run(tmp_path, "Hopper-v5", "td3", 1, [0, 1])
    assert "Compute resources" in text_of(tmp_path)


def test_the_command_writes_the_checklist_and_the_page_leads_to_it(tmp_path):
    make_cells(tmp_path / "results", "Hopper-v5", {"td3": range(5), "cem": range(100, 105)})
    for wanted in (False, True):
        out = write_report(tmp_path / "results", checklist=wanted)
        assert ('href="#checklist"' in read(out / "index.html")) == (out / "checklist").exists() == wanted
    assert pd.read_csv(out / "checklist/compute.csv").environment.tolist() == ["Hopper-v5", "Hopper-v5", TOTAL]
