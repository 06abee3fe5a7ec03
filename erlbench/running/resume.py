"""Going on from a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.errors import CellError
from erlbench.records.run import CHECKPOINTS, TRAINING_END
from erlbench.records.schema import RESUMED, EventRow
from erlbench.running.checkpoint import checkpoints, load_checkpoint
from erlbench.running.encoding import DamagedCheckpoint, references
from erlbench.running.evaluating import EvaluationStage
from erlbench.running.listeners.files import RowFiles
from erlbench.running.loop import Loop, Record
from erlbench.running.vocabulary import Vocabulary
from erlbench.work.tasks import Task

WRONG = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)  # of a state that no run wrote
Prepare = Callable[[Sequence[Task]], None]


def resume(run: Path, loop: Loop, evaluations: EvaluationStage, files: RowFiles, prepare: Prepare) -> Iterator[Record]:
    """Go on from the newest checkpoint that is whole; no record where there is none.

    `prepare` has the workers there that tasks need. Raises `CellError` when there are only damaged checkpoints.
    """
    reasons, vocabulary = [], Vocabulary(loop.algorithm)
    for path in (path for name in (CHECKPOINTS, TRAINING_END) for path in checkpoints(run / name)):
        try:
            payload, arrays = load_checkpoint(path, vocabulary.find)
            vocabulary.check(payload, arrays)
            files.check(payload["files"])
            loop.algorithm.context.replay.restore(payload["replay"])
        except (DamagedCheckpoint, CellError, *WRONG) as error:
            reasons.append(f"{path.parent.name} {path.name} cannot be used: {error}")
            continue
        try:
            files.restore(payload["files"])
            yield from _restore(payload, arrays, loop, evaluations, prepare, ended=path.parent.name == TRAINING_END)
        except WRONG as error:
            raise CellError(f"{path} cannot be used: {error!r}; start anew by --force") from error
        total = loop.clock.total
        yield from (EventRow(total, "discarded", reason) for reason in reasons)
        steps = loop.algorithm.counters.timesteps
        yield EventRow(total, RESUMED, f"continued at {steps} timesteps from {path.parent.name} {path.name}")
        return
    if reasons:
        raise CellError(f"{run}: " + "; ".join(reasons) + "; repair the files, or start anew by --force")


def _restore(
    payload: dict[str, Any], arrays: dict[str, np.ndarray], loop: Loop, evaluations: EvaluationStage, prepare: Prepare,
    ended: bool,
) -> Iterator[Record]:  # fmt: skip
    """Take in a checkpoint; one of the end of a training goes on with a larger budget."""
    for ref in references(payload):
        loop.pool.store.put(ref.name, arrays[ref.name])
    loop.arrays.add(references(payload))
    loop.asynchrony = payload.get("asynchrony") or loop.asynchrony
    loop.algorithm.restore(payload["algorithm"])
    evaluations.evaluator.state = payload["evaluation"]
    evaluations.last_return = payload["last_return"]
    loop.order.restore(payload["pool"])
    clock = payload["clock"]
    if ended:
        clock = {"total": clock["trained"], "trained": None}
        loop.clock.restore(clock)
        if evaluations.evaluator.due():  # at the end of the smaller budget only the final evaluation was
            yield evaluations.take()
    tasks = payload["outstanding"]
    if not tasks and not evaluations.evaluator.state.final:
        tasks = loop.algorithm.ask()  # of a run that was stopped before its first task
    prepare(tasks)
    loop.clock.restore(clock)
    loop.submit(tasks)
    loop.graph.restore(payload.get("asked", {}), bool(payload["pool"]))  # real clocks begin anew
    evaluations.begin_beside()
