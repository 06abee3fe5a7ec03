"""A whole report: its files, its folder, and what it does with studies, damaged runs and the files of others."""

import errno
import json
import os
import re
from unittest.mock import Mock

import pandas as pd
import pytest

from erlbench.reporting import MARKER
from erlbench.reporting.score import Moment
from tests.calls import call, python
from tests.files import contents
from tests.reporting.compare import read, write_report
from tests.reporting.make_runs import make_run, make_tasks
from tests.reporting.make_studies import make_study

STUDIES = {
    "study": make_study(), "times": make_study("time", "Table 1", name="times"),
    "lanes": make_study("timeline", "Figure 1", name="lanes"), "curves": make_study("curves", "", name="curves"),
    "never": make_study(name="never", entries=()),
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A report with studies, a failed run, tasks and pictures; and what was said."""
    results, warnings = tmp_path_factory.mktemp("whole") / "results", []
    for seed in range(3):
        make_run(results, "HalfCheetah-v5", "cem-rl", seed, [0, 1, 2 + seed], tasks=make_tasks(5, 60))
    make_run(results, "HalfCheetah-v5", "aes-rl", 0, [0, 1], total=2000, status="failed", message="bad | luck")
    path = make_run(results, "Pendulum-v1", "cem", 0, [-5, -4], tasks=make_tasks(1, 20))
    (path / "meta.json").write_text(read(path / "meta.json").replace("command_line", "other"))
    return write_report(results, warnings.append, studies=STUDIES, formats=("png",)), warnings


def test_a_whole_report(whole):
    out, warnings = whole
    assert "never" not in read(out / "index.md")  # a study that nobody ran is not listed
    assert [warning.rpartition("/")[2] for warning in warnings] == ["tasks.csv: no task yet"]
    cells = pd.read_csv(out / "cells.csv")
    assert [*cells.status] == ["failed", "done", "done", "done", "done"]
    assert cells.studies[1] == "study times lanes curves"
    for page in ("study", "curves"):
        assert (out / page / "curves-HalfCheetah-v5.png").stat().st_size > 5000
    for chart in (
        "times-timeline-HalfCheetah-v5",
        "lanes-timeline-HalfCheetah-v5",
        "all-runs-timeline-Pendulum-v1-1000",
    ):
        assert f'id="{chart}-chart"' in read(out / "index.html")


def test_links_lead_somewhere_and_the_page_loads_nothing_from_elsewhere(whole):
    out, _ = whole
    for page in out.rglob("index.md"):
        links = [part.split(")")[0] for part in read(page).split("](")[1:]]
        assert links
        assert [link for link in links if not (page.parent / link.partition("#")[0]).exists()] == []
    page = read(out / "index.html")
    assert "<script" in page
    assert re.findall(r"<(?:script|link|img|iframe)[^>]*\b(?:src|href)=(?!\"?data:)[^ >]*", page) == []
    assert re.findall(r"@import|url\((?!\"?(?:data:|#))", page.partition("</style>")[0]) == []


def test_the_same_results_give_the_same_bytes(whole, tmp_path):
    out, _ = whole
    again = write_report(out.parent / "results", out=tmp_path, studies=STUDIES, formats=("png",))
    assert len(contents(out)) > 30
    assert contents(again) == contents(out)


@pytest.fixture
def results(tmp_path):
    make_run(tmp_path / "results", "Ant-v5", "cem", 0, [0, 1])
    return tmp_path / "results"


def test_a_report_replaces_its_own_files(results):
    pages = write_report(results, reach=(0.5,)) / "all-runs"
    assert (pages / "reach.csv").is_file()
    (pages / "notes.txt").write_text("mine")
    write_report(results, formats=("pdf", "svg"))
    assert read(pages / "notes.txt") == "mine"
    assert {path.suffix for path in pages.glob("curves-*")} == {".pdf", ".svg"}


def test_no_file_of_others_is_removed_and_no_link_followed(results):
    """Once a user's own index.md was overwritten."""
    out, thesis = results.parent / "report", results.parent / "thesis.tex"
    out.mkdir()
    for path in (thesis, out / "thesis.tex"):
        path.write_text("thesis")
    before = contents(results)
    for folder, words in ((out, "holds other files and no report"), (results, str(results))):
        refused = call("report", results, "--out", folder)
        assert refused.exit_code == 2
        assert words.replace(" ", "") in "".join(refused.output.split())
    assert contents(results) == before
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]
    (out / MARKER).write_text("../thesis.tex\nthesis.tex\n")  # a stranger's marker names no file to remove
    write_report(results)
    for name, target in (("index.html", thesis), (MARKER, thesis), ("cells.csv", thesis), ("a-folder", results)):
        path = write_report(results, out=results.parent / f"linked-{name}") / name
        path.unlink(missing_ok=True)
        path.symlink_to(target)
        refused = call("report", results, "--out", path.parent)
        assert refused.exit_code == 2
        assert path.is_symlink()
        assert str(path) in "".join(refused.output.split("\n"))
    assert read(out / "thesis.tex") == read(thesis) == "thesis"


