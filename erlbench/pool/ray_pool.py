"""The pool of a Ray cluster: the driver's side.

The driver keeps every array itself, since results bring theirs. So a node that dies takes nothing with it but the tasks
under way, and these run again elsewhere: a task is a pure function of what it names. Ray carries arrays to the nodes,
keeps the order of calls, and reports when a node or its agent has died.
"""

from __future__ import annotations

import heapq
import math
import os
import pickle
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from erlbench.errors import CellError, ErlbenchError, UsageError
from erlbench.experiment.cells import RunOptions
from erlbench.pool import ray_nodes as cluster
from erlbench.pool.base import Pool, check_stop, task_error
from erlbench.pool.ray_nodes import Answer, ReplayPart, Report, facts, read_part
from erlbench.work.replay import NAME as REPLAY
from erlbench.work.replay import ROWS
from erlbench.work.store import Store
from erlbench.work.tasks import ReplayView, Task, list_arrays

LOOK = 2.0  # seconds that a wait takes at most
START = 120.0  # seconds in which there must be a free node, and an agent must have started
AHEAD = 2  # tasks per process that a node has at most: as many wait there as run
WAIT = 1.0  # seconds after which an agent answers without results
WAIT_IDLE = 0.02  # the same where a process is idle, so that the next task starts soon


class Node:
    """A node with an agent: what it has, and the call that is under way."""

    def __init__(self, name: str, agent: Any, slots: int) -> None:
        self.name = name
        self.agent = agent
        self.slots = slots
        self.first_slot = 0  # slots are numbered through all nodes
        self.call: Any = None
        self.sent: dict[int, Task] = {}  # tasks that have not come back, in their order
        self.arrays: set[str] = set()  # that are there, by name
        self._replay: dict[str, int] = {}  # the bytes of each of the replay's files that are there
        self._waiting: list[tuple[Task, bytes]] = []  # tasks for the next call

    @property
    def load(self) -> float:
        """Tasks per process."""
        return len(self.sent) / self.slots

    def add(self, task: Task) -> None:
        """Have a task go with the next call; raises what pickle raises."""
        self._waiting.append((task, pickle.dumps(task, pickle.HIGHEST_PROTOCOL)))
        self.sent[task.id] = task

    def exchange(self, store: Store) -> None:
        """Call the agent, unless a call is under way or nothing is to be sent: tasks, and the data that it lacks."""
        if self.call is not None or not self.sent:
            return
        unneeded = [*self.arrays.difference(os.listdir(store.folder))]
        self.arrays.difference_update(unneeded)
        arrays: dict[str, np.ndarray] = {}
        values = [value for task, _ in self._waiting for value in task.inputs.values()]
        for ref in (ref for value in values for ref in list_arrays(value)):
            if ref.name not in self.arrays:
                self.arrays.add(ref.name)
                arrays[ref.name] = store.get(ref)
        replay_part: ReplayPart = {}
        stop = max((value.stop for value in values if isinstance(value, ReplayView)), default=0)
        if self._replay.get(ROWS, 0) // 4 < stop:  # a row's number has four bytes
            replay_part = read_part(store.replay_folder(REPLAY), self._replay)
            self._replay = {name: begin + len(data) for name, (begin, data) in replay_part.items()}
        tasks = [data for _, data in self._waiting]
        self._waiting.clear()
        wait = WAIT if len(self.sent) >= self.slots else WAIT_IDLE
        self.call = self.agent.exchange.remote(tasks, arrays, replay_part, unneeded, wait)

    def reset(self) -> None:
        """Have the node forget all tasks, arrays and replays; what a call that is under way returns is not heard."""
        self.sent.clear()
        self.arrays.clear()
        self._replay.clear()
        self._waiting.clear()
        self.call = None
        self.agent.reset.remote()  # Ray runs an actor's calls in their order


