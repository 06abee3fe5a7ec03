"""The processor time of a task: what it computed, not how long it took."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from erlbench.pool import local_pool
from erlbench.work.tasks import Outcome, Task
from tests.runs import csv_rows, make_cell, run

SECONDS = 0.5


def works(settings, inputs, key, workspace):
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        pass
    return Outcome({})


def sleeps(settings, inputs, key, workspace):
    time.sleep(SECONDS)
    return Outcome({})


@pytest.mark.parametrize("processes", [0, 1])
@pytest.mark.parametrize(("function", "expected"), [("works", SECONDS), ("sleeps", 0.0)])
def test_a_task_has_the_processor_time_that_it_used(processes, function, expected):
    """Without worker processes the driver's other threads do not count."""
    done = threading.Event()

    def busy():
        while not done.is_set():
            pass

    with ThreadPoolExecutor(1) as other, local_pool(processes) as pool:
        other.submit(busy)
        for number in range(2):  # the first one imports this module
            pool.submit([Task(number, "test", f"tests.work.test_processor_time:{function}", ())])
            result = pool.next_result(30)
        done.set()
    assert result.cpu == pytest.approx(expected, abs=0.2)
    assert result.end - result.start >= SECONDS


def test_a_run_writes_it_for_each_task(tmp_path):
    cell = make_cell("cem", tmp_path, steps=300)
    assert run(cell) == 0
    rows = csv_rows(cell.directory / "tasks.csv")
    assert all(0 < float(row["cpu_s"]) <= float(row["end_s"]) - float(row["start_s"]) + 0.05 for row in rows)
