"""The state of a run: what a checkpoint holds of it, the checkpoint's files, its digest, and going on from it.

A checkpoint is plain values as JSON and arrays as safetensors, without pickle: a folder `checkpoint/<number>` that
appears by a rename when it is complete. Its `state.json` holds a checksum over itself and the arrays, so a damaged one
is noticed and the one before is used.

The digest is of values and arrays in a fixed order. No name of a module, class, field or array is in it, nothing that
was measured, and nothing of a pool: equal runs have equal digests, whatever ran them. Simulated time is in it, as it
decides the order of results.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import struct
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import numpy as safetensors

from erlbench.algorithms.base import Algorithm
from erlbench.errors import CellError
from erlbench.files import read_bytes, sync_folder, write_durably
from erlbench.records.run import CHECKPOINTS, FORMAT, TRAINING_END
from erlbench.records.schema import RESUMED, EventRow
from erlbench.running.evaluation import FIRST_ID
from erlbench.work.store import Store
from erlbench.work.tasks import ArrayRef, ReplayView, Result, Task
from erlbench.work.values import SUITE, Length, decode, encode, leaves, references

if TYPE_CHECKING:
    from erlbench.running.loop import Run

KEEP = 2  # checkpoints of a run that is under way
LARGEST = 2**36  # bytes of a file
WRITERS = {2: "version 0.1.0", 3: "version 0.2.0"}  # the last version that wrote a format of before
UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)  # of a damaged file
WRONG = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)  # of a state that no run wrote
DIGITS = 32  # of a digest, hexadecimal: 128 bits of SHA-256
DIGESTED_FIELDS: Mapping[type, tuple[str, ...]] = {
    Task: ("id", "kind", "key", "inputs", "counts", "individual", "after"),
    Result: ("task", "values", "arrays"),
    ReplayView: ("start", "stop"),
}


def collect_state(run: Run) -> dict[str, Any]:
    """All that the next start needs to go on with the same numbers: values, dataclasses, and references of arrays."""
    return {
        "algorithm": run.algorithm.snapshot(),
        "tasks": list(run.graph.tasks.values()),
        "requests": run.graph.state(),
        "order": run.order.state(),
        "evaluations": run.evaluations.state,
        "replay": run.algorithm.context.replay.state(),
        "clock": run.clock.state(),
        "asynchrony": run.asynchrony,
        "files": run.files.state(),
    }


def save(run: Run, folder: str, keep: int) -> None:
    """Write a checkpoint; the files that it describes reach the disk before it does."""
    run.files.sync()
    replay = run.algorithm.context.replay
    replay.flush()
    sync_folder(replay.folder)
    state = collect_state(run)
    arrays = {ref.name: run.pool.store.get(ref).copy() for ref in references(state)}  # copied: a map is an open file
    save_checkpoint(run.directory.path / folder, state, arrays, keep)
    sync_folder(run.directory.path)


# -- files -------------------------------------------------------------------------------------------------------------


class DamagedCheckpoint(Exception):
    """A checkpoint that cannot be read."""


def save_checkpoint(folder: Path, payload: Any, arrays: Mapping[str, np.ndarray], keep: int = KEEP) -> Path:
    """Write `payload` (anything that `encode` takes) and named `arrays` as the newest checkpoint in `folder`.

    The last `keep` of them stay.
    """
    number = next((int(newest.name) for newest in checkpoints(folder)), 0) + 1
    collected = dict(arrays)
    text = json.dumps({"format": FORMAT, "payload": encode(payload, collected)})
    data = safetensors.save({name: np.ascontiguousarray(array) for name, array in collected.items()})
    unfinished = folder / f"part-{number:06d}"
    shutil.rmtree(unfinished, ignore_errors=True)
    folder.mkdir(exist_ok=True)  # not what is above it: whoever removes a run directory does not get it back
    unfinished.mkdir()
    write_durably(unfinished / "arrays.safetensors", data)
    write_durably(unfinished / "state.json", f"{hashlib.sha256(text.encode() + data).hexdigest()}\n{text}\n".encode())
    final = folder / f"{number:06d}"
    unfinished.rename(final)
    sync_folder(folder)
    for old in checkpoints(folder)[keep:]:
        shutil.rmtree(old, ignore_errors=True)
    return final


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in `folder`, newest first."""
    return sorted((path for path in folder.glob("[0-9]*") if path.name.isdigit()), reverse=True)


