"""One run: ask, submit, wait, deliver, tell, write. Everything that a checkpoint holds is an attribute of `Run`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from erlbench.algorithms import registry
from erlbench.algorithms.base import Algorithm
from erlbench.errors import CellError, Interrupted
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.machine.process import INTERRUPTION
from erlbench.machine.threads import ONE_THREAD
from erlbench.policy import serialise_policy
from erlbench.pool.base import Pool
from erlbench.records.run import CHECKPOINTS, POLICY, TRAINING_END, data_checksum
from erlbench.records.schema import EventRow, Row
from erlbench.records.write import RowFiles
from erlbench.running import checkpoint
from erlbench.running.evaluation import Evaluations
from erlbench.running.folder import RunFolder
from erlbench.running.orders import TaskGraph, delivery_order
from erlbench.running.refusals import keeps_end
from erlbench.running.rows import Asynchrony, Clock, episode_rows, generation_row, task_row
from erlbench.work.rollout import WORST
from erlbench.work.tasks import Result, Task

PATIENCE = 0.2  # seconds that a step waits for a result


@dataclass(eq=False, repr=False)
class Run:
    """Trains and evaluates the algorithm of one cell on one pool, and writes its files.

    `listeners` are called with each row when it is written, `watch` between two steps. One that raises ends the run as
    failed: the rows until then are in their files, and the next start goes on from the last checkpoint.
    """

    cell: Cell
    options: RunOptions
    algorithm: Algorithm[Any, Any]
    pool: Pool
    directory: RunFolder
    files: RowFiles
    stop: threading.Event  # set: the run ends where it can be saved
    _: KW_ONLY
    listeners: list[Callable[[Row], None]] = field(default_factory=list)
    watch: Callable[[], None] = lambda: None
    pauses: Sequence[tuple[float, float]] = ()  # it grows
    saved: checkpoint.Saved | None = None  # a checkpoint to go on from
    begun = False  # whether the run has begun, or gone on from a checkpoint

    def __post_init__(self) -> None:
        self.graph = TaskGraph()
        self.order = delivery_order(self.cell, self.graph, self.algorithm.is_synchronous(self.algorithm.settings))
        self.clock = Clock(self.order.now)
        self.asynchrony = Asynchrony()
        self.evaluations = Evaluations(self.algorithm, self.cell, self.directory)
        self.sweep_at = checkpoint.SWEEP_FROM  # arrays in the store
        self.sums: dict[str, str] = {}  # of the files of a finished run
        self._known_pauses = len(self.pauses)
        self._save_at = time.monotonic() + self.options.checkpoint_every

    def run(self) -> None:
        """Train and evaluate to the end of the budget.

        Where it ends by a signal or an error of the pool, the state is saved; by any other error, the rows alone are.
        """
        try:
            with INTERRUPTION.allow():
                self._begin()
            self.begun = True
            if not self.evaluations.state.final:
                self.train()
                self._end_training()
            self.play_evaluations()
            self._finish()
        except BaseException:
            self.pool.reset()
            with suppress(OSError, CellError):  # such as a full disk, or a folder that is another driver's now
                self.files.flush()
            raise

    def _begin(self) -> None:
        """Go on from the checkpoint that was found; without one, begin."""
        if self.saved is not None:
            checkpoint.restore(self, self.saved)
            self.saved = None
            return
        self.files.start()
        self.take_policy()
        self.save()  # before there is a row: a run with rows always has a checkpoint to go on from
        tasks = self.algorithm.ask()
        self.prepare(tasks)
        self.clock.start()
        self.submit(tasks)
        self.play_beside()

    def train(self) -> None:
        """Ask for tasks and tell their results until there are none, or the evaluation is taken to stop after."""
        while not self._reached():
            self.submit(self.algorithm.ask())
            if self.graph:
                self.step()
            elif self.algorithm.exhausted:
                return
            else:  # the run would be one of a smaller budget
                after = f"after {self.algorithm.counters.timesteps} steps, which are not all of its budget"
                raise CellError(f"{self.cell.algo} asked for no task {after}")

    def _end_training(self) -> None:
        if self._reached():
            self.play_evaluations()
            self.save()
            raise Interrupted(f"stopped after evaluation {self.options.until}")
        self.clock.end_training()
        if keeps_end(self.cell, self.directory, self.options.save_replay):
            self.play_evaluations()
            self.save(TRAINING_END, keep=1)
        self.take_policy(final=True)

    def _finish(self) -> None:
        """Write the policy and the last rows."""
        self.files.sync()
        policy = np.asarray(self.pool.store.load(self.algorithm.policy()))
        data = serialise_policy(policy, self.algorithm.policy_spec)
        self.directory.write(POLICY, data)
        self.sums = self.files.sums() | {POLICY: data_checksum(data)}

    # -- one step -----------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Wait for a result, and take in those whose turn it is."""
        ONE_THREAD.renew()
        if self.order.needs_result():
            self._receive()
        self.clock.tick()
        for result in self.order.due():
            self.clock.tick()
            if result.task in self.graph:
                self._deliver(result)
            else:
                self.write(*self.evaluations.finish(result, self.clock))
        self._between_steps()

    def submit(self, tasks: Sequence[Task]) -> None:
        """Take tasks in that the algorithm asked for, and start those that can."""
        if not tasks:
            return
        ready = self.graph.add(tasks, self.order.now(), self.algorithm.counters)
        self.order.requested(tasks)
        self.pool.submit(ready)
        self.clock.tick()  # simulated time has passed if a generation begins

    def _receive(self) -> None:
        """Wait for a result of the pool, and start the tasks that waited for it."""
        try:
            result = self.pool.next_result(PATIENCE)
            if result is not None:
                self.pool.submit(self.graph.finish(result))
                self.order.arrived(result)
        except (CellError, KeyboardInterrupt):
            self._write_events()  # they tell how it came to this
            self.save()  # the state is whole, and the cause may be gone at the next start
            raise

    def _deliver(self, result: Result) -> None:
        """Tell the algorithm one result, and write its rows; at the end of a generation look at the policy."""
        task, request, held_back = self.graph.pop(result)
        counters, generation = self.algorithm.counters, self.algorithm.counters.generation
        row = task_row(task, result, self.clock, (request, counters))
        self.asynchrony.add(row, result, request.ready)
        self.algorithm.tell(task, result)
        self.graph.request_again(held_back, counters)
        self.write(row, *episode_rows(task, result, counters.timesteps, self.clock))
        if counters.generation > generation:
            self.algorithm.end_generation(self.clock.train)
            metrics = self.algorithm.metrics()
            if getattr(self.algorithm.settings, "nan_fitness", "") == WORST:
                metrics = {**metrics, "nan_fitness": self.asynchrony.nan_returns}
            self.write(generation_row(counters, metrics, self.asynchrony, self.clock))
            if self.evaluations.due():
                self.take_policy()
                self.play_beside()
            checkpoint.free_arrays(self)

    def _between_steps(self) -> None:
        """Nothing is half done here: the one place where a run is shown, saved from time to time, and stopped."""
        self.clock.tick()  # simulated time also passes with results whose turn has not come
        self._write_events()
        self._note_pauses()
        self.files.flush_in_time()
        self.watch()
        if self.stop.is_set() or time.monotonic() >= self._save_at:
            self.save()
        if self.stop.is_set():
            raise Interrupted("interrupted; everything is saved, the same command continues")

    # -- evaluations --------------------------------------------------------------------------------------------------

    def take_policy(self, final: bool = False) -> None:
        """Note the policy as it is now; it is played after the training, or during it (`evaluate = "during"`)."""
        self.evaluations.take_policy(self.clock, checkpoint.state_digest(self), final)

    def play_beside(self) -> None:
        """Have the pool play the evaluations that were taken, if that is wanted before the training ends."""
        if self.cell.evaluate == "during" and not self.order.simulated and self.pool.processes:
            self._submit_evaluations()

    def _submit_evaluations(self) -> None:
        if tasks := self.evaluations.begin_unplayed():
            self.order.requested(tasks)
            self.pool.submit(tasks)

    def play_evaluations(self) -> None:
        """Have the pool play the evaluations that are left, and wait for them.

        A run that stops early has training tasks under way, which can bring further evaluations.
        """
        while self.evaluations.state.pending:
            self._submit_evaluations()
            self.step()

    def _reached(self) -> bool:
        return self.options.until is not None and self.evaluations.state.taken > self.options.until

    # -- around a step ------------------------------------------------------------------------------------------------

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Have the workers there that these first tasks need, and those that will compute gradients."""
        settings = {"env": self.algorithm.context.problem.env, "modules": registry.gradient_modules(self.cell.algo)}
        task = Task(-1, "preparation", "erlbench.work.workspace:prepare", (), settings)
        rollouts = sum(not task.gradient for task in tasks)
        for gradient, workers in ((True, gradient_workers(self.cell, self.pool.processes)), (False, rollouts)):
            if workers:
                self.pool.prepare(replace(task, gradient=gradient), workers, self.stop)

    def save(self, folder: str = CHECKPOINTS, keep: int = checkpoint.KEEP) -> None:
        """Write a checkpoint; the last `keep` of `folder` stay."""
        checkpoint.save(self, folder, keep)
        if folder == CHECKPOINTS:  # from which a run that is killed goes on
            self._save_at = time.monotonic() + self.options.checkpoint_every

    def write(self, *rows: Row) -> None:
        """Write rows to their files, and notify the listeners."""
        for row in rows:
            self.files.write(row)
            for listener in self.listeners:
                listener(row)

    def _write_events(self) -> None:
        """Write what happened in the pool since the last call."""
        for event in self.pool.events():
            moment = self.order.now() if self.order.simulated else event.time
            self.write(EventRow(self.clock.since_start(moment), event.event, event.message))

    def _note_pauses(self) -> None:
        """Write the pauses that have ended since the last call; simulated time does not pass in them."""
        for begin, end in self.pauses[self._known_pauses :]:
            self._known_pauses += 1
            if not self.order.simulated:
                self.clock.pause(begin, end)
            moment = self.clock.total if self.order.simulated else self.clock.since_start(begin)
            self.write(EventRow(moment, "paused", f"nothing ran for {end - begin:.1f} s"))


def gradient_workers(cell: Cell, processes: int) -> int:
    """The gradient workers that a cell will need; none where the run ends before its gradient steps begin."""
    algorithm = registry.find(cell.algo)
    ends_before = cell.total_minutes is None and algorithm.warmup(cell.settings) >= cell.total_timesteps
    if not algorithm.critic_updates or ends_before:
        return 0
    return min(max(1, processes), algorithm.gradient_workers(cell.settings, cell.workers))
