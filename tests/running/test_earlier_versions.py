"""Runs that commit 772e070 (version 0.1.0, checkpoints of format 2) began and interrupted, under the code of today."""

from __future__ import annotations

import dataclasses
import json
import tarfile
from pathlib import Path

import pytest

from erlbench.errors import UsageError
from erlbench.experiment.arguments import arguments
from erlbench.experiment.command import requested_cells
from erlbench.machine import kernel
from erlbench.running.checkpoint import FORMAT
from erlbench.verification import AGREES, DIFFERS, verify
from tests.runs import all_rows, csv_rows, run

ARCHIVE = Path(__file__).parent / "interrupted-772e070.tar.gz"


def begun(kind: str, algo: str, folder: Path):
    """The cell of a run of the archive, whose folder lies where the cell looks for it."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    (cell,) = requested_cells(
        arguments({"config": str(folder / kind / algo / "seed-000" / "config.toml"), "out": str(folder)})
    )
    cell.directory.parent.parent.mkdir()
    (folder / kind / algo).rename(cell.directory.parent)
    return cell


@pytest.mark.parametrize(("algo", "processes"), [("cem", 0), pytest.param("aes-rl", 2, marks=pytest.mark.slow)])
def test_a_run_on_the_clock_continues(tmp_path, algo, processes):
    cell = begun("clock", algo, tmp_path)
    before = {name: (cell.directory / name).read_text() for name in ("eval.csv", "tasks.csv")}
    header = before["tasks.csv"].partition("\n")[0]
    assert run(cell, processes=processes, anyway=True) == 0
    assert (cell.directory / "tasks.csv").read_text().partition("\n")[0] == header  # its files keep their columns
    assert {len(row) for row in csv_rows(cell.directory / "tasks.csv")} == {len(header.split(","))}
    starts = json.loads((cell.directory / "meta.json").read_text())["starts"]
    assert [start.get("format") for start in starts] == [None, FORMAT]
    assert DIFFERS not in {check.outcome for check in verify(cell.directory)}


def test_a_synchronous_run_has_the_numbers_of_a_whole_one(tmp_path):
    cell = begun("clock", "cem", tmp_path)
    before = json.loads((cell.directory / "meta.json").read_text())
    if kernel.in_words(before, learns=False) != kernel.in_words(kernel.describe(), learns=False):
        pytest.skip("the run was begun on a processor with other arithmetic")
    whole = dataclasses.replace(cell, out=tmp_path / "whole")
    assert run(cell) == run(whole) == 0
    old, new = all_rows(cell.directory), all_rows(whole.directory)
    for name, rows in old.items():
        assert rows == [{column: row[column] for column in rows[0]} for row in new[name]]


def test_only_a_run_in_simulated_time_is_refused(tmp_path):
    cell = begun("simulated", "cem", tmp_path)
    before = {path: path.read_bytes() for path in cell.directory.rglob("*.*") if path.is_file()}
    with pytest.raises(UsageError, match="format 2"):
        run(cell, anyway=True)
    assert {path: path.read_bytes() for path in before} == before


def test_an_unknown_format_is_refused(tmp_path):
    cell = begun("clock", "cem", tmp_path)
    for state in cell.directory.glob("checkpoint/*/state.json"):
        state.write_bytes(state.read_bytes().replace(b'{"format": 2,', b'{"format": 9,'))
    with pytest.raises(UsageError, match="format 9"):
        run(cell, anyway=True)
    assert AGREES not in {check.outcome for check in verify(cell.directory) if check.name == "status"}