def unreadable(written: Any) -> str:
    """Why a checkpoint of this format cannot be gone on from; empty where it can."""
    if written == FORMAT:
        return ""
    writer = WRITERS.get(written, "another version")
    return f"{writer} of erlbench wrote it (format {written}, here {FORMAT})"


def load_checkpoint(path: Path, packages: Collection[str] = (SUITE,)) -> tuple[Any, dict[str, np.ndarray]]:
    """Payload and named arrays of one checkpoint, with dataclasses of `packages` alone; raises `DamagedCheckpoint`."""
    try:
        checksum, _, text = read_bytes(path / "state.json", inside=3).partition(b"\n")
        data = read_bytes(path / "arrays.safetensors", LARGEST, inside=3)
        if checksum.decode("ascii", "replace") != hashlib.sha256(text.rstrip(b"\n") + data).hexdigest():
            raise DamagedCheckpoint("its checksum does not fit")
        stored = json.loads(text)
        if reason := unreadable(stored["format"]):
            raise DamagedCheckpoint(reason)
        arrays = safetensors.load(data)
        return decode(stored["payload"], arrays, packages), arrays
    except UNREADABLE as error:
        raise DamagedCheckpoint(str(error)) from error


# -- digests -----------------------------------------------------------------------------------------------------------


def state_digest(run: Run) -> str:
    """The digest of a run's state."""
    snapshot, evaluations = run.algorithm.snapshot(), run.evaluations.state
    counters = snapshot["counters"] | {"evaluation_timesteps": 0}  # evaluations may be under way
    parts = {
        "seed": run.algorithm.context.seed,
        "counters": list(counters.values()),
        "ids": snapshot["ids"],
        "time is up": snapshot.get("time_is_up", False),
        "algorithm": snapshot["state"],
        "tasks": list(run.graph.tasks.values()),
        "evaluations": [evaluations.taken, evaluations.last_timesteps],
        "replay": list(run.algorithm.context.replay.state().values()),
        "simulated time": [_training(value) for value in _trim_order(run.order.state(), run.clock.ended).values()],
    }
    return compute_digest(parts, run.pool.store)


def compute_digest(parts: Mapping[str, Any], store: Store) -> str:
    """The digest of the parts of a state in their order; references stand for arrays in `store`."""
    digest = hashlib.sha256()
    for name, value in parts.items():
        digest.update(f"{name}\n".encode())
        for leaf in leaves(value, DIGESTED_FIELDS):
            digest.update(_bytes(store.get(leaf) if isinstance(leaf, ArrayRef) else leaf))
    return digest.hexdigest()[:DIGITS]


def _bytes(leaf: Any) -> bytes:
    """A value with its kind, so that no two sequences of values are the same bytes."""
    if isinstance(leaf, Length):
        return b"(%d;" % leaf
    if leaf is None or isinstance(leaf, bool | np.bool_):
        return {None: b"n", False: b"-", True: b"+"}[None if leaf is None else bool(leaf)]
    if isinstance(leaf, int | np.integer):
        return b"i%d;" % leaf
    if isinstance(leaf, float | np.floating):
        return b"f" + struct.pack("<d", leaf)
    if isinstance(leaf, str):
        return b"s%d;%s" % (len(leaf.encode()), leaf.encode())
    if isinstance(leaf, np.ndarray):
        data = np.ascontiguousarray(leaf)
        return b"a" + hashlib.sha256(f"{data.dtype.str}{data.shape}".encode() + data.tobytes()).digest()
    raise TypeError(f"a state cannot hold a {type(leaf).__name__}: {leaf!r}")


def _trim_order(state: Mapping[str, Any], ended: bool) -> Mapping[str, Any]:
    """The state of an order; of one whose training has ended without the time of the evaluations since."""
    return {**state, "now": state["clock"]} if ended and state else state


def _training(value: Any) -> Any:
    """A part of the order's state without the tasks of evaluations."""
    return [entry for entry in value if entry[0] < FIRST_ID] if isinstance(value, list) else value


# -- going on ---------------------------------------------------------------------------------------------------------


Saved = tuple[Path, dict[str, Any], dict[str, np.ndarray], list[str]]  # with what is wrong with later checkpoints


