"""Policies of evaluations on the way: the last few are kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.files import new_file
from erlbench.policy import PolicySpec, serialise_policy
from erlbench.records.run import POLICIES
from erlbench.running.evaluation import Pending
from erlbench.work.tasks import Input

LAST = 5  # evaluations whose policies are kept


def file(run: Path, evaluation: int) -> Path:
    """Where the policy of an evaluation is, if it is kept."""
    return run / POLICIES / f"{evaluation:06d}.safetensors"


class KeptPolicies:
    """Files `policies/NNNNNN.safetensors`, by the number of the evaluation."""

    def __init__(self, run: Path, spec: PolicySpec, load: Callable[[Input], Any]) -> None:
        self._run = run
        self._spec = spec
        self._load = load

    def add(self, pending: Pending, shown: list[tuple[int, int, float]]) -> str:
        """Keep the policy of an evaluation whose row comes next; the SHA-256 of its file.

        `shown` are index, training steps and seconds of the last rows before, to which this one is added; older
        policies go. The final policy has a file of its own.
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
        for index, *_ in shown[:-LAST]:
            file(self._run, index).unlink(missing_ok=True)
        del shown[:-LAST]
        return hashlib.sha256(data).hexdigest()
