"""How many tasks go together: never so many that others could miss them."""

import re

import pytest

from erlbench.errors import TaskError
from erlbench.pool import local_pool
from erlbench.pool.processes import CHUNK, Durations, ProcessPool
from erlbench.work.tasks import Result, Task

from .helpers import results, task


def test_a_chunk_is_short_and_a_small_part_of_what_is_ready():
    short, durations = Task(1, "short", "m:f", (0,)), Durations()
    assert durations.chunk_size(short, 1000, 1) == 1
    for _ in range(50):
        durations.note(short, Result(1, {}, {}, 100.0, 100.001, 0))
    assert durations.chunk_size(short, 1000, 1) in (99, 100)  # of a thousandth of a second each
    assert durations.chunk_size(short, 160, 4) == 20
    durations.note(short, Result(1, {}, {}, 0.0, 10.0, 0))
    assert durations.chunk_size(short, 1000, 1) == 1
    for _ in range(80):
        durations.note(short, Result(1, {}, {}, 0.0, 0.001, 0))
    assert durations.chunk_size(short, 1000, 1) > 30


# -- in a pool of processes --------------------------------------------------------------------------------------------


def together(pool, monkeypatch):
    """Record how many tasks are sent at a time."""
    sent, send = [], ProcessPool._send

    def counted(pool, worker, tasks):
        sent.append(len(tasks))
        send(pool, worker, tasks)

    monkeypatch.setattr(ProcessPool, "_send", counted)
    return sent


@pytest.mark.parametrize("processes", [1, 2])
def test_short_tasks_go_together_in_order_and_long_ones_alone(processes, monkeypatch):
    with local_pool(processes) as pool:
        sent = together(pool, monkeypatch)
        pool.submit([task(index) for index in range(100)])
        found = results(pool, 100)
        assert sum(sent) == 100
        assert 4 < max(sent) <= 50 // processes
        assert sent[-2:] == [1, 1]  # the last ones are shared out
        if processes == 1:
            assert list(found) == list(range(100))
            assert all(found[index].end <= found[index + 1].start for index in range(99))
        sent.clear()
        pool.submit([task(index, "sleep", {"seconds": 0.6 * CHUNK}) for index in range(100, 112)])
        assert len(results(pool, 12)) == 12
        assert sent == [1] * 12


def test_the_task_that_ends_its_worker_is_told_from_those_sent_with_it(tmp_path):
    def some(first, count, deadly=None):
        return [
            task(i, "die", {"log": str(tmp_path / str(i)), "times": 99 if i == deadly else 0, "how": "signal"})
            for i in range(first, first + count)
        ]

    with local_pool(1) as pool:
        pool.submit(some(0, 20))
        results(pool, 20)
        pool.submit(some(20, 40, deadly=22))
        assert pool.running()[0].id == 20
        with pytest.raises(TaskError, match=r"task 22 \(test\) .*3 workers") as caught:
            results(pool, 40)
        assert caught.value.details.count("SIGKILL") == 3
        events = [event.message for event in pool.events()]
    assert re.match(r"task 20 \(test\) or one of the \d+ sent with it, worker process", events[0])
    assert ["task 22 (test), worker" in message for message in events] == [False, True, True]
    assert [(tmp_path / name).read_text() for name in ("20", "21", "22")] == ["xx", "xx", "xxx"]


def test_an_error_in_the_middle_is_that_tasks():
    with local_pool(1) as pool:
        pool.submit([task(index, "wrong", {"error": "none"}) for index in range(10)])
        results(pool, 10)
        pool.submit([task(i, "wrong", {"error": "task" if i == 23 else "none"}) for i in range(20, 60)])
        with pytest.raises(TaskError, match=r"task 23 \(test\)"):
            results(pool, 40)
        pool.reset()
        pool.submit([task(index, "wrong", {"error": "none"}) for index in range(10)])
        assert len(results(pool, 10)) == 10
