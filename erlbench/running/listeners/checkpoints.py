"""Saves a run from time to time: all that the next start needs to go on with the same numbers."""

from __future__ import annotations

import time
from typing import Any

from erlbench.records.run import CHECKPOINTS, KEPT
from erlbench.running.checkpoint import KEEP, save_checkpoint
from erlbench.running.durable import sync_folder
from erlbench.running.encoding import references
from erlbench.running.evaluating import EvaluationStage
from erlbench.running.listeners.files import RowFiles
from erlbench.running.loop import BEGINS, FAILING, WHOLE, Loop, Record, Taken
from erlbench.running.results import RunDirectory

FIRST = 10.0  # seconds that a run trains before it is first saved; a longer interval counts from then on


class Checkpoints:
    """Saves every so many seconds, when a task fails, and with `keep_all` at each evaluation."""

    def __init__(
        self,
        loop: Loop,
        evaluations: EvaluationStage,
        files: RowFiles,
        directory: RunDirectory,
        every: float,
        keep_all: bool,
    ) -> None:
        self._loop = loop
        self._evaluations = evaluations
        self._files = files
        self._directory = directory
        self._every = every
        self._keep_all = keep_all
        self._due = time.monotonic() + min(every, FIRST)

    def __call__(self, record: Record) -> None:
        """Save where a record says that it is time."""
        if isinstance(record, Taken):
            if self._keep_all and not record.final:
                self.save(KEPT, number=record.number + 1)
        elif record is FAILING or (record is WHOLE and time.monotonic() >= self._due):
            self.save()  # where a task fails, too: the state is whole, and the cause may be gone at the next start

    def save(self, folder: str = CHECKPOINTS, keep: int = KEEP, number: int | None = None) -> None:
        """Write a checkpoint: the algorithm, the tasks that are out, and the arrays that they refer to.

        The files that it describes reach the disk before it does. The last `keep` of `folder` stay; all, if it has a
        `number` of its own.
        """
        self._files.flush()
        self._files.sync()
        replay = self._loop.algorithm.context.replay
        replay.flush()
        sync_folder(replay.folder)
        payload = self._payload()
        arrays = {ref.name: self._loop.pool.store.get(ref) for ref in references(payload)}
        save_checkpoint(self._directory.path / folder, payload, arrays, keep, number)
        sync_folder(self._directory.path)
        if folder == CHECKPOINTS:  # from which a run that is killed goes on
            begins = self._loop.phase == BEGINS  # nothing is trained yet
            self._due = time.monotonic() + (min(self._every, FIRST) if begins else self._every)

    def _payload(self) -> dict[str, Any]:
        loop = self._loop
        return {
            "algorithm": loop.algorithm.snapshot(),
            "outstanding": list(loop.graph.tasks.values()),
            "evaluation": self._evaluations.evaluator.state,
            "replay": loop.algorithm.context.replay.state(),
            "clock": loop.clock.state(),
            "files": self._files.state(),
            "pool": loop.order.state(),
            "last_return": self._evaluations.last_return,
            "asynchrony": loop.asynchrony,
            "asked": loop.graph.state(),
        }
