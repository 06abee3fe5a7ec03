"""The driver's view of one node: what was sent there, what it has, and what is asked of it."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from math import ceil
from typing import Any

import numpy as np

from erlbench.pool.cluster.agent import PATIENCE, Batch
from erlbench.work.replica import Extent, ReplayBlock, read_block
from erlbench.work.store import Store
from erlbench.work.tasks import ArrayRef, ReplayView, Task, arrays_of

COLLECT = 5.0  # seconds after which an agent answers without results
LARGE = 64 * 1024  # bytes from which an array travels as an object of Ray's
AHEAD = 2 * PATIENCE  # seconds of work that wait on a node beside what runs: half of it is there when the driver hears
MOST_AHEAD = 64  # tasks per process that wait there at most


class Node:
    """A node whose agent has been accepted."""

    def __init__(self, name: str, agent: Any, slots: int, first_slot: int) -> None:
        self.name = name
        self.agent = agent
        self.slots = slots
        self.first_slot = first_slot  # slots are numbered through all nodes
        self.sent: OrderedDict[int, Task] = OrderedDict()  # and not come back
        self.preparations = 0  # asked for
        self.prepared = 0  # done
        self._has: set[str] = set()
        self._copies: dict[str, Extent] = {}  # replay folder -> how much of it is there
        self._number = 0
        self._free: list[str] = []
        self._post_to = agent.post.options(concurrency_group="post")
        self._collect_from = agent.collect.options(concurrency_group="collect")
        self._answer: Any = None

    def limit(self, seconds: float) -> int:
        """Tasks that may be there at once when one takes `seconds`."""
        ahead = MOST_AHEAD * self.slots if seconds <= 0 else ceil(self.slots * AHEAD / seconds)
        return self.slots + min(ahead, MOST_AHEAD * self.slots)

    def missing(self, task: Task) -> int:
        """Bytes that would have to be sent for `task`, beside its message."""
        total = 0
        for value in task.inputs.values():
            if isinstance(value, ReplayView):
                have = self._copies.get(value.replay, Extent())
                total += 4 * (value.stop - have.transitions) * (value.observation_size + value.action_size + 3)
            total += sum(_size(ref) for ref in arrays_of(value) if ref.name not in self._has)
        return total

    def post(self, tasks: Sequence[Task], store: Store, objects: dict[str, Any]) -> None:
        """Send tasks with the arrays and the replay that they need; `objects`: arrays that Ray holds, by name.

        Raises what pickle raises; then nothing was sent.
        """
        message = pickle.dumps(tasks, pickle.HIGHEST_PROTOCOL)
        arrays: dict[str, np.ndarray] = {}
        shared: dict[str, Any] = {}
        blocks: list[ReplayBlock] = []
        for task in tasks:
            for value in task.inputs.values():
                if isinstance(value, ReplayView):
                    blocks += self._block(value, store)
                for ref in arrays_of(value):
                    if ref.name not in self._has:
                        self._has.add(ref.name)
                        self._add(ref, store, objects, arrays, shared)
            self.sent[task.id] = task
        self._post(
            Batch(
                number=self._number, tasks=message, arrays=arrays, objects=shared, free=self._take_free(), blocks=blocks
            )
        )

    def prepare(self, task: Task, workers: int) -> None:
        """Run `task` on `workers` workers of the node now."""
        self.preparations += 1
        self._post(Batch(number=self._number, prepare=(task, workers)))

    def free(self, names: Iterable[str]) -> None:
        """Have the node remove arrays, with the next batch."""
        for name in names:
            if name in self._has:
                self._has.discard(name)
                self._free.append(name)

    def made(self, names: Iterable[str]) -> None:
        """The node has arrays that its own tasks made."""
        self._has.update(names)

    def reset(self, epoch: int) -> None:
        """Have the node forget all tasks, arrays and replays."""
        self.sent.clear()
        self._has.clear()
        self._copies.clear()
        self._free.clear()
        self._post(Batch(number=self._number, epoch=epoch))

    def ask(self) -> Any:
        """What will be the node's answer; it is asked for if it has not been."""
        if self._answer is None:
            self._answer = self._collect_from.remote(COLLECT)
        return self._answer

    def answered(self) -> None:
        """Note that the answer has come: what is posted next asks again."""
        self._answer = None

    def _post(self, batch: Batch) -> None:
        self._number += 1
        if self._answer is None:
            self._answer = self._collect_from.remote(COLLECT, batch)  # one call instead of two
        else:
            self._post_to.remote(batch)

    def _take_free(self) -> list[str]:
        free, self._free = self._free, []
        return free

    def _block(self, view: ReplayView, store: Store) -> list[ReplayBlock]:
        have = self._copies.get(view.replay, Extent())
        if have.transitions >= view.stop:
            return []
        block, self._copies[view.replay] = read_block(view, store.replay_folder(view.replay), have)
        return [block]

    def _add(
        self,
        ref: ArrayRef,
        store: Store,
        objects: dict[str, Any],
        arrays: dict[str, np.ndarray],
        shared: dict[str, Any],
    ) -> None:
        if _size(ref) < LARGE:
            arrays[ref.name] = store.get(ref)
            return
        if ref.name not in objects:
            import ray

            objects[ref.name] = ray.put(store.get(ref))
        shared[ref.name] = objects[ref.name]


def _size(ref: ArrayRef) -> int:
    return int(np.prod(ref.shape, dtype=np.int64)) * np.dtype(ref.dtype).itemsize
