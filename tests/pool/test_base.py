from __future__ import annotations

import time

import pytest

from erlbench.errors import TaskError
from erlbench.pool.base import Queue
from erlbench.work.tasks import ArrayRef, Output, Priority, Result, Task, in_phases


def task(task_id, *needs, priority=Priority.ROLLOUT, gradient=False):
    inputs = {f"x{other}": Output(other, "array") for other in needs}
    return Task(task_id, "test", "m:f", (0,), {}, inputs, priority, gradient=gradient)


def result(task_id, *names):
    return Result(task_id, {}, {name: ArrayRef(f"{task_id}.{name}", (1,)) for name in names}, 0.0, 1.0, 0)


def queue():
    return Queue(lambda task: task.gradient)


def drain(queue, lane=False):
    popped = []
    while queue.ready(lane):
        popped.append(queue.pop(lane).id)
    return popped


def test_ready_tasks_go_by_priority_then_id():
    q = queue()
    q.add([task(4), task(3, priority=Priority.EVALUATION), task(2, priority=Priority.ACTOR), task(1)])
    assert drain(q) == [1, 4, 2, 3]


def test_a_task_waits_for_all_its_inputs_and_gets_their_references():
    q = queue()
    q.add([task(3, 1, 2), task(1), task(2)])
    assert drain(q) == [1, 2]
    q.finish(result(1, "array"))
    assert not q.ready(False)
    q.finish(result(2, "array", "other"))
    popped = q.pop(False)
    assert popped.inputs == {"x1": ArrayRef("1.array", (1,)), "x2": ArrayRef("2.array", (1,))}


def after(task_id, *others):
    return Task(task_id, "test", "m:f", (0,), after=others)


def test_a_task_waits_for_those_that_it_is_after_whether_they_give_outputs_or_not():
    q = queue()
    q.add([after(3, 1, 2), task(1), task(2), task(4, 3)])
    assert drain(q) == [1, 2]
    q.finish(result(1))
    assert not q.ready(False)
    q.finish(result(2, "array"))
    assert drain(q) == [3]
    q.finish(result(3, "array"))
    assert q.pop(False).inputs == {"x3": ArrayRef("3.array", (1,))}


def test_what_is_finished_is_not_waited_for_whether_it_gave_outputs_or_not():
    q = queue()
    q.add([task(1), task(2)])
    drain(q)
    q.finish(result(1))
    q.finish(result(2, "array"))
    q.add([after(3, 1, 2)])
    assert drain(q) == [3]
    resumed = queue()  # of a resumed run: it has not seen task 1, which was told before
    resumed.add([after(5, 1, 4), task(4)])
    assert drain(resumed) == [4]
    resumed.finish(result(4))
    assert drain(resumed) == [5]


def test_phases_wait_for_the_phase_before_that_has_tasks():
    phases = in_phases([task(1), task(2)], [], [after(3, 9)], [task(4)])
    assert [(each.id, each.after) for each in phases] == [(1, ()), (2, ()), (3, (9, 1, 2)), (4, (3,))]


def test_outputs_of_finished_tasks_stay_known_until_cleared():
    q = queue()
    q.add([task(1)])
    q.pop(False)
    q.finish(result(1, "array"))
    q.add([task(2, 1)])
    assert q.pop(False).inputs["x1"] == ArrayRef("1.array", (1,))
    q.clear()
    assert len(q) == 0
    with pytest.raises(TaskError, match=r"task 3 \(test\) .*task 1") as caught:
        q.add([task(3, 1)])
    assert caught.value.task == 3


def test_an_output_of_the_wrong_name_is_an_error():
    q = queue()
    q.add([task(1), task(2, 1)])
    q.pop(False)
    q.finish(result(1, "other"))
    with pytest.raises(TaskError, match="'array' of task 1") as caught:
        q.pop(False)
    assert caught.value.task == 2


def test_lanes_are_apart_and_counted():
    q = queue()
    q.add([task(1), task(2, gradient=True), task(3, 2, gradient=True)])
    assert (q.unfinished(False), q.unfinished(True)) == (1, 2)
    assert drain(q, lane=True) == [2]
    q.finish(result(2, "array"))
    assert q.unfinished(True) == 1
    assert drain(q, lane=True) == [3]
    assert drain(q) == [1]


def test_the_time_of_a_task_does_not_grow_with_the_number_of_tasks():
    def seconds(count: int) -> float:
        empty, tasks = queue(), [task(number) for number in range(count)]
        began = time.process_time()
        empty.add(tasks)
        return time.process_time() - began

    few, many = (min(seconds(count) for _ in range(3)) for count in (500, 16_000))
    assert many < 32 * 8 * few


def test_an_id_cannot_be_used_twice_at_a_time():
    q = queue()
    q.add([task(1)])
    with pytest.raises(ValueError, match="task 1"):
        q.add([task(1)])
