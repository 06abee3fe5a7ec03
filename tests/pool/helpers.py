"""Tasks of the tests' functions, and their results."""

from __future__ import annotations

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
