"""Cells as tasks of a Ray cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from erlbench.experiment.cells import RunOptions
from erlbench.launch.jobs import launch
from erlbench.launch.options import LaunchOptions
from tests.runs import all_rows, make_cell, run

pytestmark = pytest.mark.slow


def test_cells_on_a_cluster_give_the_rows_of_one_process(nodes, tmp_path):
    expected = [make_cell("cem", tmp_path / "serial", seed=seed) for seed in (0, 1, 2)]
    assert run(*expected) == 0
    cells = [make_cell("cem", tmp_path / "ray", seed=seed) for seed in (0, 1, 2)]
    options = RunOptions(1, device="cpu", command_line=("erlbench", "run"))
    assert launch(cells, options, LaunchOptions(nodes.kind, Path(tmp_path / "logs"))) == 0
    for one, other in zip(expected, cells):
        assert all_rows(one.directory) == all_rows(other.directory)