def find_checkpoint(run: Run) -> Saved | None:
    """The newest checkpoint that is whole; None where there is none. The replay goes back to it, the rows stay.

    Raises `CellError` when there are only damaged checkpoints.
    """
    reasons: list[str] = []
    folder = run.directory.path
    for path in (path for name in (CHECKPOINTS, TRAINING_END) for path in checkpoints(folder / name)):
        try:
            state, arrays = load_checkpoint(path, _packages(run))
            _check(run, state, arrays)
            run.files.check(state["files"])
            run.algorithm.context.replay.restore(state["replay"])
        except (DamagedCheckpoint, CellError, *WRONG) as error:
            reasons.append(f"{path.parent.name} {path.name} cannot be used: {error}")
        else:
            return path, state, arrays, reasons
    if reasons:
        raise CellError(f"{folder}: {'; '.join(reasons)}; repair the files, or start anew by --force")
    return None


def restore(run: Run, saved: Saved) -> None:
    """Go on from a checkpoint that was found."""
    path, state, arrays, reasons = saved
    try:
        run.files.restore(state["files"])
        _restore(run, state, arrays, ended=path.parent.name == TRAINING_END)
    except WRONG as error:
        raise CellError(f"{path} cannot be used: {error!r}; start anew by --force") from error
    run.write(*(EventRow(run.clock.total, "discarded", reason) for reason in reasons))
    steps = run.algorithm.counters.timesteps
    run.write(EventRow(run.clock.total, RESUMED, f"continued at {steps} timesteps from {path.parent.name} {path.name}"))


def _packages(run: Run) -> set[str]:
    """Whose dataclasses the state may hold: this package's, the algorithm's, and its first state's."""
    bases = [base.__module__ for base in type(run.algorithm).__mro__ if issubclass(base, Algorithm)]
    begins = re.findall(r'"\$type": "(\w+)', json.dumps(encode(run.algorithm.state, {})))
    return {SUITE, *begins, *(module.partition(".")[0] for module in bases)}


def _check(run: Run, state: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Raise an error for the state of another algorithm, or one that names files, code or an environment."""
    if not isinstance(state["algorithm"]["state"], type(run.algorithm.state)):
        raise DamagedCheckpoint("its state is none of the algorithm of this command")
    for ref in references(state):
        if "/" in ref.name or ref.name not in arrays:
            raise DamagedCheckpoint(f"{ref.name[:80]!r} is no array of it")
    evaluations, env = [pending.task for pending in state["evaluations"].pending], run.algorithm.context.problem.env
    if any(task.settings.policy != run.algorithm.policy_spec for task in evaluations):
        raise DamagedCheckpoint("an evaluation of it plays another network than the command's")
    tasks = [*state["tasks"], *evaluations]
    run.algorithm.check_declared(tasks)
    if any(getattr(task.settings, "env", env) != env for task in tasks):
        raise DamagedCheckpoint("a task of it plays another environment than the command's")


def _restore(run: Run, state: dict[str, Any], arrays: Mapping[str, np.ndarray], ended: bool) -> None:
    """Take in a state; one of the end of a training goes on with a larger budget."""
    for name in {ref.name for ref in references(state)}:
        run.pool.store.put(name, arrays[name])
    run.asynchrony = state["asynchrony"]
    run.algorithm.restore(state["algorithm"])
    run.evaluations.state = state["evaluations"]
    run.order.restore(_trim_order(state["order"], ended))
    clock = state["clock"]
    if ended:
        clock = clock | {"total": clock["trained"], "trained": None}
        run.clock.restore(clock)
        if run.evaluations.due():  # at the end of the smaller budget only the final evaluation was
            run.take_policy()
    tasks = state["tasks"]
    if not tasks and not run.evaluations.state.final:
        tasks = run.algorithm.ask()  # of a run that was stopped before its first task
    run.prepare(tasks)
    run.clock.restore(clock)
    run.submit(tasks)
    run.graph.restore(state["requests"], run.order.simulated)  # real clocks begin anew
    run.play_beside()


# -- arrays of the store that nothing refers to any more ---------------------------------------------------------------


SWEEP_FROM = 64  # arrays, at least, between two searches for those that can be freed


def free_arrays(run: Run) -> None:
    """Free the arrays that nothing refers to any more, where there are many; the search costs as much as it finds."""
    names = [name for name in os.listdir(run.pool.store.folder) if name[0].isdigit()]
    if len(names) < run.sweep_at:
        return
    holders = run.algorithm.snapshot(), run.graph.tasks, run.evaluations.state, run.order.undelivered
    live = {ref.name for ref in references(holders)}
    # a task that is out may be writing its arrays, which begin with its number
    dead = [name for name in names if name not in live and int(name.partition(".")[0]) not in run.graph.tasks]
    run.pool.store.free(dead)
    run.sweep_at = len(names) - len(dead) + max(SWEEP_FROM, len(live) // 2)
