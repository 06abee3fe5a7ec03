"""The state of a run: what a checkpoint holds of it, what its digest is of, and going on from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.errors import CellError
from erlbench.files import sync_folder
from erlbench.records.run import CHECKPOINTS, TRAINING_END
from erlbench.records.schema import RESUMED, EventRow
from erlbench.running.checkpoint import checkpoints, load_checkpoint, save_checkpoint
from erlbench.running.encoding import DamagedCheckpoint, references
from erlbench.running.vocabulary import Vocabulary

if TYPE_CHECKING:
    from erlbench.running.loop import Run

WRONG = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)  # of a state that no run wrote


def state_of(run: Run) -> dict[str, Any]:
    """All that the next start needs to go on with the same numbers: values, dataclasses, and references of arrays."""
    return {
        "algorithm": run.algorithm.snapshot(),
        "outstanding": list(run.graph.tasks.values()),
        "evaluation": run.evaluations.state,
        "replay": run.algorithm.context.replay.state(),
        "clock": run.clock.state(),
        "files": run.files.state(),
        "pool": run.order.state(),
        "last_return": run.evaluations.last_return,
        "asynchrony": run.asynchrony,
        "asked": run.graph.state(),
    }


def save(run: Run, folder: str, keep: int, number: int | None) -> None:
    """Write a checkpoint; the files that it describes reach the disk before it does."""
    run.files.flush()
    run.files.sync()
    replay = run.algorithm.context.replay
    replay.flush()
    sync_folder(replay.folder)
    state = state_of(run)
    arrays = {ref.name: run.pool.store.get(ref) for ref in references(state)}
    save_checkpoint(run.directory.path / folder, state, arrays, keep, number)
    sync_folder(run.directory.path)


def restore(run: Run) -> bool:
    """Go on from the newest checkpoint that is whole; False where there is none.

    Raises `CellError` when there are only damaged checkpoints.
    """
    reasons, vocabulary, folder = [], Vocabulary(run.algorithm), run.directory.path
    for path in (path for name in (CHECKPOINTS, TRAINING_END) for path in checkpoints(folder / name)):
        try:
            state, arrays = load_checkpoint(path, vocabulary.find)
            vocabulary.check(state, arrays)
            run.files.check(state["files"])
            run.algorithm.context.replay.restore(state["replay"])
        except (DamagedCheckpoint, CellError, *WRONG) as error:
            reasons.append(f"{path.parent.name} {path.name} cannot be used: {error}")
            continue
        try:
            run.files.restore(state["files"])
            _restore(run, state, arrays, ended=path.parent.name == TRAINING_END)
        except WRONG as error:
            raise CellError(f"{path} cannot be used: {error!r}; start anew by --force") from error
        run.write(*(EventRow(run.clock.total, "discarded", reason) for reason in reasons))
        steps = run.algorithm.counters.timesteps
        message = f"continued at {steps} timesteps from {path.parent.name} {path.name}"
        run.write(EventRow(run.clock.total, RESUMED, message))
        return True
    if reasons:
        raise CellError(f"{folder}: {'; '.join(reasons)}; repair the files, or start anew by --force")
    return False


def _restore(run: Run, state: dict[str, Any], arrays: dict[str, np.ndarray], ended: bool) -> None:
    """Take in a state; one of the end of a training goes on with a larger budget."""
    refs = {ref.name: ref for ref in references(state)}
    for name in refs:
        run.pool.store.put(name, arrays[name])
    run.arrays.add(refs.values())
    run.asynchrony = state.get("asynchrony") or run.asynchrony
    run.algorithm.restore(state["algorithm"])
    run.evaluations.state = state["evaluation"]
    run.evaluations.last_return = state["last_return"]
    run.order.restore(state["pool"])
    clock = state["clock"]
    if ended:
        clock = {"total": clock["trained"], "trained": None}
        run.clock.restore(clock)
        if run.evaluations.due():  # at the end of the smaller budget only the final evaluation was
            run.take_evaluation()
    tasks = state["outstanding"]
    if not tasks and not run.evaluations.state.final:
        tasks = run.algorithm.ask()  # of a run that was stopped before its first task
    run.prepare(tasks)
    run.clock.restore(clock)
    run.submit(tasks)
    run.graph.restore(state.get("asked", {}), run.order.simulated)  # real clocks begin anew
    run.play_beside()
