"""Every synchronous algorithm writes the same rows on two nodes as in one process."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from erlbench.experiment.cells import RunOptions
from erlbench.running.cell import CellRunner, CommandContext
from erlbench.running.progress import Display
from tests.runs import SYNCHRONOUS, all_rows, make_cell, run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """algorithm -> the rows of a run in this process."""
    known: dict[str, dict] = {}

    def found(algo: str, **changes):
        if algo not in known:
            cell = make_cell(algo, tmp_path_factory.mktemp(algo), **changes)
            assert run(cell) == 0
            known[algo] = all_rows(cell.directory)
        return known[algo]

    return found


@pytest.fixture(scope="module")
def runner(nodes):
    """One that keeps its pool on both nodes from cell to cell."""
    options = RunOptions(1, verbosity=-1, device="cpu", pool=nodes.kind)
    context = CommandContext(options=options, display=Display(-1), stop=threading.Event())
    with closing(context.pauses), closing(CellRunner(context)) as made:
        yield made


@pytest.mark.parametrize("algo", SYNCHRONOUS)
def test_two_nodes_give_the_rows_of_one_process(algo, serial, runner, tmp_path):
    cell = make_cell(algo, tmp_path)
    assert runner.run(cell) == "done"
    assert all_rows(cell.directory) == serial(algo)


def test_tasks_wait_for_others_on_two_nodes_too(runner, tmp_path):
    here, there = (make_cell("p-cem-rl", tmp_path / name, settings={"barriers": True}) for name in ("here", "there"))
    assert run(here) == 0
    assert runner.run(there) == "done"
    assert all_rows(there.directory) == all_rows(here.directory)
