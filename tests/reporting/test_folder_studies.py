"""Studies of folders of results: study.toml."""

from __future__ import annotations

from erlbench.reporting import requested_report
from erlbench.reporting.options import ReportOptions
from tests.reporting.make_runs import make_run

STUDY = """[studies.{name}]
title = "{name}"
envs = ["Ant-v5"]
seeds = 1
total_timesteps = 2000
entries = [{{ algo = "cem" }}]
"""


def test_a_study_whose_runs_all_repeat_another_folders_has_a_page_without_runs(tmp_path):
    for name in ("first", "second"):
        make_run(tmp_path / name, "Ant-v5", "cem", 0, [0, 4, 8])
        (tmp_path / name / "study.toml").write_text(STUDY.format(name=name))
    warnings = []
    folders = (tmp_path / "first", tmp_path / "second")
    index, _ = requested_report(ReportOptions(results=folders, out=tmp_path / "out"), warnings.append)
    assert [text for text in warnings if ": repeats seed 0 of " in text]
    assert {page.parent.name for page in index.parent.glob("*/index.md")} == {"first", "second", "all-runs"}