class RayPool(Pool):
    """Runs tasks on the nodes that the Ray cluster of this process has when the pool is made.

    `options.per_node` is the most processes on each node; None: the node's free cores.
    """

    def __init__(self, options: RunOptions) -> None:
        """Raises `UsageError` when no node of the cluster can be used; this process is connected to it."""
        super().__init__()
        self.device = options.device
        self._options = options
        self.store = Store.create()
        self._nodes: list[Node] = []
        try:
            self._take_nodes()
        except BaseException:
            self.close()
            raise

    @property
    def processes(self) -> int:  # type: ignore[override]  # of a moment
        """Processes of all nodes that are not lost."""
        return sum(node.slots for node in self._nodes)

    def prepare(self, task: Task, workers: int, stop: threading.Event | None = None) -> None:
        share = workers / max(1, self.processes)
        for node in self._nodes:
            count = min(node.slots, math.ceil(share * node.slots))
            node.call = node.agent.prepare.remote(task, count)
        while any(node.call is not None for node in self._nodes):
            self._wait(LOOK)
            check_stop(stop)
            if self._finished and isinstance(item := self._finished.popleft(), ErlbenchError):
                raise item

    def _advance(self, end: float) -> None:
        if not self._nodes:
            raise CellError("all nodes of the cluster are gone; the same command continues")
        self._wait(max(0.0, min(end - time.monotonic(), LOOK)))

    def running(self) -> Mapping[int, Task]:
        """Slot -> task; of the tasks that a node has, the first ones run."""
        return {
            node.first_slot + place: task
            for node in self._nodes
            for place, task in zip(range(node.slots), node.sent.values(), strict=False)
        }

    def reset(self) -> None:
        super().reset()
        for node in self._nodes:
            node.reset()

    def close(self) -> None:
        import ray

        agents = [node.agent for node in self._nodes]
        try:
            ray.wait([agent.close.remote() for agent in agents], num_returns=len(agents), timeout=5) if agents else None
            for agent in agents:
                ray.kill(agent)
        except ray.exceptions.RayError:
            pass  # the cluster is gone
        self._nodes.clear()
        self.store.close()

    # -- tasks out, results in ------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Send ready tasks to nodes that have room, lowest (priority, id) first."""
        while self._ready:
            task = self._tasks[self._ready[0][1]]
            node = place(task, self._nodes)
            if node is None:
                break
            heapq.heappop(self._ready)
            try:
                node.add(task)
            except Exception as error:  # of pickle
                self._fail(task, f"cannot be sent to a node: {error}")
        for node in self._nodes:
            node.exchange(self.store)

    def _wait(self, timeout: float) -> None:
        """Take in the nodes' messages, at most `timeout` seconds."""
        import ray

        calls = {node.call: node for node in self._nodes if node.call is not None}
        ready, rest = ray.wait(list(calls), num_returns=1, timeout=timeout)
        if ready and rest:
            ready += ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        for call in ready:
            self._receive(calls[call], call)
        if ready:
            self._start()

    def _receive(self, node: Node, call: Any) -> None:
        import ray

        node.call = None
        try:
            report: Report = ray.get(call)
        except ray.exceptions.RayTaskError as error:  # the agent lives: its pool has failed
            error.cause.add_note(str(error))  # its traceback
            self._finished.append(task_error(f"node {node.name}", error.cause))
            return
        except ray.exceptions.RayError as error:
            self._lost(node, error)
            return
        self._events += [replace(event, message=f"{node.name}: {event.message}") for event in report.events]
        if self.device == "auto":
            self.device = report.device
        later = time.monotonic() - report.now  # the nodes' clocks are used for durations only
        for answer in report.answers:
            self._returned(node, answer, later)

    def _returned(self, node: Node, answer: Answer, later: float) -> None:
        task, outcome = node.sent.pop(answer.task), answer.outcome
        if isinstance(outcome, ErlbenchError):
            self._finish(task, outcome)
            return
        for array, value in answer.arrays.items():
            self.store.put(array, value)
        node.arrays.update(answer.arrays)
        start, end, slot = outcome.start + later, outcome.end + later, node.first_slot + outcome.process
        self._finish(task, replace(outcome, start=start, end=end, process=slot))

    # -- nodes: all are taken at once, and some may be lost -----------------------------------------------------------

    def _take_nodes(self) -> None:
        """Start an agent on each node with free cores, and use those nodes that can be; `UsageError` without any."""
        import ray

        end = time.monotonic() + START
        while not (members := cluster.members()) and time.monotonic() < end:
            time.sleep(0.2)  # Ray may not have noticed yet that the last command has ended
        nodes = {}  # by the call for their facts
        for member in members:
            slots = min(member.cores, self._options.per_node or member.cores)
            node = Node(
                f"{member.host} ({member.node_id[:6]})", cluster.start_agent(member, slots, self._options), slots
            )
            nodes[node.agent.facts.remote()] = node
        started = set(ray.wait([*nodes], num_returns=len(nodes), timeout=START)[0]) if nodes else set()
        here, refused = facts(), []
        for call, node in nodes.items():
            objection = f"its agent has not started within {START:.0f} seconds"
            if call in started:
                try:
                    objection = cluster.objection(here, ray.get(call), self._options.anyway)
                except ray.exceptions.RayError as error:
                    objection = f"its agent did not start: {cluster.cause(error)}"
            if objection:
                ray.kill(node.agent)
                refused.append(f"node {node.name} is not used: {objection}")
                self._note("node refused", refused[-1])
            else:
                node.first_slot = self.processes
                self._nodes.append(node)
                self._note("node joined", f"{node.name} with {node.slots} processes")
        if not self._nodes:
            reasons = "; ".join(refused) or "it has no free cores"
            raise UsageError(f"no node of the Ray cluster can be used: {reasons}")

    def _lost(self, node: Node, error: Exception) -> None:
        """Run the tasks of a lost node on other nodes."""
        import ray

        self._nodes.remove(node)
        ray.kill(node.agent)  # it may only be out of reach for now, and would keep its cores
        message = f"{node.name} with {len(node.sent)} tasks: {cluster.cause(error)}"
        self._note("node lost", message)
        for task in node.sent.values():
            self._run_again(task, message, "nodes")


def place(task: Task, nodes: Iterable[Node]) -> Node | None:
    """The node for a task: with the smallest load; None where no node has room.

    A gradient task goes to the first node that has an idle process: it mostly has the replay already.
    """

    def load(node: Node) -> float:
        return 0.0 if task.gradient and node.load < 1 else node.load

    return min(
        (node for node in nodes if node.load < AHEAD), key=lambda node: (load(node), node.first_slot), default=None
    )
