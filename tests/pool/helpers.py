"""Tasks of the tests' functions, their results, and whether processes have ended."""

from __future__ import annotations

import time

from erlbench.work.tasks import Task
from tests.processes import alive

FUNCTIONS = "tests.pool.functions:"


def task(task_id, function="draw", settings=None, **more):
    return Task(task_id, "test", FUNCTIONS + function, (7, task_id), settings or {}, **more)


def results(pool, count):
    found = {}
    while len(found) < count:
        result = pool.next_result(30)
        assert result is not None
        found[result.task] = result
    return found


def one(pool, task):
    pool.submit([task])
    return results(pool, 1)[task.id]


def gone(pids, seconds):
    """Whether all processes end within some seconds."""
    end = time.monotonic() + seconds
    while alive(pids) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(pids)
