"""A digest of all that determines the rest of a run: equal runs have equal digests, whatever ran them.

The clock of this machine, evaluations under way and the names of processes are not in it. Simulated time is, as it
decides the order of results.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from erlbench.algorithms.base import Algorithm
from erlbench.running.encoding import encode, references
from erlbench.running.evaluation import FIRST_ID, EvaluationState
from erlbench.work.store import Store
from erlbench.work.tasks import Task

RESULT = "erlbench.work.tasks:Result"
DIGITS = 32  # hexadecimal: 128 bits of SHA-256


class StateDigest:
    """Digests of one run's states. Arrays of a store never change, so each of them is hashed once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._arrays: dict[str, bytes] = {}  # those of the last state, by name

    def __call__(
        self, algorithm: Algorithm, tasks: Iterable[Task], evaluations: EvaluationState, pool: Mapping[str, Any]
    ) -> str:
        """The digest of an algorithm's state, the tasks that are out, and the pool's state (`Pool.state`).

        `evaluations` says how many were taken, and when.
        """
        snapshot = algorithm.snapshot()
        snapshot["counters"] = snapshot["counters"] | {"evaluation_timesteps": 0}  # evaluations may be under way
        return self.of({
            "seed": algorithm.context.seed,
            "algorithm": snapshot,
            "outstanding": list(tasks),
            "evaluations": [evaluations.taken, evaluations.last_timesteps],
            "replay": algorithm.context.replay.state(),
            "pool": {name: _training(value) for name, value in pool.items()},
        })  # fmt: skip

    def of(self, state: Mapping[str, Any]) -> str:
        """The digest of anything that a checkpoint can hold; its references stand for the arrays."""
        names = {ref.name: ref for ref in references(state)}
        self._arrays = {
            name: self._arrays.get(name) or _hash(self._store.get(ref)) for name, ref in sorted(names.items())
        }
        inline: dict[str, np.ndarray] = {}
        text = json.dumps(_unmeasured(encode(state, inline)))
        digest = hashlib.sha256(text.encode())
        for name, known in self._arrays.items():
            digest.update(name.encode() + known)
        for array in inline.values():
            digest.update(_hash(array))
        return digest.hexdigest()[:DIGITS]


def _training(value: Any) -> Any:
    """A part of a pool's state without the tasks of evaluations."""
    return [entry for entry in value if entry[0] < FIRST_ID] if isinstance(value, list) else value


def _unmeasured(value: Any) -> Any:
    """What `encode` gives, without when and where the results in it were computed."""
    if isinstance(value, list):
        return [_unmeasured(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("$type") == RESULT:
        value = {**value, "fields": {name: value["fields"][name] for name in ("task", "values", "arrays")}}
    return {key: _unmeasured(item) for key, item in value.items()}


def _hash(array: np.ndarray) -> bytes:
    data = np.ascontiguousarray(array)
    return hashlib.sha256(f"{data.dtype.str}{data.shape}".encode() + data.tobytes()).digest()
