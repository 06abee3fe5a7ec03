"""A pool that computes nothing: results are made up, so that only the schedule of an algorithm remains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, cycle
from typing import Any

import numpy as np

from erlbench.errors import UsageError
from erlbench.pool.base import PoolBase, Queue
from erlbench.work.seeding import generator
from erlbench.work.store import Store
from erlbench.work.tasks import ArrayRef, Counts, Input, Perturbed, Result, Task


class ImaginedPool(PoolBase):
    """Episodes have the `lengths` in turn, again and again; their returns are noise, and gradient steps change nothing.

    Lengths may be those of each kind of task; a task of any other kind has all of them in turn.
    It knows rollouts, the sums of noise of evolution strategies, and the critic and actor tasks of AES-RL, P-CEM-RL and
    CEM-RL; a `UsageError` for any other.
    """

    processes = 0
    device = "cpu"

    def __init__(self, lengths: Sequence[int] | Mapping[str, Sequence[int]]) -> None:
        super().__init__()
        self.store = Store.create()
        by_kind = lengths if isinstance(lengths, Mapping) else {"": lengths}
        self._lengths = {kind: cycle(found) for kind, found in by_kind.items()}
        self._all = cycle([*chain.from_iterable(by_kind.values())])
        self._queue = Queue(lambda task: None)

    def prepare(self, task: Task, workers: int) -> None:
        """There is nobody to be prepared."""

    def submit(self, tasks: Iterable[Task]) -> None:
        self._queue.add(tasks)

    def next_result(self, timeout: float | None = None) -> Result | None:
        if not self._queue.ready(None):
            return None
        task = self._queue.pop(None)
        values, arrays = self._outcome(task)
        result = Result(task.id, values, arrays, 0.0, 0.0, 0)
        self._queue.finish(result)
        return result

    def _outcome(self, task: Task) -> tuple[Mapping[str, Any], Mapping[str, ArrayRef]]:
        name = task.function.rpartition(":")[2]
        if name == "rollout":
            random = generator(*task.key)
            episodes = 1 if task.counts == Counts.EVALUATION else int(task.settings.episodes)
            turn = self._lengths.get(task.kind, self._all)
            lengths = [next(turn) for _ in range(episodes)]
            return {"returns": list(random.standard_normal(episodes)), "lengths": lengths, "observed": 0}, {}
        if name == "update_critic":
            return {"critic_updates": _updates(task), "critic_loss": 0.0}, {"critic": _reference(task.inputs["critic"])}
        if name == "train_actor":
            return {"actor_updates": _updates(task)}, {"parameters": _reference(task.inputs["parameters"])}
        if name == "noise_sum":
            return {}, {"sum": self.store.put(f"{task.id}.sum", np.zeros(int(task.settings.size)))}
        raise UsageError(f"there is no forecast for an algorithm with tasks such as '{task.kind}' ({task.function})")

    def interrupt(self) -> None:
        """Nothing runs."""

    def running(self) -> Mapping[int, Task]:
        return {}

    def now(self) -> float:
        return 0.0

    def reset(self) -> None:
        self._queue.clear()

    def close(self) -> None:
        self.store.close()


def _updates(task: Task) -> int:
    settings: Any = task.settings  # `Updates` of `algorithms.training.update_settings`
    return int(settings.updates)


def _reference(value: Input) -> ArrayRef:
    """An array of the right shape: the input's own, or the centre that it is a perturbation of."""
    found = value.centre if isinstance(value, Perturbed) else value
    assert isinstance(found, ArrayRef)
    return found
