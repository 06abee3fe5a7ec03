"""The rows of a run are those of one process, whatever becomes of the nodes."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.processes import lines, wait_for
from tests.runs import check_same_as_whole, complete, csv_rows, make_cell

pytestmark = pytest.mark.slow


def test_asynchronous_in_simulated_time_too(nodes, tmp_path):
    check_same_as_whole(complete(make_cell("aes-rl", tmp_path, simulated_time=True), pool=nodes.kind))


def test_a_node_that_dies_changes_no_row(nodes, tmp_path):
    """One node of three is killed under way."""
    cell, victim = make_cell("cem-rl", tmp_path, steps=3000), nodes.add()
    with ThreadPoolExecutor(1) as executor:
        ended = executor.submit(complete, cell, pool=nodes.kind)
        wait_for(lambda: lines(cell.directory / "tasks.csv") > 30, 120)
        nodes.kill(victim)
        check_same_as_whole(ended.result())
    events = [row["event"] for row in csv_rows(cell.directory / "events.csv")]
    assert (events.count("node joined"), events.count("node lost")) == (3, 1)
