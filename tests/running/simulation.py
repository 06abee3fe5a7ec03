"""A pool with a graph and an order of delivery, without a run around them."""

from __future__ import annotations

from contextlib import closing, contextmanager

from erlbench.algorithms.base import Counters
from erlbench.pool import local_pool
from erlbench.running.graph import TaskGraph
from erlbench.running.orders import ArrivalOrder, SimulatedOrder


class Simulation:
    """Tasks run by `pool`, and delivered in simulated time."""

    def __init__(self, pool, workers, costs, shared_critic=False):
        self.pool, self.graph = pool, TaskGraph()
        self.order = SimulatedOrder(ArrivalOrder(self.graph), workers, costs, shared_critic)

    def submit(self, tasks):
        ready = self.graph.add(tasks, 0.0, Counters())
        self.order.requested(tasks)
        self.pool.submit(ready)

    def next_result(self):
        """The next result in simulated time; None where no task is left."""
        while self.graph:
            if self.order.needs_result():
                result = self.pool.next_result(30)
                self.pool.submit(self.graph.finish(result))
                self.order.arrived(result)
            for result in self.order.due():
                self.graph.pop(result)
                return result
        return None


@contextmanager
def simulation(processes, workers, costs, shared_critic=False):
    with closing(local_pool(processes)) as pool:
        yield Simulation(pool, workers, costs, shared_critic)
