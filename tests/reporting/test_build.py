from __future__ import annotations

import csv
import math
import re
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from erlbench.errors import UsageError
from erlbench.reporting import build_report
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.score import Moment
from tests.reporting.compare import page_of, pairs_of
from tests.reporting.make_runs import learning_curve, make_run, make_tasks
from tests.reporting.make_studies import make_study


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def interrupted(*_):
    raise KeyboardInterrupt


def test_a_report_replaces_its_own_files_and_touches_no_folder_of_others(tmp_path, monkeypatch):
    """Once a user's own index.md was overwritten; and a report that was cut off can be written again."""
    make_run(tmp_path / "results", "Ant-v5", "cem", 0, [0, 1])
    out = tmp_path / "report"
    build_report([tmp_path / "results"], out, {}, None, lambda _: None, ReportOptions(reach=(0.5,)))
    assert (out / "all-runs" / "reach.csv").is_file()
    (out / "all-runs" / "notes.txt").write_text("mine")
    assert read(out / "all-runs" / "notes.txt") == "mine"
    assert (out / "all-runs" / "scores.csv").is_file()
    build_report([tmp_path / "results"], out, {}, None, lambda _: None, ReportOptions(formats=("pdf", "svg")))
    assert {path.suffix for path in (out / "all-runs").glob("curves-*")} == {".pdf", ".svg"}
    monkeypatch.setattr("erlbench.reporting.write_index", interrupted)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            build_report([tmp_path / "results"], tmp_path / "cut", {}, None, lambda _: None)
    before = {path: path.read_bytes() for path in (tmp_path / "results").rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match=re.escape(str(tmp_path / "results"))):
        build_report([tmp_path / "results"], tmp_path / "results", {}, None, lambda _: None)
    assert {path: path.read_bytes() for path in (tmp_path / "results").rglob("*") if path.is_file()} == before


def test_a_report_after_some_steps_has_one_table_for_all_budgets(tmp_path):
    tasks = make_tasks(0, "synchronous", 5, 3)
    make_run(tmp_path / "results", "Ant-v5", "cem", 0, [0, 1, 2], tasks=tasks)
    make_run(tmp_path / "results", "Ant-v5", "td3", 0, [0, 10, 20, 30, 40], tasks=tasks)
    build_report([tmp_path / "results"], tmp_path / "report", {}, None, lambda _: None, ReportOptions(at=Moment(2000)))
    page = read(tmp_path / "report" / "all-runs" / "index.md")
    assert "(the nearest evaluations: 2,000 to 2,000)" in page
    scores = pd.read_csv(tmp_path / "report" / "all-runs" / "scores.csv")
    assert [*zip(scores.name, scores.total_timesteps, scores["mean"], strict=True)] == [
        ("cem", 2000, 2.0),
        ("td3", 2000, 20.0),
    ]
    written = {path.name for path in (tmp_path / "report" / "all-runs").iterdir()}
    assert not [name for name in written if name.endswith(".png")]  # none was asked for
    assert not [name for name in written if name.startswith(("times", "timeline", "utilisation"))]  # of whole runs


def test_a_whole_report(tmp_path):
    results, out, warnings = tmp_path / "results", tmp_path / "report", []
    for seed in range(3):
        tasks = make_tasks(seed, "synchronous", 5, 3)
        make_run(results, "HalfCheetah-v5", "cem-rl", seed, [0, 1, 2 + seed], tasks=tasks)
    make_run(results, "HalfCheetah-v5", "aes-rl", 0, [0, 1], total=2000, status="failed", message="bad | luck")
    path = make_run(results, "Pendulum-v1", "cem", 0, [-5, -4], tasks=make_tasks(0, "serial", 1, 2))
    (path / "meta.json").write_text(read(path / "meta.json").replace("command_line", "other"))
    studies = {
        "study": make_study(), "times": make_study("time", "Table 1", name="times"),
        "lanes": make_study("timeline", "Figure 1", name="lanes"), "curves": make_study("curves", "", name="curves"),
        "never": make_study(name="never", entries=()),
    }  # fmt: skip
    index = build_report([results], out, studies, None, warnings.append, ReportOptions(formats=("png",)))
    assert index == out / "index.html"
    text = read(out / "index.md")
    assert "5 runs: 4 done, 1 failed." in text
    assert "| [study](study/index.md) | A study | short | 3/12 |" in text
    assert "never" not in text  # a study that nobody ran is not listed
    assert "[all-runs](all-runs/index.md)" in text
    assert r"failed, 1,000 of 2,000 steps (bad \| luck), last update 2025-01-03" in text
    assert "erlbench run cem-rl HalfCheetah-v5 --seed 2" in text
    assert "(each run's last start), from meta.json; 1 run has none:" in text
    assert "Python 3.11.9, erlbench 0.1.0, torch 2.4.0, commit 0123456789ab" in text
    assert [str(warning).rpartition("/")[2] for warning in warnings] == ["tasks.csv: no task yet"]
    assert r"tasks.csv: no task yet" in text
    cells = list(csv.DictReader((out / "cells.csv").open()))
    assert [cell["status"] for cell in cells] == ["failed", "done", "done", "done", "done"]
    assert cells[1]["studies"] == "study times lanes curves"
    for page, stem in (
        ("study", "curves-HalfCheetah-v5"), ("times", "timeline-HalfCheetah-v5"), ("lanes", "timeline-HalfCheetah-v5"),
        ("curves", "curves-HalfCheetah-v5"), ("all-runs", "timeline-Pendulum-v1-1000"),
    ):  # fmt: skip
        assert (out / page / f"{stem}.png").stat().st_size > 5000
        assert f"({stem}.png)" in read(out / page / "index.md")
    for page in out.glob("*/index.md"):
        captions = [line for line in read(page).splitlines() if "Files: [png]" in line]
        assert [caption for caption in captions if len(caption.partition(" Files:")[0]) > 3 * 120] == []
    assert {path.name for path in (out / "times").glob("times.*")} == {"times.md", "times.csv"}
    assert "Published final values are left out" in read(out / "study" / "index.md")


