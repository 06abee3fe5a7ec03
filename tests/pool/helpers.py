"""Tasks of the tests' functions, their results, and whether processes have ended."""

from __future__ import annotations

import time

import psutil

from erlbench.work.tasks import Task

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
    """Whether all processes end within some seconds; a zombie that nobody reaps has ended."""
    end = time.monotonic() + seconds
    while True:
        alive = [pid for pid in pids if psutil.pid_exists(pid)]
        try:
            if all(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE for pid in alive):
                return True
        except psutil.NoSuchProcess:
            continue
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