def test_a_report_after_some_steps_has_one_table_for_all_budgets(tmp_path):
    tasks = make_tasks(5, 20)
    make_run(tmp_path / "results", "Ant-v5", "cem", 0, [0, 1, 2], tasks=tasks)
    make_run(tmp_path / "results", "Ant-v5", "td3", 0, [0, 10, 20, 30, 40], tasks=tasks)
    make_run(tmp_path / "results", "Ant-v5", "td3", 1, [0, 10])  # ends before
    page = write_report(tmp_path / "results", lambda _: None, at=Moment(2000)) / "all-runs"
    scores = pd.read_csv(page / "scores.csv")
    assert scores[["name", "total_timesteps", "mean"]].values.tolist() == [["cem", 2000, 2.0], ["td3", 2000, 20.0]]
    whole_runs = ("times", "timeline", "utilisation")
    assert not [path for path in page.iterdir() if path.name.startswith(whole_runs) or path.suffix == ".png"]


@pytest.mark.parametrize(
    ("names", "returns", "marks", "pages"),
    [
        (("cem",), 1, {}, (0, 0)),
        (("cem-rl",), 3, {}, (0, 1)),  # a cell of the study, run for itself
        (("cem-rl", "aes-rl"), 3, {}, (1, 1)),  # all that one environment's row compares
        (("cem-rl",), 3, {"studies": ["study", "other"]}, (1, 1)),
    ],
)
def test_a_study_that_was_not_run_has_no_page_unless_it_is_named(tmp_path, names, returns, marks, pages):
    for name in names:
        make_run(tmp_path / "runs", "HalfCheetah-v5", name, 0, range(returns), starts=[marks])
    for named, page in zip((False, True), pages, strict=True):
        warnings = []
        out = tmp_path / str(named)
        write_report(tmp_path / "runs", warnings.append, out=out, studies={"study": make_study()}, named=named)
        assert (out / "study").exists() == page
        assert ("no run belongs to the study 'study'; it has no page" in warnings) == (named and not page)


def test_the_name_of_a_folder_need_not_be_text(tmp_path):
    results = tmp_path / os.fsdecode(b"\xffresults")
    for seed in range(3):
        make_run(results, "Hopper-v5", "td3", seed, [1.0, 2.0])
    (results / "Hopper-v5/td3/seed-002/eval.csv").write_text("")
    write_report(results, lambda text: None, out=tmp_path / "report")
    assert "results/Hopper-v5/td3/seed-001" in (tmp_path / "report/cells.csv").read_text()


def test_a_report_imports_nothing_of_the_run_side(results):
    code = (
        "import sys; from pathlib import Path; from erlbench.reporting import build_report; "
        "from erlbench.reporting.options import ReportOptions; "
        "build_report(ReportOptions(results=(Path('results'),), out=Path('out')), {}); "
        "print([m for m in sys.modules if m.startswith(('torch', 'gymnasium', 'mujoco', 'matplotlib', 'erlbench.pool', "
        "'erlbench.running.loop', 'erlbench.running.command', 'erlbench.running.folder', 'erlbench.algorithms'))])"
    )
    done = python("-c", code, cwd=results.parent, check=True)
    assert done.stdout == "[]\n"


def test_a_report_that_cannot_be_finished_leaves_the_earlier_one_as_it_is(results, monkeypatch):
    whole, cut = write_report(results), results.parent / "cut"
    before = contents(whole)

    full = OSError(errno.ENOSPC, "no space left")
    monkeypatch.setattr("erlbench.reporting.write_index", Mock(side_effect=full))
    for out in (whole, cut, cut):  # what it leaves of a new folder is no file of others
        refused = call("report", results, "--out", out, "--metric", "final-10")
        assert refused.exit_code == 1
        assert "disk is full" in refused.output
    assert contents(whole) == before
    assert [*contents(cut)] == [MARKER]


def test_returns_beyond_all_bounds_leave_the_charts_of_others(results):
    for seed in range(2):
        make_run(results, "Huge-v5", "cem", seed, [0, 1e308])
    page = read(write_report(results) / "index.html")
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    json.loads(data, parse_constant=pytest.fail)  # Infinity and NaN are no JSON
