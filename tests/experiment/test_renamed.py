"""Files of older versions: their columns and settings under the names of today."""

from __future__ import annotations

import shutil
from pathlib import Path

import erlbench
from erlbench.verification import AGREES, load_files
from erlbench.verification.same import same
from tests.runs import make_cell, run

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
OLD = REFERENCE / "cem-swimmer" / "Swimmer-v5" / "cem" / "seed-000"


def test_old_columns_have_their_new_names_in_frames():
    assert "worker" in (OLD / "tasks.csv").read_text().partition("\n")[0]
    results = erlbench.load_results(OLD)
    for frame in (results.tasks, results.episodes):
        assert {"individual", "worker"} & set(frame) == {"individual"}
    assert sorted(results.episodes["individual"].unique()) == list(range(10))


def test_a_run_with_old_columns_equals_one_with_new_ones(tmp_path):
    cell = make_cell("cem", tmp_path, steps=300)
    assert run(cell) == 0
    old = Path(shutil.copytree(cell.directory, tmp_path / "old"))
    for name in ("tasks.csv", "episodes.csv"):
        text = (old / name).read_text()
        assert text.count("individual") == 1
        (old / name).write_text(text.replace("individual", "worker"))
    assert {check.outcome for check in same(load_files(old), load_files(cell.directory))} == {AGREES}
