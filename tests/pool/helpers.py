"""Tasks of the tests' functions, and their results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from erlbench.experiment.cells import RunOptions
from erlbench.machine.threads import ONE_THREAD
from erlbench.pool.base import Pool, make_pool
from erlbench.work.tasks import Task

FUNCTIONS = "tests.pool.functions:"


def open_pool(processes: int, **options: Any) -> Pool:
    """A pool of `processes` worker processes of this machine, to be closed; 0 runs the tasks in this process."""
    return make_pool(RunOptions(processes, **{"device": "cpu", **options}))


@contextmanager
def local_pool(processes: int, **options: Any) -> Iterator[Pool]:
    """As `open_pool`, closed at the end, and meanwhile with one thread."""
    with ONE_THREAD.hold(), closing(open_pool(processes, **options)) as pool:
        yield pool


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
