"""Simulated time: the modelled schedule, and an outcome that does not depend on the machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from erlbench.experiment.costs import Costs
from erlbench.running.orders import SimulatedOrder, TaskOrder
from erlbench.work.tasks import Output, Priority, Task
from tests.running.simulation import simulation

FUNCTIONS = "tests.pool.functions:"
COSTS = Costs(timestep=1.0, critic_update=10.0, actor_update=5.0, overhead=0.0)
TYPICAL = Costs(timestep=1e-4, critic_update=4e-3, actor_update=2e-3, overhead=1e-3, crowding=1.3, cores=3)


def work(task_id, lengths=(), critic=0, actor=0, priority=Priority.ROLLOUT, needs=()):
    values = {"values": {"lengths": list(lengths), "critic_updates": critic, "actor_updates": actor}}
    inputs = {f"x{other}": Output(other, "array") for other in needs}
    return Task(task_id, "test", FUNCTIONS + "draw", (task_id,), values, inputs, priority)


def times(pool):
    found = []
    while (result := pool.next_result()) is not None:
        assert pool.order.now() == result.end
        found.append((result.task, result.start, result.end, result.process))
    return found


@pytest.mark.parametrize("processes", [0, 1, 2])
def test_two_virtual_processors_share_the_tasks(processes):
    with simulation(processes, 2, COSTS) as pool:
        pool.submit([work(1, [3]), work(2, [1, 1]), work(3, [2]), work(4, [1]), work(5, [2], priority=Priority.ACTOR)])
        assert times(pool) == [(2, 0, 2, 1), (1, 0, 3, 0), (3, 2, 4, 1), (4, 3, 4, 0), (5, 4, 6, 1)]


def test_the_critic_has_its_own_processor_and_evaluations_need_none():
    with simulation(0, 1, COSTS) as pool:
        pool.submit([
            work(1, [4]), work(2, critic=1, priority=Priority.CRITIC), work(3, critic=1, priority=Priority.CRITIC),
            work(4, actor=1, priority=Priority.ACTOR, needs=[2]), work(5, [100], priority=Priority.EVALUATION),
            work(6, [1], priority=Priority.EVALUATION),
        ])  # fmt: skip
        first, last = [(6, 0, 1, 2), (1, 0, 4, 0), (2, 0, 10, 1)], [(4, 10, 15, 0), (3, 10, 20, 1), (5, 0, 100, 2)]
        assert times(pool) == first + last


def test_the_drivers_work_between_two_generations_takes_its_time():
    """It delays what comes when all is told, and nothing else; an interruption changes nothing."""
    with simulation(0, 2, replace(COSTS, update=0.5)) as pool, \
         simulation(0, 2, replace(COSTS, update=0.5)) as again:  # fmt: skip
        pool.submit([work(1, [3])])
        pool.submit([work(2, [1])])  # beside the first: the driver's work is hidden
        assert times(pool) == [(2, 0.5, 1.5, 1), (1, 0.5, 3.5, 0)]
        between = pool.order.state()
        pool.submit([work(3, [100], priority=Priority.EVALUATION)])  # no generation
        pool.submit([work(4, [2])])
        under_way = pool.order.state()
        assert times(pool) == [(4, 4.0, 6.0, 0), (3, 3.5, 103.5, 3)]
        again.order.restore(between)
        again.submit([work(4, [2])])
        assert times(again) == [(4, 4.0, 6.0, 0)]
        again.order.restore(under_way)
        again.submit([work(4, [2])])
        assert times(again) == [(4, 4.0, 6.0, 0)]


def test_tasks_beside_each_other_are_slower_while_they_are():
    """Two tasks of 3 and 6 s, twice as slow beside each other: the second has 3 s left when the first ends at 6 s."""
    crowded = replace(COSTS, crowding=2.0, cores=2)
    with simulation(0, 2, crowded) as pool, simulation(0, 2, crowded) as again:
        pool.submit([work(1, [3]), work(2, [6]), work(9, [5], priority=Priority.EVALUATION)])
        assert pool.next_result().end == 5  # an evaluation is not slowed down
        assert pool.next_result().end == 6
        under_way = pool.order.state()
        assert times(pool) == [(2, 0, 9, 1)]
        again.order.restore(under_way)
        again.submit([work(2, [6])])
        assert times(again) == [(2, 0, 9, 1)]


def integers(value):
    return all(map(integers, value)) if isinstance(value, list) else value is None or isinstance(value, int)


@pytest.mark.parametrize("processes", [0, 3])
def test_a_state_is_of_integers_in_the_order_of_tasks(processes):
    """Nothing in it depends on which result the machine had first; a result that waits for its turn is past."""
    with simulation(processes, 3, TYPICAL) as pool:
        pool.order = SimulatedOrder(TaskOrder(pool.graph), 3, TYPICAL)
        pool.submit([work(4, [20]), work(3, [30]), work(2, [5]), work(7, [9]), work(1, critic=1, needs=[2])])
        while not pool.order.state()["past"]:
            if pool.order.needs_result():
                result = pool.pool.next_result(30)
                pool.pool.submit(pool.graph.finish(result))
                pool.order.arrived(result)
            assert not [*pool.order.due()]
        end = 1_950_000_000_000_000  # 1.5 ms, 1.3 times as long
        running = [[3, 0, 1, 2_500_000], [4, 0, 2, 1_500_000]]
        assert pool.order.state() == {
            "now": end,
            "clock": end,
            "idle": False,
            "past": [[2, 0, 0, end]],
            "running": running,
        }
        assert all(map(integers, pool.order.state().values()))


def test_the_end_of_an_evaluation_cuts_no_work():
    """A task that is submitted then begins with the last end of a task, as the others' work is whole nanoseconds."""
    crowded = replace(COSTS, crowding=1.7, cores=3)
    with simulation(0, 2, crowded) as pool:
        pool.submit([work(1, [3]), work(9, [4], priority=Priority.EVALUATION)])
        assert [pool.next_result().task, pool.next_result().task] == [1, 9]
        pool.submit([work(2, [6]), work(3, [1]), work(10, [1], priority=Priority.EVALUATION)])
        assert pool.next_result().end == 5  # the evaluation; tasks 2 and 3 are beside each other until 5.35
        pool.submit([work(4, [1])])
        assert times(pool) == [(3, 4, 5.35, 1), (4, 5.35, 6.7, 1), (2, 4, 10.7, 0)]
