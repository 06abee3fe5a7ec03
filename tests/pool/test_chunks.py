"""How many tasks go together: never so many that others could miss them."""

import re

import pytest

from erlbench.errors import TaskError
from erlbench.pool import local_pool
from erlbench.pool.chunks import GRAIN, Chunks
from erlbench.pool.handle import WorkerProcess
from erlbench.pool.messages import tasks_in
from erlbench.work.tasks import Result, Task

from .helpers import results, task

SHORT, LONG = Task(1, "short", "m:f", (0,)), Task(2, "long", "m:f", (0,))


def chunks(processes, **seconds):
    found = Chunks(processes)
    for known in (SHORT, LONG):
        for _ in range(50):
            found.durations.note(known, Result(known.id, {}, {}, 100.0, 100.0 + seconds[known.kind], 0))
    return found


def test_long_tasks_and_unknown_ones_go_alone():
    assert Chunks(1).size(SHORT, 1000) == 1
    found = chunks(1, short=0.001, long=0.6 * GRAIN)
    assert found.size(LONG, 1000) == 1
    assert found.size(SHORT, 1000) in (99, 100)  # of a thousandth of a second each


def test_a_chunk_is_a_small_part_of_what_is_ready():
    for processes in (1, 4, 64):
        found = chunks(processes, short=1e-5, long=1.0)
        for ready in range(1, 1000):
            size = found.size(SHORT, ready)
            assert size == 1 or size * 2 * processes <= ready
        assert found.size(SHORT, 40 * processes) == 20


def test_one_slow_task_is_soon_forgotten():
    found = chunks(1, short=0.001, long=1.0)
    found.durations.note(SHORT, Result(1, {}, {}, 0.0, 1.0, 0))
    assert found.size(SHORT, 1000) == 1
    for _ in range(50):
        found.durations.note(SHORT, Result(1, {}, {}, 0.0, 0.001, 0))
    assert found.size(SHORT, 1000) > 30


# -- in a pool of processes --------------------------------------------------------------------------------------------


def together(pool, monkeypatch):
    """Record how many tasks are sent at a time."""
    sent, send = [], WorkerProcess.send

    def counted(worker, messages):
        messages = list(messages)
        sent.append(sum(map(tasks_in, messages)))
        send(worker, messages)

    monkeypatch.setattr(WorkerProcess, "send", counted)
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
        pool.submit([task(index, "sleep", {"seconds": 0.6 * GRAIN}) for index in range(100, 112)])
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


class Unreadable:
    """It can be sent and cannot be read."""

    def __reduce__(self):
        return divmod, (1, 0)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [({"function": lambda: None}, "cannot be sent to a worker: .*lambda"), (Unreadable(), "raised ZeroDivisionError")],
    ids=["cannot be sent", "cannot be read"],
)
def test_a_message_that_fails_is_an_error_of_its_tasks_and_the_pool_goes_on(settings, problem, monkeypatch):
    with local_pool(1) as pool:
        pool.submit([task(index, "wrong", {"error": "none"}) for index in range(10)])
        results(pool, 10)
        sent = together(pool, monkeypatch)
        pool.submit([task(20 + index, "wrong", {"error": "none"} if index != 1 else settings) for index in range(40)])
        with pytest.raises(TaskError, match=rf"task 2\d \(test\) {problem}"):
            results(pool, 40)
        assert sum(sent) > 0
        pool.reset()
        pool.submit([task(index, "wrong", {"error": "none"}) for index in range(10)])
        assert len(results(pool, 10)) == 10
