"""The pool of a Ray cluster: the driver's side.

The driver keeps every array itself, since results bring theirs. So a node that dies takes nothing with it but the tasks
under way, and these run again elsewhere: a task is a pure function of what it names.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil, inf
from typing import Any

from erlbench.errors import CellError, ErlbenchError, Interrupted, TaskError, UsageError
from erlbench.pool.base import PoolBase, PoolEvent, name
from erlbench.pool.cluster import connection
from erlbench.pool.cluster.agent import Answer, Report, facts
from erlbench.pool.cluster.node import Node
from erlbench.pool.cluster.placement import Placement
from erlbench.pool.cluster.store import ClusterStore
from erlbench.pool.failures import as_error
from erlbench.pool.options import PoolOptions
from erlbench.pool.processes import Durations
from erlbench.work.tasks import Result, Task

LOOK = 2.0  # seconds between two looks at which nodes there are
START = 120.0  # seconds in which an agent must have started
ALONE = 60.0  # seconds to wait for a node when all are gone
LOSSES = 3  # nodes that a task may take with it


class ReadyTasks:
    """Tasks that have not finished; those that are on no node go by (priority, id)."""

    def __init__(self) -> None:
        self._unfinished: dict[int, Task] = {}
        self._heap: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._unfinished)

    def add(self, tasks: Iterable[Task]) -> None:
        """Take tasks in."""
        for task in tasks:
            if task.id in self._unfinished:
                raise ValueError(f"{name(task)} was submitted twice")
            self._unfinished[task.id] = task
            self.again(task)

    def again(self, task: Task) -> None:
        """Have a task wait that was popped."""
        heapq.heappush(self._heap, (task.priority, task.id))

    def pop(self) -> Task | None:
        """The first one that waits."""
        return self._unfinished[heapq.heappop(self._heap)[1]] if self._heap else None

    def drop(self, task_id: int) -> None:
        """Forget a task that was popped."""
        del self._unfinished[task_id]

    def clear(self) -> None:
        """Forget all tasks."""
        self._unfinished.clear()
        self._heap.clear()


class RayPool(PoolBase):
    """Runs tasks on all nodes of the Ray cluster that this process is connected to.

    `options.processes` is the most processes on each node; None: the node's free cores.
    """

    def __init__(self, options: PoolOptions) -> None:
        """Raises `UsageError` when no node of the cluster can be used; this process is connected to it."""
        super().__init__()
        self.device = options.device
        self._options = options
        self._here = facts()
        self.store = ClusterStore.create()
        self._queue = ReadyTasks()
        self._nodes: dict[str, Node] = {}  # by node id
        self._starting: dict[str, tuple[connection.Member, Any, Any, float]] = {}  # agent, its facts, deadline
        self._refused: dict[str, str] = {}
        self._objects: dict[str, Any] = {}  # arrays that Ray holds
        self._finished: deque[Result | ErlbenchError] = deque()
        self._losses: dict[int, list[str]] = {}
        self._durations = Durations()
        self._epoch = 0
        self._looked = -inf
        self._slots = 0  # given out so far
        try:
            self._wait_for_nodes(START)
        except BaseException:
            self.close()
            raise

    @property
    def processes(self) -> int:
        """Processes of all nodes together; nodes come and go."""
        return sum(node.slots for node in self._nodes.values())

    # -- the interface of pools -----------------------------------------------------------------------------------

    def prepare(self, task: Task, workers: int, stop: threading.Event | None = None) -> None:
        share = workers / max(1, self.processes)
        for node in self._nodes.values():
            node.prepare(task, min(node.slots, ceil(share * node.slots)))
        while any(node.prepared < node.preparations for node in self._nodes.values()):
            self._wait(LOOK)
            if stop is not None and stop.is_set():
                raise Interrupted("interrupted while workers were prepared; the same command continues")
            if self._finished and isinstance(item := self._finished.popleft(), ErlbenchError):
                raise item

    def submit(self, tasks: Iterable[Task]) -> None:
        self._queue.add(tasks)
        self._dispatch()

    def next_result(self, timeout: float | None = None) -> Result | None:
        end = inf if timeout is None else time.monotonic() + timeout
        while not self._finished and len(self._queue):
            self.look()
            self._wait(max(0.0, min(end - time.monotonic(), LOOK)))
            if time.monotonic() >= end:
                break
        if not self._finished:
            return None
        item = self._finished.popleft()
        if isinstance(item, ErlbenchError):
            raise item
        return item

    def running(self) -> Mapping[int, Task]:
        """Slot -> task; of the tasks that a node has, the first ones run."""
        return {
            node.first_slot + place: task
            for node in self._nodes.values()
            for place, task in zip(range(node.slots), node.sent.values())
        }

    def reset(self) -> None:
        self._epoch += 1
        for node in self._nodes.values():
            node.reset(self._epoch)
        self._queue.clear()
        self._finished.clear()
        self._objects.clear()
        self._losses.clear()
        self.store.take_freed()

    def close(self) -> None:
        import ray

        agents = [node.agent for node in self._nodes.values()] + [start[1] for start in self._starting.values()]
        try:
            ray.wait([agent.close.remote() for agent in agents], num_returns=len(agents), timeout=5) if agents else None
            for agent in agents:
                ray.kill(agent)
        except ray.exceptions.RayError:
            pass  # the cluster is gone
        self._nodes.clear()
        self._starting.clear()
        self.store.close()

    # -- tasks out, results in ------------------------------------------------------------------------------------

    def _dispatch(self) -> None:
        """Send ready tasks to nodes that have room, lowest (priority, id) first."""
        freed = self.store.take_freed()
        for array in freed:
            self._objects.pop(array, None)
        for node in self._nodes.values():
            node.free(freed)
        placement = Placement(list(self._nodes.values()))
        while (task := self._queue.pop()) is not None:
            if not placement.place(task, self._durations.seconds(task)):
                self._queue.again(task)
                break
        for node, tasks in placement.chosen.items():
            self._post(node, tasks)

    def _post(self, node: Node, tasks: Sequence[Task]) -> None:
        try:
            node.post(tasks, self.store, self._objects)
        except ErlbenchError:
            raise
        except Exception as error:  # of pickle
            if len(tasks) > 1:
                for task in tasks:
                    self._post(node, [task])
            else:
                self._queue.drop(tasks[0].id)
                self._finished.append(TaskError(f"{name(tasks[0])} cannot be sent to a node: {error}"))

    def _wait(self, timeout: float) -> None:
        """Take in what the nodes have to say, at most `timeout` seconds."""
        import ray

        by_answer = {node.ask(): node_id for node_id, node in self._nodes.items()}
        by_answer |= {start[2]: node_id for node_id, start in self._starting.items()}
        if not by_answer:
            time.sleep(min(timeout, 0.1))
            return
        ready, rest = ray.wait(list(by_answer), num_returns=1, timeout=timeout)
        if ready:
            if rest:
                ready += ray.wait(rest, num_returns=len(rest), timeout=0)[0]
            for answer in ready:
                if by_answer[answer] in self._nodes:
                    self._receive(by_answer[answer], answer)
                else:
                    self._admit(by_answer[answer])
            self._dispatch()
            for node in self._nodes.values():
                node.ask()  # those that got nothing to do

    def _receive(self, node_id: str, answer: Any) -> None:
        import ray

        node = self._nodes[node_id]
        try:
            report: Report = ray.get(answer)
        except ray.exceptions.RayTaskError as error:  # the agent lives: this is a mistake, not a loss
            node.answered()
            self._finished.append(TaskError(f"the agent on {node.name} raised {connection.cause(error)}", str(error)))
            return
        except ray.exceptions.RayError as error:
            self._lost(node_id, error)
            return
        node.answered()
        news = report.news
        node.prepared += news.prepared
        if report.epoch != self._epoch:
            return
        self._events += [replace(event, message=f"{node.name}: {event.message}") for event in news.events]
        if self.device == "auto":
            self.device = report.device
        later = time.monotonic() - report.now  # the nodes' clocks are used for durations only
        for found in news.answers:
            self._returned(node, found, later)
        if news.failed is not None:
            self._finished.append(as_error(f"node {node.name}", news.failed))

    def _returned(self, node: Node, answer: Answer, later: float) -> None:
        task, result = node.sent.pop(answer.task), answer.result
        self._losses.pop(task.id, None)
        if result is None:
            assert answer.failure is not None
            self._queue.drop(task.id)
            self._finished.append(as_error("", answer.failure, task.id))
            return
        for array, value in answer.arrays.items():
            self.store.put(array, value)
        node.made(answer.arrays)
        self._durations.note(task, result)
        start, end, slot = result.start + later, result.end + later, node.first_slot + result.process
        here = replace(result, task=task.id, start=start, end=end, process=slot)
        self._queue.drop(here.task)
        self._finished.append(here)

    # -- nodes that come and go -----------------------------------------------------------------------------------

    def look(self) -> None:
        """Start agents on nodes that are new, and give up those that do not start."""
        now = time.monotonic()
        if now - self._looked < LOOK:
            return
        self._looked = now
        for member in connection.members():
            if member.node_id not in self._nodes and member.node_id not in self._starting | self._refused:
                agent = connection.start_agent(member, self._slots_of(member), self._options)
                self._starting[member.node_id] = member, agent, agent.facts.remote(), now + START
        for node_id, (member, agent, _, deadline) in list(self._starting.items()):
            if now > deadline:
                self._refuse(node_id, member.host, f"its agent has not started within {START:.0f} seconds", agent)

    def _admit(self, node_id: str) -> None:
        """Use a node whose agent has started, or refuse it."""
        import ray

        member, agent, answer, _ = self._starting[node_id]
        try:
            objection = connection.objection(self._here, ray.get(answer), self._options.anyway)
        except ray.exceptions.RayError as error:
            objection = f"its agent did not start: {connection.cause(error)}"
        if objection:
            self._refuse(node_id, member.host, objection, agent)
            return
        del self._starting[node_id]
        slots = self._slots_of(member)
        node = self._nodes[node_id] = Node(f"{member.host} ({node_id[:6]})", agent, slots, self._slots)
        self._slots += slots
        node.reset(self._epoch)
        self._events.append(PoolEvent(time.monotonic(), "node joined", f"{node.name} with {slots} processes"))

    def _slots_of(self, member: connection.Member) -> int:
        return min(member.cores, self._options.processes or member.cores)

    def _refuse(self, node_id: str, host: str, why: str, agent: Any) -> None:
        import ray

        del self._starting[node_id]
        ray.kill(agent)
        self._refused[node_id] = f"node {host} ({node_id[:6]}) is not used: {why}"
        self._events.append(PoolEvent(time.monotonic(), "node refused", self._refused[node_id]))

    def _lost(self, node_id: str, error: Exception) -> None:
        """Run the tasks of a lost node on other nodes."""
        node = self._nodes.pop(node_id)
        message = f"{node.name} with {len(node.sent)} tasks: {connection.cause(error)}"
        self._events.append(PoolEvent(time.monotonic(), "node lost", message))
        for task in node.sent.values():
            losses = self._losses.setdefault(task.id, [])
            losses.append(message)
            if len(losses) < LOSSES:
                self._queue.again(task)
            else:
                self._queue.drop(task.id)
                self._finished.append(TaskError(f"{name(task)} has ended {LOSSES} nodes", "\n".join(losses)))
        if not self._nodes:
            try:
                self._wait_for_nodes(ALONE)
            except UsageError as problem:
                raise CellError(f"all nodes of the cluster are gone; the same command continues. {problem}") from error

    def _wait_for_nodes(self, seconds: float) -> None:
        """Wait until there is one node at least, and for those that start with it.

        A cluster in which no node was ever of use, and one was refused, is not waited for.
        """
        end = time.monotonic() + seconds
        while not self._nodes or self._starting:
            self.look()
            hopeless = self._refused and not self._slots
            if not self._nodes and not self._starting and (hopeless or time.monotonic() > end):
                reasons = "; ".join(self._refused.values()) or "it has no free cores"
                raise UsageError(f"no node of the Ray cluster can be used: {reasons}")
            if time.monotonic() > end:
                break
            self._wait(0.2)