def test_every_link_of_a_report_leads_somewhere(tmp_path):
    make_run(tmp_path / "results", "Pendulum-v1", "cem", 0, [1, 2], tasks=make_tasks(0, "serial", 1, 2))
    out = build_report([tmp_path / "results"], tmp_path / "out", {"study": make_study()}, None, pytest.fail).parent
    for page in out.rglob("index.md"):
        links = [part.split(")")[0] for part in read(page).split("](")[1:]]
        assert links
        assert [link for link in links if not (page.parent / link.partition("#")[0]).exists()] == []


def test_a_study_that_was_not_run_is_not_listed(tmp_path):
    def pages(folder: Path, **options: bool) -> list[str]:
        out, warnings = tmp_path / f"{folder.name}-{len(options)}", []
        build_report([folder], out, {"study": make_study()}, None, warnings.append, **options)
        return [path.parent.name for path in sorted(out.glob("*/index.md"))]

    half, whole, begun = (tmp_path / name for name in ("half", "whole", "begun"))
    for seed in range(3):  # one of the study's four cells, run for itself
        make_run(half, "HalfCheetah-v5", "cem-rl", seed, [0, 1, 2])
    assert pages(half) == ["all-runs"]
    assert pages(half, named=True) == ["all-runs", "study"]
    for name in ("cem-rl", "aes-rl"):  # all that one environment's row compares
        make_run(whole, "HalfCheetah-v5", name, 0, [0, 1, 2])
    assert pages(whole) == ["all-runs", "study"]
    make_run(begun, "HalfCheetah-v5", "cem-rl", 0, [0, 1, 2], studies=["study", "other"])
    assert pages(begun) == ["all-runs", "study"]


def test_a_study_that_was_asked_for_and_has_no_run_is_told(tmp_path):
    make_run(tmp_path / "in", "Ant-v5", "cem", 0, [0, 1])
    warnings = []
    build_report([tmp_path / "in"], tmp_path / "out", {"study": make_study()}, None, warnings.append, named=True)
    none = "no run belongs to the study 'study'; it has no page"
    assert none in warnings
    warnings.clear()
    build_report([tmp_path / "in"], tmp_path / "out", {"study": make_study()}, None, warnings.append)
    assert none not in warnings


def test_the_page_loads_nothing_from_elsewhere(tmp_path):
    make_run(tmp_path / "results", "Ant-v5", "cem", 0, [0, 1], tasks=make_tasks(0, "serial", 1, 2))
    page = read(build_report([tmp_path / "results"], tmp_path / "out", {}, None, pytest.fail))
    assert "<script" in page
    assert re.findall(r"<(?:script|link|img|iframe)[^>]*\b(?:src|href)=(?!\"?data:)[^ >]*", page) == []
    assert re.findall(r"@import|url\((?!\"?(?:data:|#))", page.partition("</style>")[0]) == []


def test_the_same_results_give_the_same_bytes(tmp_path):
    for seed in range(5):
        returns, tasks = learning_curve(seed, 100, 20), make_tasks(seed, "asynchronous", 5, 2)
        make_run(tmp_path / "results", "Ant-v5", "cem", seed, returns, tasks=tasks)
    first, second = (
        build_report([tmp_path / "results"], tmp_path / name, {}, None, pytest.fail).parent for name in "ab"
    )
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert len(files) > 10
    assert [file for file in files if (first / file).read_bytes() != (second / file).read_bytes()] == []


