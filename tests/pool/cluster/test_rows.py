"""The rows of a run do not depend on where its tasks ran: this process, processes, one node or several."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from erlbench.algorithms import registry
from tests.processes import lines, wait_for
from tests.runs import all_rows, csv_rows, make_cell, run

pytestmark = pytest.mark.slow


def test_asynchronous_in_simulated_time_too(nodes, tmp_path):
    expected = make_cell("aes-rl", tmp_path / "serial", simulated_time=True)
    assert run(expected) == 0
    for place, options in {"processes": {"processes": 2}, "nodes": {"pool": nodes.kind}}.items():
        cell = make_cell("aes-rl", tmp_path / place, simulated_time=True)
        assert run(cell, **options) == 0
        assert all_rows(cell.directory) == all_rows(expected.directory), place


def test_a_node_that_dies_and_one_that_joins_change_no_row(nodes, tmp_path):
    """One node of three is killed under way, and another one is added."""
    steps = 6000
    expected = make_cell("cem-rl", tmp_path / "serial", steps=steps)
    assert run(expected) == 0
    victim, codes = nodes.add(), []
    cell = make_cell("cem-rl", tmp_path / "nodes", steps=steps)
    thread = threading.Thread(target=lambda: codes.append(run(cell, pool=nodes.kind)))
    thread.start()
    wait_for(lambda: lines(cell.directory / "tasks.csv") > 30, 120)
    nodes.kill(victim)
    added = nodes.add()
    thread.join()
    nodes.kill(added)
    assert codes == [0]
    assert all_rows(cell.directory) == all_rows(expected.directory)
    events = [line.split(",")[1] for line in (cell.directory / "events.csv").read_text().splitlines()]
    assert events.count("node joined") >= 3
    assert "node lost" in events


def test_a_wide_search_waits_on_many_processes_at_once(nodes, tmp_path):
    """40 sleeping episodes of a quarter of a second on two nodes with 10 processes each."""
    wide = [nodes.add(cores=10) for _ in range(2)]
    settings = {"population": 40, "hidden": (4,)}
    cell = make_cell(
        "openai-es", tmp_path, env="erlbench/Latency-v0", steps=40 * 250, settings=settings, eval_freq=10**6,
        eval_episodes=1, final_episodes=1, evaluate="after",
        env_settings={"mean_length": 250, "seconds_per_step": 1e-3, "observation_size": 3, "action_size": 1},
    )  # fmt: skip
    assert run(cell, pool=nodes.kind) == 0
    for node in wide:
        nodes.kill(node)
    tasks = [row for row in csv_rows(cell.directory / "tasks.csv") if row["kind"] == "es"]
    starts, ends = (np.array([float(row[name]) for row in tasks]) for name in ("start_s", "end_s"))
    assert len(tasks) == 40
    assert (ends - starts).sum() / (ends.max() - starts.min()) > 4, "tasks under way at once, on average"
    assert registry.find("openai-es").is_synchronous(cell.settings)
