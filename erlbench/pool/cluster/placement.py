"""Which node runs a task: gradient tasks where least must be sent, all other tasks where least is to be done."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from math import inf

from erlbench.pool.cluster.node import Node
from erlbench.work.tasks import Task


class Placement:
    """Chooses nodes for tasks that start now, given how long their kind takes.

    A node has room for as many tasks as it has processes, and for some that wait there (`Node.limit`). One whose
    duration is not known yet waits nowhere.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.chosen: dict[Node, list[Task]] = {}
        self._load = {node: len(node.sent) for node in nodes}
        self._seconds = -inf
        self._by_share: list[tuple[float, int, Node]] = []  # a heap of those that have room for tasks of `_seconds`

    def place(self, task: Task, seconds: float) -> bool:
        """Choose a node for `task`, which takes `seconds`, inf: unknown; whether there is one."""
        node = self._nearest(task) if task.gradient else None
        if node is None:
            node = self._idlest(seconds)
        if node is None:
            return False
        self._load[node] += 1
        self.chosen.setdefault(node, []).append(task)
        return True

    def _nearest(self, task: Task) -> Node | None:
        """The node with an idle process that lacks least of what `task` needs."""
        idle = [node for node, load in self._load.items() if load < node.slots]
        return min(idle, key=lambda node: (node.missing(task), self._share(node)), default=None)

    def _idlest(self, seconds: float) -> Node | None:
        """The node with room and the smallest load per process."""
        if seconds != self._seconds:
            self._seconds = seconds
            self._by_share = [(self._share(node), node.first_slot, node) for node in self._load]
            heapq.heapify(self._by_share)
        while self._by_share:
            share, _, node = self._by_share[0]
            load = self._load[node]
            if load >= (node.slots if seconds == inf else node.limit(seconds)):
                heapq.heappop(self._by_share)
            elif share != self._share(node):  # it got a gradient task meanwhile, or the last one
                heapq.heapreplace(self._by_share, (self._share(node), node.first_slot, node))
            else:
                return node
        return None

    def _share(self, node: Node) -> float:
        return self._load[node] / node.slots
