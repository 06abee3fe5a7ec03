"""`report --checklist`: answers from files of runs; what they do not say is unknown, and no path of anybody is left."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.records.schema import TaskRow
from erlbench.reporting.data.comparison import everything
from erlbench.reporting.data.runs import find_runs
from erlbench.reporting.data.spent import RunTime, time_of, times_aside
from erlbench.reporting.documents import markdown
from erlbench.reporting.pages.checklist import checklist
from erlbench.reporting.tables.checklist import TOTAL, compute_lines, hours, listed_cells, settings_table
from tests.reporting.make_runs import make_run, write_json, write_rows

HOUR = 3600.0


def edit(path: Path, **values: object) -> None:
    write_json(path, {**json.loads(path.read_text()), **values})


def runs_in(folder: Path):
    return find_runs([folder], lambda said: None)


def checklist_of(folder: Path) -> str:
    return markdown.document(checklist([], runs_in(folder), []))


def test_hours_are_those_of_finished_unfinished_and_moved_aside_runs(tmp_path):
    done = make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 1])
    failed = make_run(tmp_path, "Hopper-v5", "td3", 1, [0, 1], status="failed")
    aside = make_run(tmp_path / "before", "Hopper-v5", "td3", 0, [0, 1])
    for folder, seconds in ((done, 7200), (failed, 1800), (aside, 900)):
        edit(folder / "status.json", total_time_s=seconds)
    aside.rename(done.parent / "seed-000.old-1")
    *cells, total = compute_lines(listed_cells(everything(runs_in(tmp_path))), lambda run: run.machine.cpu)
    assert [(line.env, line.name, line.machines) for line in cells] == [("Hopper-v5", "td3", ("Test CPU",))]
    assert total.env == TOTAL
    for line in (*cells, total):
        found = [hours(times, "clock") for times in (line.counted, line.others, line.aside, line.all)]
        assert found == [2.0, 0.5, 0.25, 2.75]
        assert sum(not time.known for time in line.all) == 0


def test_pauses_are_no_computing_and_modelled_hours_are_none(tmp_path):
    run = make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 1])
    edit(run / "status.json", total_time_s=2 * HOUR)
    text = (run / "eval.csv").read_text().splitlines()
    place = text[0].split(",").index("paused_s")
    last = text[-1].split(",")
    last[place] = "3600.0"
    (run / "eval.csv").write_text("\n".join([*text[:-1], ",".join(last)]) + "\n")
    make_run(tmp_path, "Hopper-v5", "aes-rl", 0, [0, 1], simulated=True)
    modelled, measured = runs_in(tmp_path)
    assert time_of(measured).clock == 1.0
    found = time_of(modelled)
    assert math.isnan(found.clock)
    assert found.modelled > 0
    assert not found.known


def test_processor_hours_need_each_task_to_say_them(tmp_path):
    run = make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 1], simulated=True, tasks=[("es", 0, 0, 1800, 0)] * 2)
    (found,) = map(time_of, runs_in(tmp_path))
    assert (found.processor, found.known) == (1.0, True)
    write_rows(run, TaskRow, [])
    assert [time_of(one).known for one in runs_in(tmp_path)] == [False]


@pytest.mark.parametrize("name", ["../../../outside", "seed-000.old-1/../../elsewhere", "", "seed-001.old-1", 7, None])
def test_a_run_moved_aside_is_looked_for_beside_its_successor_alone(tmp_path, name):
    run = make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 1])
    for place in ("outside", "Hopper-v5/td3/seed-001.old-1"):
        other = tmp_path.parent / place if place == "outside" else tmp_path / place
        other.mkdir(parents=True, exist_ok=True)
        write_json(other / "status.json", {"total_time_s": 3600})
        (other / "config.toml").write_text("[run]\n")
    edit(run / "meta.json", repeats=[{"folder": name}])
    (found,) = runs_in(tmp_path)
    assert [time.known for time in times_aside(found)] == [False]


@pytest.mark.parametrize("value", ["soon", True, None, -5, [], {"a": 1}])
def test_a_total_time_that_is_none_is_unknown_and_not_zero(tmp_path, value):
    run = make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 1])
    edit(run / "status.json", total_time_s=value, train_time_s=math.nan)
    assert list(map(time_of, runs_in(tmp_path))) == [RunTime(modelled=math.nan)] or value == -5
    assert [time_of(one).known for one in runs_in(tmp_path)] == [False]


def test_settings_are_listed_once_with_who_chose_them(tmp_path):
    for env, value in (("Hopper-v5", 0.001), ("Walker2d-v5", 0.5)):
        run = make_run(tmp_path, env, "cem@paper", 0, [0, 1])
        text = (run / "config.toml").read_text().replace("initial_variance = 0.001", f"initial_variance = {value}")
        (run / "config.toml").write_text(text + "elites = 5\n")
    table = settings_table(runs_in(tmp_path))
    assert table is not None
    assert [(row.setting, row.value, row.environments) for row in table.rows] == [
        ("initial_variance", "0.001", ("Hopper-v5",)),
        ("initial_variance", "0.5", ("Walker2d-v5",)),
        ("elites", "5", ("Hopper-v5", "Walker2d-v5")),
    ]
    assert [row.typed for row in table.rows][1]


def test_command_lines_lose_home_folder_user_and_host(tmp_path, monkeypatch):
    monkeypatch.setattr("platform.node", lambda: "bigbox")
    monkeypatch.setenv("LOGNAME", "alice")
    run = make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 1])
    meta = json.loads((run / "meta.json").read_text())
    line = "erlbench run --out /home/janedoe/results --name alice@bigbox"
    write_json(run / "meta.json", {**meta, "starts": [{"command_line": line}]})
    assert "erlbench run --out ~/results --name user@host" in checklist_of(tmp_path)


def test_runs_without_files_have_unknowns_and_no_zeros(tmp_path):
    run = make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 1])
    for name in ("meta.json", "status.json", "tasks.csv"):
        (run / name).unlink()
    (run / "config.toml").write_text('[run]\nenv = "Hopper-v5"\nalgo = "td3"\nseed = 0\n')
    (found,) = runs_in(tmp_path)
    assert settings_table([found]) is None
    text = checklist_of(tmp_path)
    assert "1 of 1 runs record no settings" in text
    assert "No run records its command line" in text
    assert "Hours by the clock: " in text


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"[" * 5000, b'{"starts": [{"command_line": {"a": 1}}]}'])
def test_damaged_meta_and_tasks_end_no_checklist(tmp_path, damage):
    run = make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 1])
    (run / "meta.json").write_bytes(damage)
    (run / "tasks.csv").write_bytes(damage)
    make_run(tmp_path, "Hopper-v5", "td3", 1, [0, 1])
    assert "Compute resources" in checklist_of(tmp_path)


def test_text_of_a_run_is_no_markup(tmp_path):
    run = make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 1], cpu="<script>alert(1)</script>")
    edit(run / "meta.json", versions={"<b>x</b>": "1", "../numpy": "2"})
    out = tmp_path / "report"
    result = CliRunner().invoke(cli, ["report", str(tmp_path / "Hopper-v5"), "--checklist", "--out", str(out)])
    assert result.exit_code == 0, result.stderr
    assert "<script>alert(1)" not in (out / "index.html").read_text()


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
    assert CliRunner().invoke(cli, words).exit_code == 0  # the next report without it leaves none behind
    assert not (tmp_path / "report/checklist/index.md").exists()
