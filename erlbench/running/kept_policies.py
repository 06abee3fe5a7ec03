"""Policies of evaluations on the way: the last few are kept, and those that enter a score of the run's plan."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from erlbench.files import new_file
from erlbench.policy import PolicySpec, serialise_policy
from erlbench.records.run import POLICIES
from erlbench.running.evaluation import Pending
from erlbench.work.tasks import Input

LAST = 5  # evaluations whose policies are kept in any case


class Stretch(NamedTuple):
    """A part of the evaluation curve over which a plan's score is averaged."""

    axis: str  # "timesteps" or "minutes" of training time
    begin: float
    end: float

    def enters(self, before: float, here: float, after: float) -> bool:
        """Whether the evaluation `here` enters the score, between its neighbours; the curve is linear between them."""
        return self.begin <= here <= self.end or here < self.begin <= after or before <= self.end < here


def file(run: Path, evaluation: int) -> Path:
    """Where the policy of an evaluation is, if it is kept."""
    return run / POLICIES / f"{evaluation:06d}.safetensors"


class KeptPolicies:
    """Files `policies/NNNNNN.safetensors`, by the number of the evaluation."""

    def __init__(
        self, run: Path, spec: PolicySpec, load: Callable[[Input], Any], scored: Sequence[Stretch] = ()
    ) -> None:
        self._run = run
        self._spec = spec
        self._load = load
        self._scored = scored

    def add(self, pending: Pending, shown: list[tuple[int, int, float]]) -> str:
        """Keep the policy of an evaluation whose row comes next; the SHA-256 of its file.

        `shown` are index, training steps and seconds of the rows before; those that are not needed any more go. The
        final policy has a file of its own.
        """
        row = pending.row
        data = serialise_policy(np.asarray(self._load(pending.task.inputs["parameters"])), self._spec)
        if not row["final"]:
            path = file(self._run, row["evaluation"])
            path.parent.mkdir(exist_ok=True)
            part = path.with_name("part")
            with open(new_file(part), "wb") as made:
                made.write(data)
            part.rename(path)
        shown.append((row["evaluation"], row["timesteps"], row["train_time_s"]))
        self._forget(shown)
        return hashlib.sha256(data).hexdigest()

    def _forget(self, shown: list[tuple[int, int, float]]) -> None:
        """Remove the policy that is no longer one of the last, unless a score needs it."""
        if len(shown) <= LAST:
            return
        here, after = shown[-LAST - 1], shown[-LAST]
        before = shown[-LAST - 2] if len(shown) > LAST + 1 else (-1, -1, -1.0)
        if not any(s.enters(*(_on(s.axis, point) for point in (before, here, after))) for s in self._scored):
            file(self._run, here[0]).unlink(missing_ok=True)
        del shown[: -LAST - 1]


def _on(axis: str, point: tuple[int, int, float]) -> float:
    return point[2] / 60 if axis == "minutes" else point[1]
