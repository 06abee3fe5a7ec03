"""Tasks that are out: whose turn it is, what fills the inputs of those that wait, and when they count as asked for."""

from __future__ import annotations

import pytest

from erlbench.algorithms.base import Counters
from erlbench.running.outstanding import Asked, Outstanding
from erlbench.work.tasks import ArrayRef, Result, Task

BEFORE, LATER = Counters(generation=1, critic_updates=10), Counters(generation=2, critic_updates=30)


def task(number, **more):
    return Task(number, "es", "module:function", (), **more)


def result(number, end=0.0, **arrays):
    return Result(number, {}, arrays, 0.0, end, 0)


def told(outstanding, number, end=0.0):
    """The ids of the tasks that are told when the result of task `number` arrives."""
    found = []
    for one in outstanding.in_turn(result(number, end)):
        found.append(outstanding.remove(one)[0].id)
    return found


@pytest.mark.parametrize(("in_order", "turns"), [(True, [[], [], [1, 2, 3]]), (False, [[3], [2], [1]])])
def test_results_are_told_in_the_order_of_their_tasks_or_as_they_arrive(in_order, turns):
    outstanding = Outstanding(in_order)
    outstanding.add([task(1), task(2), task(3)], 5.0, BEFORE)
    assert [told(outstanding, number) for number in (3, 2, 1)] == turns
    assert not outstanding.tasks
    assert not outstanding.asked


def test_a_task_gets_the_arrays_of_those_that_it_waited_for():
    first, mean = task(1), ArrayRef("1.mean", (3,), "<f4")
    outstanding = Outstanding(in_order=True)
    outstanding.add([first, task(2, inputs={"parameters": first.output("mean")}, after=(1,))], 5.0, BEFORE)
    done, asked, held_back = outstanding.remove(result(1, mean=mean))
    assert (done, asked, held_back) == (first, Asked(5.0, 1, 10), [2])
    assert outstanding.tasks[2] == task(2, inputs={"parameters": mean})


def test_a_task_is_ready_when_the_last_one_that_it_waits_for_has_ended():
    outstanding = Outstanding(in_order=True)
    outstanding.add([task(1), task(2), task(3, after=(1, 2))], 5.0, BEFORE)
    assert told(outstanding, 2, end=9.0) == []
    assert told(outstanding, 1, end=7.0) == [1, 2]
    assert outstanding.asked[3] == Asked(9.0, 1, 10)


def test_a_barrier_makes_a_task_no_staler():
    outstanding = Outstanding(in_order=False)
    outstanding.add([task(1), task(2, after=(1,)), task(3)], 5.0, BEFORE)
    (one,) = outstanding.in_turn(result(1, end=6.0))
    _, _, held_back = outstanding.remove(one)
    outstanding.ask_again(held_back, LATER)
    assert outstanding.asked == {2: Asked(6.0, 2, 30), 3: Asked(5.0, 1, 10)}


@pytest.mark.parametrize(("same_clock", "ready"), [(True, 5.0), (False, 100.0)])
def test_a_checkpoint_keeps_what_had_been_counted_and_the_moment_only_where_the_clock_goes_on(same_clock, ready):
    before, after = Outstanding(in_order=True), Outstanding(in_order=True)
    before.add([task(4)], 5.0, BEFORE)
    after.add([task(4)], 100.0, LATER)
    after.restore(before.state(), same_clock)
    assert after.asked == {4: Asked(ready, 1, 10)}
