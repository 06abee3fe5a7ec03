"""A search in this process, a generation at a time and without a folder: to look at what it does."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from erlbench.algorithms import registry
from erlbench.algorithms.base import Algorithm, Context
from erlbench.envs.registry import Problem
from erlbench.pool.serial import SerialPool
from erlbench.records.schema import GenerationRow, TaskRow
from erlbench.running.loop import Loop
from erlbench.settings import resolve
from erlbench.work.replay import Replay
from erlbench.work.store import Store
from erlbench.work.tasks import Task

ENDLESS = 10**15  # training steps


Note = Callable[[Store, Task], object]


class NotingPool(SerialPool):
    """It shows each task to `note` when it gets it: the arrays of the task are in the store then."""

    def __init__(self, note: Note) -> None:
        super().__init__()
        self._note = note

    def submit(self, tasks: Iterable[Task]) -> None:
        tasks = [*tasks]
        for task in tasks:
            self._note(self.store, task)
        super().submit(tasks)


class SearchHere:
    """An algorithm and its pool; a context."""

    def __init__(
        self, algo: str, env: str, task: Problem, overrides: Mapping[str, Any], seed: int = 0, preset: str = "paper",
        note: Note = lambda store, task: None,
    ) -> None:  # fmt: skip
        """`task` is the problem that `env` names, `note` sees each task. `UsageError` for settings that cannot run."""
        self.cpu_s = 0.0  # processor time of all tasks so far, evaluations and sums of noise
        cls = registry.find(algo)
        settings = resolve(cls.settings_type, env, registry.preset(algo, preset), overrides)
        cls.check(settings, task)
        with ExitStack() as ends:
            folder = ends.enter_context(tempfile.TemporaryDirectory())
            self.pool = ends.enter_context(NotingPool(note))
            replay = Replay(Path(folder) / "replay", task.observation_size, task.action_size, self.pool.store)
            ends.enter_context(closing(replay))
            self.algorithm: Algorithm[Any, Any] = cls(
                settings,
                Context(
                    problem=task, seed=seed, total_timesteps=ENDLESS, workers=cls.default_workers or 10,
                    store=self.pool.store, replay=replay,
                ),
            )  # fmt: skip
            self._ends = ends.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.close()

    def parameters(self) -> np.ndarray:
        """The reported policy's, float32 `(size,)`: a copy."""
        return np.array(self.pool.store.load(self.algorithm.policy()))

    def generations(self) -> Iterator[int]:
        """How many generations have ended, after each; the caller ends it."""
        loop = Loop(self.algorithm, self.pool)
        loop.begin()
        for record in loop.train():
            if isinstance(record, TaskRow):
                self.cpu_s += record.cpu_s
            elif isinstance(record, GenerationRow):
                yield self.algorithm.counters.generation
