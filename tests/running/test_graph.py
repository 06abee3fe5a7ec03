"""Tasks that are out: which can start, what fills their inputs, in which order results are delivered, and staleness."""

from dataclasses import replace

import pytest

from erlbench.algorithms.base import Counters
from erlbench.errors import TaskError
from erlbench.running.orders import ArrivalOrder, Request, TaskGraph, TaskOrder
from erlbench.work.tasks import ArrayRef, Output, Result, Task

BEFORE, LATER = Counters(generation=1, critic_updates=10), Counters(generation=2, critic_updates=30)
MEAN = ArrayRef("1.mean", (3,), "<f4")


def task(number, *needs, **more):
    inputs = {f"x{other}": Output(other, "mean") for other in needs}
    return Task(number, "es", "module:function", (), inputs=inputs, **more)


def result(number, end=0.0, **arrays):
    return Result(number, {}, arrays, 0.0, end, 0)


def graph_of(*tasks, now=5.0):
    graph = TaskGraph()
    return graph, ids(graph.add(tasks, now, BEFORE))


def ids(tasks):
    return [task.id for task in tasks]


def deliver(order, number, end=0.0, **arrays):
    """The ids of the tasks whose results are delivered when that of task `number` arrives."""
    order.graph.finish(result(number, end, **arrays))
    order.arrived(result(number, end, **arrays))
    return [order.graph.pop(each)[0].id for each in order.due()]


@pytest.mark.parametrize(("kind", "turns"), [(TaskOrder, [[], [], [1, 2, 3]]), (ArrivalOrder, [[3], [2], [1]])])
def test_results_are_delivered_in_the_order_of_their_tasks_or_as_they_arrive(kind, turns):
    graph, ready = graph_of(task(1), task(2), task(3))
    order = kind(graph)
    assert ready == [1, 2, 3]
    assert [deliver(order, number) for number in (3, 2, 1)] == turns
    assert not graph
    assert not graph.requests
    order.arrived(result(9))  # of a task outside the graph, which waits for none
    assert [each.task for each in order.due()] == [9]


def test_a_task_waits_for_all_its_inputs_and_gets_their_references():
    """It starts as soon as they are there; what a checkpoint has of it is filled when they are delivered."""
    graph, ready = graph_of(task(3, 1, 2), task(1), task(2))
    assert ready == [1, 2]
    assert graph.finish(result(1, mean=MEAN)) == []
    other = ArrayRef("2.mean", (3,), "<f4")
    (started,) = graph.finish(result(2, mean=other, more=MEAN))
    assert started.inputs == {"x1": MEAN, "x2": other}
    assert graph.tasks[3] == task(3, 1, 2)
    assert graph.pop(result(1, mean=MEAN)) == (task(1), Request(5.0, 1, 10), [])
    assert graph.tasks[3].inputs == {"x1": MEAN, "x2": Output(2, "mean")}


def test_a_task_waits_for_those_that_it_is_after_unless_they_are_finished():
    graph, ready = graph_of(task(3, after=(1, 2)), task(1), task(2), task(4, 3))
    assert ready == [1, 2]
    assert graph.finish(result(1, mean=MEAN)) == []
    assert ids(graph.finish(result(2))) == [3]
    graph.pop(result(2))
    assert graph.add([task(5, 1, after=(2,))], 6.0, BEFORE) == [replace(task(5), inputs={"x1": MEAN})]
    assert graph.finish(result(3, mean=MEAN))[0].inputs == {"x3": MEAN}
    resumed, ready = graph_of(task(5, after=(1, 4)), task(4))  # task 1 was delivered before
    assert ready == [4]
    assert ids(resumed.finish(result(4))) == [5]


def test_an_output_that_nothing_gives_is_an_error_that_names_both_tasks():
    with pytest.raises(TaskError, match=r"task 3 \(es\) .*task 1") as caught:
        graph_of(task(3, 1))
    assert caught.value.task == 3
    graph, _ = graph_of(task(1), task(2, 1))
    with pytest.raises(TaskError, match="'mean' of task 1") as caught:
        graph.finish(result(1, other=MEAN))
    assert caught.value.task == 2


def test_a_task_is_ready_when_the_last_one_that_it_waits_for_has_ended_and_no_staler_by_waiting():
    graph, _ = graph_of(task(1), task(2), task(3, after=(1, 2)), task(4))
    order = TaskOrder(graph)
    assert deliver(order, 2, end=9.0) == []
    order.graph.finish(result(1, end=7.0))
    order.arrived(result(1, end=7.0))
    for each in order.due():
        _, _, held_back = graph.pop(each)
        graph.request_again(held_back, LATER)
    assert graph.requests == {3: Request(9.0, 2, 30), 4: Request(5.0, 1, 10)}


@pytest.mark.parametrize(("same_clock", "ready"), [(True, 5.0), (False, 100.0)])
def test_a_checkpoint_keeps_what_had_been_counted_and_the_moment_only_where_the_clock_goes_on(same_clock, ready):
    before, _ = graph_of(task(4))
    after, _ = graph_of(task(4), now=100.0)
    after.restore(before.state(), same_clock)
    assert after.requests == {4: Request(ready, 1, 10)}