def test_broken_runs_never_stop_the_report(tmp_path):
    results, warnings = tmp_path / "results", []
    spoil = {0: ("eval.csv", ""), 1: ("eval.csv", "timesteps"), 2: ("status.json", "{"), 3: ("tasks.csv", "\x00\xff")}
    for seed, (name, content) in spoil.items():
        (make_run(results, "Ant-v5", "cem", seed, [1, 2, 3]) / name).write_text(content)
    (make_run(results, "Ant-v5", "cem", 4, [1, 2, 3]) / "meta.json").unlink()
    (results / "Ant-v5" / "cem" / "seed-005").mkdir()
    index = build_report([results], tmp_path / "report", {}, None, warnings.append)
    for path in ("seed-000/eval.csv", "seed-001/eval.csv", "seed-002/status.json", "seed-004/meta.json", "seed-005"):
        assert [warning for warning in warnings if path in str(warning)], path
    assert "| Ant-v5, 2k steps | cem | 2/5 | 3.00 |" in read(index.parent / "all-runs" / "index.md")


def test_nothing_of_the_run_side_is_imported():
    code = (
        "import sys, erlbench.reporting; "
        "print([m for m in ('torch', 'gymnasium', 'mujoco', 'matplotlib', 'erlbench.running.loop', "
        "'erlbench.pool', 'erlbench.running.command', 'erlbench.running.folder', 'erlbench.algorithms') "
        "if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_report_imports_no_algorithm(tmp_path):
    for name in ("td3", "cem-rl"):
        make_run(tmp_path / "results", "Ant-v5", name, 0, [0, 1])
    code = (
        "import sys; from pathlib import Path; from erlbench.reporting import build_report; "
        "build_report([Path('results')], Path('out'), {}, None); "
        "print([m for m in sys.modules if m.startswith(('erlbench.algorithms', 'torch', 'gymnasium'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_a_thousand_runs_take_seconds_and_less_than_five_megabytes(tmp_path):
    for name in range(10):
        for env in range(10):
            for seed in range(10):
                returns = learning_curve(100 * name + 10 * env + seed, 100, 60)
                make_run(
                    tmp_path / "results", f"Env{env}-v5", f"algo{name}", seed, returns, seconds_per_step=0.01 + seed
                )
    begin = time.process_time()
    index = build_report([tmp_path / "results"], tmp_path / "report", {}, None, lambda warning: None)
    assert time.process_time() - begin < 20
    assert index.stat().st_size < 5e6


def test_two_hundred_thousand_damaged_rows_cost_seconds(tmp_path):
    """The first are named and the rest is counted."""
    run = make_run(tmp_path / "results", "Pendulum-v1", "cem", 0, [-5, -4])
    with open(run / "eval.csv", "a") as file:
        file.writelines(f"{row}\n" for row in range(200_000))
    warnings, began = [], time.process_time()
    build_report([tmp_path / "results"], tmp_path / "report", {}, None, warnings.append)
    assert len(warnings) <= 10
    assert time.process_time() - began < 60


def test_a_baseline_that_the_first_environment_lacks(tmp_path):
    make_run(tmp_path / "in", "Ant-v5", "cem", 0, [0, 1.0])
    for env in ("Hopper-v5", "Swimmer-v5"):
        for name in ("cem", "td3"):
            make_run(tmp_path / "in", env, name, 0, [0, 100.0])
    build_report([tmp_path / "in"], tmp_path / "out", {}, None, [].append, ReportOptions(baseline="td3"))
    scores = pd.read_csv(tmp_path / "out" / "all-runs" / "scores.csv").set_index(["env", "name"])["improvement_pct"]
    assert scores.dropna().to_dict() == {("Hopper-v5", "cem"): 0.0, ("Swimmer-v5", "cem"): 0.0}


def test_final_ten_is_tested_with_five_scores_a_side_only(tmp_path):
    """A run with fewer than ten evaluations is done, but has no such score."""
    for name in ("a", "b"):
        for seed in range(5):
            returns = [100 * i + seed * (1 + (name == "b")) for i in range(12 if seed < 2 else 5)]
            make_run(tmp_path, "Hopper-v5", name, seed, returns, total=20000)
    (pair,) = pairs_of(page_of(tmp_path, metric="final-10"))
    assert (pair.n, pair.n_against) == (2, 2)
    assert math.isnan(pair.p_rank)
