"""EvaluationStage in the stream of a run: taken at the end of generations, played beside the training or after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from erlbench.errors import CellError
from erlbench.pool import Pool
from erlbench.records.schema import GenerationRow
from erlbench.running.encoding import references
from erlbench.running.evaluation import FIRST_ID, Evaluator, Pending
from erlbench.running.loop import FAILING, WHOLE, Loop, Record, Taken
from erlbench.running.rows import task_row
from erlbench.running.state_digest import StateDigest
from erlbench.work.tasks import Result, Task


class EvaluationStage:
    """Takes evaluations when they are due, and adds their rows to the stream.

    Those on the way run in the pool `aside`, one at a time. Without one, and what it has not begun when the training is
    over, they run in the pool of the training after it. `keep` keeps a policy and gives the SHA-256 of its file.
    """

    def __init__(self, loop: Loop, evaluator: Evaluator, keep: Callable[[Pending], str], aside: Pool | None) -> None:
        self.evaluator = evaluator
        self.last_return: float | None = None
        self._loop = loop
        self._keep = keep
        self._aside = aside
        self._digest = StateDigest(loop.pool.store)
        self._beside: int | None = None  # the task that `aside` has
        loop.holders = lambda: self.evaluator.state

    def follow(self, records: Iterable[Record]) -> Iterator[Record]:
        """The records with those of the evaluations."""
        for record in records:
            if isinstance(record, Result):
                yield from self._finished(record)
                continue
            if record is WHOLE:
                yield from self._look_beside()
            yield record
            if isinstance(record, GenerationRow) and self.evaluator.due():
                yield self.take()

    def take(self, final: bool = False) -> Taken:
        """Take the policy as it is now."""
        loop, state = self._loop, self.evaluator.state
        digest = self._digest(loop.algorithm, loop.graph.tasks.values(), state, loop.order.state())
        task = self.evaluator.take(loop.clock, digest, final)
        loop.arrays.add(references(task))
        self.begin_beside()
        return Taken(task.id - FIRST_ID, final)

    def begin_beside(self) -> None:
        """Begin the next evaluation beside the training; those at its end are not begun here."""
        if self._aside is None or self._beside is not None or self._loop.clock.ended:
            return
        if (task := next(iter(self._unplayed()), None)) is not None:
            self._beside = task.id
            self._aside.submit([task])

    def rest(self) -> Iterator[Record]:
        """Have the pool of the training play the evaluations that are left."""
        tasks = [task for task in self._unplayed() if task.id != self._beside]
        self._loop.order.requested(tasks)
        self._loop.pool.submit(tasks)
        while self.evaluator.state.pending:
            yield from self.follow(self._loop.step(self._patiently_beside()))

    def _patiently_beside(self) -> Callable[[float], Result | None] | None:
        """Where to wait for the next result if only the evaluation beside the training is left."""
        if self._aside is None or self._beside is None or self._loop.graph or len(self._unplayed()) > 1:
            return None
        return self._aside.next_result

    def _look_beside(self) -> Iterator[Record]:
        """Take in the evaluation beside the training if it has ended."""
        if self._aside is None:
            return
        yield from self._loop.events(self._aside)
        if self._beside is None:
            return
        try:
            result = self._aside.next_result(0.0)
        except CellError:
            yield from self._loop.events(self._aside)
            yield FAILING
            raise
        if result is not None:
            yield from self._finished(result)

    def _finished(self, result: Result) -> Iterator[Record]:
        """The rows of a task that has played, and of the evaluations whose turn it is now."""
        beside = result.task == self._beside
        if beside:
            result = replace(result, process=self._loop.pool.processes)
        _, task = self.evaluator.asked(result)
        yield task_row(task, result, self._loop.clock)
        for row in self.evaluator.finish(result, self._keep):
            self.last_return = row.return_mean
            yield row
        if beside:
            self._beside = None
            self.begin_beside()

    def _unplayed(self) -> list[Task]:
        return [task for pending in self.evaluator.state.pending for task in pending.unplayed()]
