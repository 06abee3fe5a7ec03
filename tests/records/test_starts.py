"""The starts that a run's meta.json lists, by one rule for every reader."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from erlbench.records.run import starts
from erlbench.reporting.runs import parse_machine
from erlbench.verification import DIFFERS, load_files
from erlbench.verification.files import check_files

ROOT = Path(__file__).parents[2]
WHOLE = {"started": "2024-01-01T00:00:00+00:00", "cpu": "a"}


def test_damaged_starts_hide_no_whole_one():
    meta = {"starts": [True, WHOLE, None]}
    assert starts(meta) == [WHOLE]
    assert parse_machine(meta)["cpu"] == "a"


def test_verify_reads_a_run_whose_starts_are_no_list(tmp_path):
    stored = next((ROOT / "results/reference/mujoco-4").rglob("status.json")).parent
    shutil.copytree(stored, tmp_path / "run")
    (tmp_path / "run" / "meta.json").write_text(json.dumps({"starts": True}))
    files = load_files(tmp_path / "run")
    assert files.starts == []
    assert {check.outcome for check in check_files(files) if check.name == "version"} == {DIFFERS}
