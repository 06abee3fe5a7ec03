"""One cell from its first task to its last evaluation: the loop between an algorithm and a pool."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from erlbench.algorithms.base import Algorithm
from erlbench.errors import CellError, Interrupted
from erlbench.policy import serialise_policy
from erlbench.pool import Abandoned, Pool
from erlbench.running.checkpoint import (
    KEEP,
    DamagedCheckpoint,
    checkpoints,
    load_checkpoint,
    references,
    save_checkpoint,
)
from erlbench.running.clock import Clock
from erlbench.running.durable import sync_folder
from erlbench.running.evaluation import FIRST_ID, Evaluator, Pending
from erlbench.running.kept_policies import KeptPolicies, Stretch
from erlbench.running.lease import LostLease
from erlbench.running.live_arrays import LiveArrays
from erlbench.running.outstanding import Outstanding
from erlbench.running.recorder import Recorder
from erlbench.running.results import CHECKPOINTS, KEPT, POLICY, TRAINING_END, RunDirectory, checksum
from erlbench.running.state_digest import StateDigest
from erlbench.work.preparation import Preparation
from erlbench.work.tasks import Result, Task, arrays_of

PATIENCE = 0.2  # seconds between two looks at the stop flag
FLUSH_EVERY = 1.0  # seconds between two writes of the rows
# What a driver does. Another thread may call `save` while it waits, and leave it alone while it begins.
BEGINS, WAITS, WORKS = "begins", "waits", "works"
NODES = ("node joined", "node lost", "node refused")  # events that the user is told at once


@dataclass(frozen=True)
class DriverOptions:
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
    scored: tuple[Stretch, ...] = ()  # of a plan: the policies in them are kept


class Driver:
    """Drives one algorithm on one pool and records what happens.

    Results of a synchronous algorithm are delivered in task-id order, whatever the order in which they arrive.
    Evaluations on the way run in the pool `aside`, one at a time; without one, and what it has not begun when the
    training is over, in the pool of the training after it.
    """

    def __init__(
        self,
        algorithm: Algorithm[Any, Any],
        pool: Pool,
        directory: RunDirectory,
        recorder: Recorder,
        options: DriverOptions,
        stop: threading.Event,
        watch: Callable[[Driver], None] = lambda driver: None,
        aside: Pool | None = None,
        pauses: Callable[[], Sequence[tuple[float, float]]] = tuple,
    ) -> None:
        self.algorithm = algorithm
        self.pool = pool
        self.directory = directory
        self.recorder = recorder
        self.options = options
        self.evaluator = Evaluator(algorithm, options.eval_freq, options.eval_episodes, options.final_episodes)
        self.clock = Clock(pool.now)
        self.last_return: float | None = None
        self._digest = StateDigest(pool.store)
        self._policies = KeptPolicies(directory.path, algorithm.policy_spec, pool.store.load, options.scored)
        self._pauses = pauses
        self._known_pauses = len(pauses())
        self._stop = stop
        self._watch = watch
        self._outstanding = Outstanding(in_order=algorithm.is_synchronous(algorithm.settings))
        self._arrays = LiveArrays(pool.store)
        self._aside = aside
        self._pools = [pool] if aside is None else [pool, aside]
        self._evaluating: int | None = None  # the task that `aside` has
        self._saved = self._flushed = time.monotonic()
        self.phase = BEGINS
        self.begun = False  # whether the run has begun, or gone on from a checkpoint
        self.warnings: list[str] = []
        self.sums: dict[str, str] = {}  # of the files of a finished run

    # -- the loop -------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Train and evaluate to the end of the budget, or raise; what was reached is saved in either case."""
        try:
            self._begin()
            self.begun = True
            self._train()
            self._finish()
        except LostLease:
            self.recorder.discard()
            self.pool.reset()
            raise
        except Abandoned:
            self.pool.reset()
            raise
        except BaseException:
            self.phase = WORKS  # so that it is waited for
            for pool in self._pools:
                pool.reset()
            with suppress(OSError):
                self.recorder.flush()
            raise

    def _begin(self) -> None:
        if self._resume():
            return
        self.recorder.start()
        self._evaluate()
        self.save()  # before there is a row: a run with rows always has a checkpoint to go on from
        tasks = self.algorithm.ask()
        self._prepare(tasks)
        self.clock.start()
        self._submit(tasks)

    def _prepare(self, tasks: Sequence[Task]) -> None:
        """Have the workers there that the first tasks need, and those that will compute gradients."""
        settings = Preparation(self.algorithm.context.problem.env, self.options.modules)
        task = Task(-1, "preparation", "erlbench.work.preparation:prepare", (), settings)
        for gradient, workers in (
            (True, self.options.gradient_workers),
            (False, sum(not task.gradient for task in tasks)),
        ):
            if workers:
                self.pool.prepare(replace(task, gradient=gradient), workers)

    def _train(self) -> None:
        while True:
            if self._reached():
                self._evaluate_rest()
                self.save()
                raise Interrupted(f"stopped after evaluation {self.options.until}")
            if not self.evaluator.state.final:
                self._submit(self.algorithm.ask())
            if not self._outstanding.tasks:
                break
            self._step()
        if not self.evaluator.state.final:
            self.clock.end_training()
            if self.options.keep_end:
                self._evaluate_rest()
                self.save(TRAINING_END, keep=1)
            self._evaluate(final=True)

    def _finish(self) -> None:
        """Write the rows of the evaluations that are left."""
        self._evaluate_rest()
        self._flush()
        self.recorder.sync()
        policy = np.asarray(self.pool.store.load(self.algorithm.policy()))
        data = serialise_policy(policy, self.algorithm.policy_spec)
        self.directory.write(POLICY, data)
        self.sums = self.recorder.sums() | {POLICY: checksum(len(data), zlib.crc32(data))}

    def _evaluate_rest(self) -> None:
        """Have the pool of the training make the evaluations that are left."""
        self.pool.submit(task for task in self._unevaluated() if task.id != self._evaluating)
        while self.evaluator.state.pending:
            self._step()

    def _step(self) -> None:
        """Wait for one result and take it in; save from time to time."""
        try:
            self.phase = WAITS
            result = self._next_result()
            self.phase = WORKS
        except CellError:
            self._take_events()  # they tell how it came to this
            self.save()  # the state is whole, and the cause may be gone at the next start
            raise
        self.clock.tick()
        self._take_events()
        if result is not None:
            self._receive(result)
        if self._stop.is_set():
            self.save()
            raise Interrupted("interrupted; everything is saved, the same command continues")
        now = time.monotonic()
        if now - self._saved >= self.options.checkpoint_every:
            self.save()
        if now - self._flushed >= FLUSH_EVERY:
            self._flush()
        self._watch(self)

    def _next_result(self) -> Result | None:
        """Of the training as soon as there is one; of the evaluation aside when it is looked at."""
        if self._aside is not None and self._evaluating is not None:
            alone = not self._outstanding.tasks and len(self._unevaluated()) == 1
            result = self._aside.next_result(PATIENCE if alone else 0.0)
            if result is not None:
                return replace(result, process=self.pool.processes)
        return self.pool.next_result(PATIENCE)

    def _flush(self) -> None:
        self._take_pauses()
        self.directory.check()
        self.recorder.check_places()
        self.recorder.flush()
        self._flushed = time.monotonic()

    def _take_events(self) -> None:
        for pool in self._pools:
            for event in pool.events():
                self.recorder.event(event.event, event.message, self.clock.since_start(event.time))
                if event.event in NODES:
                    self.warnings.append(f"{event.event}: {event.message}")

    def _take_pauses(self) -> None:
        """Note the pauses that have ended; simulated time does not pass in them."""
        pauses = self._pauses()
        for begin, end in pauses[self._known_pauses :]:
            real = not self.pool.state()
            if real:
                self.clock.pause(begin, end)
            moment = self.clock.since_start(begin) if real else self.clock.total
            self.recorder.event("paused", f"nothing ran for {end - begin:.1f} s", moment)
        self._known_pauses = len(pauses)

    # -- tasks out, results in ------------------------------------------------------------------------------------

    def _submit(self, tasks: Iterable[Task]) -> None:
        tasks = list(tasks)
        if not tasks:
            return
        self._arrays.add(ref for task in tasks for value in task.inputs.values() for ref in arrays_of(value))
        self._outstanding.add(tasks, self.pool.now(), self.algorithm.counters)
        self.pool.submit(tasks)
        self.clock.tick()  # simulated time has passed if a generation begins

    def _receive(self, result: Result) -> None:
        if result.task not in self._outstanding.tasks:
            self.recorder.task(result, "evaluation", 0, self.clock)
            for row in self.evaluator.finish(result, self._keep_policy):
                self.recorder.eval.write(row)
                self.last_return = row["return_mean"]
            if result.task == self._evaluating:
                self._evaluating = None
                self._evaluate_aside()
            self._flush()
            return
        for told in self._outstanding.in_turn(result):
            self._deliver(told)

    def _deliver(self, result: Result) -> None:
        """Tell the algorithm one result and write its rows."""
        task, asked, held_back = self._outstanding.remove(result)
        self._arrays.add(result.arrays.values())
        counters, generation = self.algorithm.counters, self.algorithm.counters.generation
        self.recorder.task(result, task.kind, task.individual, self.clock, asked, counters)
        self.algorithm.tell(task, result)
        self._outstanding.ask_again(held_back, counters)
        self.recorder.played(task, result, counters.timesteps, self.clock)
        if counters.generation > generation:
            self.algorithm.end_generation(self.clock.train)
            self.recorder.generation(counters, self.algorithm.metrics(), self.clock)
            if self.evaluator.due():
                self._evaluate()
        self._sweep()

    def _evaluate(self, final: bool = False) -> None:
        self._take_pauses()
        out, pool = self._outstanding, self.pool.state(self._outstanding.arrived.values())
        digest = self._digest(self.algorithm, out.tasks.values(), self.evaluator.state, pool)
        task = self.evaluator.take(self.clock, digest, final)
        self._arrays.add(references(task))
        self._evaluate_aside()
        if self.options.keep_all and not final:
            self.save(KEPT, number=task.id - FIRST_ID + 1)

    def _keep_policy(self, pending: Pending) -> str:
        self.directory.check()
        return self._policies.add(pending, self.evaluator.state.shown)

    def _reached(self) -> bool:
        """Whether the evaluation is taken after which the run is to stop."""
        until, state = self.options.until, self.evaluator.state
        return until is not None and not state.final and state.taken > until

    def _evaluate_aside(self) -> None:
        """Begin the next evaluation beside the training; those at its end are not begun here."""
        if self._aside is None or self._evaluating is not None or self.clock.ended:
            return
        task = next(iter(self._unevaluated()), None)
        if task is not None:
            self._evaluating = task.id
            self._aside.submit([task])

    def _unevaluated(self) -> list[Task]:
        return [pending.task for pending in self.evaluator.state.pending if pending.values is None]

    def _sweep(self) -> None:
        """Free the arrays that neither the algorithm nor a task refers to any more."""
        if self._arrays.many:
            tasks, arrived = self._outstanding.tasks, self._outstanding.arrived
            self._arrays.free_but((self.algorithm.snapshot(), tasks, self.evaluator.state, arrived))

    # -- checkpoints ----------------------------------------------------------------------------------------------

    def save(self, folder: str = CHECKPOINTS, keep: int = KEEP, number: int | None = None) -> None:
        """Write a checkpoint: the algorithm, the tasks that are out, and the arrays that they refer to.

        The files that it describes reach the disk before it does. The last `keep` of `folder` stay; all, if it has a
        `number` of its own.
        """
        self._flush()
        self.recorder.sync()
        replay = self.algorithm.context.replay
        replay.flush()
        sync_folder(replay.folder)
        payload = {
            "algorithm": self.algorithm.snapshot(),
            "outstanding": list(self._outstanding.tasks.values()),
            "evaluation": self.evaluator.state,
            "replay": replay.state(),
            "clock": self.clock.state(),
            "files": self.recorder.state(),
            "pool": self.pool.state(self._outstanding.arrived.values()),
            "last_return": self.last_return,
            "asynchrony": self.recorder.asynchrony,
            "asked": self._outstanding.state(),
        }
        arrays = {ref.name: self.pool.store.get(ref) for ref in references(payload)}
        save_checkpoint(self.directory.path / folder, payload, arrays, keep, number)
        sync_folder(self.directory.path)
        self._saved = time.monotonic()

    def _resume(self) -> bool:
        """Go on from the newest checkpoint that is whole; False when there is none."""
        reasons = []
        for path in (path for name in (CHECKPOINTS, TRAINING_END) for path in checkpoints(self.directory.path / name)):
            try:
                payload, arrays = load_checkpoint(path)
                self.recorder.check(payload["files"])
                self.algorithm.context.replay.restore(payload["replay"])
            except (DamagedCheckpoint, CellError) as error:
                reasons.append(f"{path.parent.name} {path.name} cannot be used: {error}")
                continue
            self._restore(payload, arrays, path.parent.name == TRAINING_END)
            message = f"continued at {self.algorithm.counters.timesteps} timesteps from {path.parent.name} {path.name}"
            for reason in reasons:
                self.recorder.event("discarded", reason, self.clock.total)
            self.recorder.event("resumed", message, self.clock.total)
            self.warnings = reasons
            return True
        if reasons:
            raise CellError("; ".join(reasons) + "; repair the files, or start anew by --force")
        return False

    def _restore(self, payload: dict[str, Any], arrays: dict[str, np.ndarray], ended: bool) -> None:
        """Go on from a checkpoint; one of the end of a training goes on with a larger budget."""
        for ref in references(payload):
            self.pool.store.put(ref.name, arrays[ref.name])
        self._arrays.add(references(payload))
        self.recorder.restore(payload["files"])
        self.recorder.asynchrony = payload.get("asynchrony") or self.recorder.asynchrony
        self.algorithm.restore(payload["algorithm"])
        self.evaluator.state = payload["evaluation"]
        self.pool.restore(payload["pool"])
        self.last_return = payload["last_return"]
        clock = payload["clock"]
        if ended:
            clock = {"total": clock["trained"], "trained": None}
            self.clock.restore(clock)
            if self.evaluator.due():  # at the end of the smaller budget only the final evaluation was
                self._evaluate()
        tasks = payload["outstanding"]
        if not tasks and not self.evaluator.state.final:
            tasks = self.algorithm.ask()  # of a run that was stopped before its first task
        self._prepare(tasks)
        self.clock.restore(clock)
        self._submit(tasks)
        self._outstanding.restore(payload.get("asked", {}), bool(payload["pool"]))  # real clocks begin anew
        self._evaluate_aside()
