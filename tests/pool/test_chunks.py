"""How many tasks go together: never so many that others could miss them."""

from erlbench.pool.chunks import GRAIN, Chunks
from erlbench.tasks import Result, Task

SHORT, LONG = Task(1, "short", "m:f", (0,)), Task(2, "long", "m:f", (0,))


def chunks(processes, **seconds):
    found = Chunks(processes)
    for task in (SHORT, LONG):
        for _ in range(50):
            found.note(task, Result(task.id, {}, {}, 100.0, 100.0 + seconds[task.kind], 0))
    return found


def test_long_tasks_and_unknown_ones_go_alone():
    assert Chunks(1).size(SHORT, 1000) == 1
    found = chunks(1, short=0.001, long=0.6 * GRAIN)
    assert found.size(LONG, 1000) == 1
    assert found.size(SHORT, 1000) in (49, 50)  # of a thousandth of a second each


def test_a_chunk_is_a_small_part_of_what_is_ready():
    for processes in (1, 4, 64):
        found = chunks(processes, short=1e-5, long=1.0)
        for ready in range(1, 1000):
            size = found.size(SHORT, ready)
            assert size == 1 or size * 2 * processes <= ready
        assert found.size(SHORT, 40 * processes) == 20


def test_one_slow_task_is_soon_forgotten():
    found = chunks(1, short=0.001, long=1.0)
    found.note(SHORT, Result(1, {}, {}, 0.0, 1.0, 0))
    assert found.size(SHORT, 1000) == 1
    for _ in range(50):
        found.note(SHORT, Result(1, {}, {}, 0.0, 0.001, 0))
    assert found.size(SHORT, 1000) > 30
