"""One cell from its first task to its last evaluation: the loop, and those who listen to it."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from erlbench.algorithms.base import Algorithm
from erlbench.errors import Interrupted
from erlbench.policy import serialise_policy
from erlbench.pool import Abandoned, Pool
from erlbench.records.run import POLICY, TRAINING_END, checksum
from erlbench.running.evaluating import EvaluationStage
from erlbench.running.evaluation import Evaluator, Pending
from erlbench.running.kept_policies import KeptPolicies
from erlbench.running.lease import LostLease
from erlbench.running.listeners import Listener
from erlbench.running.listeners.checkpoints import Checkpoints
from erlbench.running.listeners.files import RowFiles
from erlbench.running.loop import WHOLE, WORKS, Loop, Record
from erlbench.running.orders import ArrivalOrder
from erlbench.running.results import RunDirectory
from erlbench.running.resume import resume
from erlbench.work.tasks import Task


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """How a cell is driven; none of it changes what a synchronous algorithm computes."""

    eval_freq: int
    eval_episodes: int
    final_episodes: int
    checkpoint_every: float = 60.0  # seconds
    gradient_workers: int = 0  # that the training will need; they are there before the clock starts
    modules: tuple[str, ...] = ()  # that those import besides torch
    keep_end: bool = False  # keep a checkpoint of the training's end, from which a larger budget goes on
    keep_all: bool = False  # keep a checkpoint of each evaluation
    until: int | None = None  # the evaluation after which the run stops


class Training:
    """Trains and evaluates one algorithm on one pool, and hands all that happens to the listeners.

    `aside` is a pool for evaluations on the way, if these are to run beside the training.
    """

    def __init__(
        self,
        algorithm: Algorithm[Any, Any],
        pool: Pool,
        directory: RunDirectory,
        files: RowFiles,
        options: TrainingOptions,
        stop: threading.Event,
        listeners: Sequence[Listener] = (),
        aside: Pool | None = None,
        order: Callable[[ArrivalOrder], ArrivalOrder] = lambda order: order,
        pauses: Callable[[], Sequence[tuple[float, float]]] = tuple,
    ) -> None:
        self.directory = directory
        self.files = files
        self.options = options
        self.loop = Loop(algorithm, pool, order, pauses)
        evaluator = Evaluator(algorithm, options.eval_freq, options.eval_episodes, options.final_episodes)
        self.evaluations = EvaluationStage(self.loop, evaluator, self._keep, aside)
        self.checkpoints = Checkpoints(
            self.loop, self.evaluations, files, directory, options.checkpoint_every, options.keep_all
        )
        self.listeners: tuple[Listener, ...] = (
            files, self.checkpoints, *listeners, self._stop_if_asked
        )  # fmt: skip
        self.stop = stop  # set: the run ends where it can be saved
        self.begun = False  # whether the run has begun, or gone on from a checkpoint
        self.sums: dict[str, str] = {}  # of the files of a finished run
        self._pools = [pool] if aside is None else [pool, aside]
        self._policies = KeptPolicies(directory.path, algorithm.policy_spec, pool.store.load)

    def run(self) -> None:
        """Train and evaluate to the end of the budget, or raise; what was reached is saved in either case."""
        try:
            self._begin()
            self.begun = True
            self._train()
            self._finish()
        except LostLease:
            self.files.discard()
            self.loop.pool.reset()
            raise
        except Abandoned:
            self.loop.pool.reset()
            raise
        except BaseException:
            self.loop.phase = WORKS  # so that it is waited for
            for pool in self._pools:
                pool.reset()
            with suppress(OSError):
                self.files.write()
            raise

    def _stop_if_asked(self, record: Record) -> None:
        """The last listener: once somebody has asked for the end, save the run and raise `Interrupted`."""
        if record is WHOLE and self.stop.is_set():
            self.save()
            raise Interrupted("interrupted; everything is saved, the same command continues")

    def save(self) -> None:
        """Write a checkpoint; also from another thread while this one waits for a result."""
        self.checkpoints.save()

    def _begin(self) -> None:
        if self._hear(resume(self.directory.path, self.loop, self.evaluations, self.files, self._prepare)):
            return
        self.files.start()
        self._hear([self.evaluations.take()])
        self.save()  # before there is a row: a run with rows always has a checkpoint to go on from
        self.loop.begin(self.options.gradient_workers, self.options.modules)

    def _train(self) -> None:
        state = self.evaluations.evaluator.state
        if state.final:
            return
        if not self._reached():
            self._hear(self._until_reached(self.evaluations.follow(self.loop.train())))
        if self._reached():
            self._hear(self.evaluations.rest())
            self.save()
            raise Interrupted(f"stopped after evaluation {self.options.until}")
        self.loop.clock.end_training()
        if self.options.keep_end:
            self._hear(self.evaluations.rest())
            self.checkpoints.save(TRAINING_END, keep=1)
        self._hear([self.evaluations.take(final=True)])

    def _finish(self) -> None:
        """Write the rows of the evaluations that are left, and the policy."""
        self._hear(self.evaluations.rest())
        self.files.flush()
        self.files.sync()
        algorithm, store = self.loop.algorithm, self.loop.pool.store
        data = serialise_policy(np.asarray(store.load(algorithm.policy())), algorithm.policy_spec)
        self.directory.write(POLICY, data)
        self.sums = self.files.sums() | {POLICY: checksum(len(data), zlib.crc32(data))}

    def _hear(self, records: Iterable[Record]) -> bool:
        """Hand records to all listeners; whether there were any."""
        heard = False
        for record in records:
            heard = True
            for listener in self.listeners:
                listener(record)
        return heard

    def _until_reached(self, records: Iterable[Record]) -> Iterator[Record]:
        """The records to the end, or until the evaluation is taken after which the run stops."""
        for record in records:
            yield record
            if record is WHOLE and self._reached():
                return

    def _reached(self) -> bool:
        until, state = self.options.until, self.evaluations.evaluator.state
        return until is not None and state.taken > until

    def _prepare(self, tasks: Sequence[Task]) -> None:
        self.loop.prepare(tasks, self.options.gradient_workers, self.options.modules)

    def _keep(self, pending: Pending) -> str:
        """Keep the policy of an evaluation whose row comes next; the SHA-256 of its file."""
        self.directory.check()
        return self._policies.add(pending, self.evaluations.evaluator.state.shown)
