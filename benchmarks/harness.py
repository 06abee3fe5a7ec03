"""What the benchmarks share: claims, clocks, and measurements that take turns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

NO_PEER = "not measured: install erlbench[bench]"
Samples = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Claim:
    """One row of the table; `measured` is NaN where there was nothing to measure, and `note` says why."""

    claim: str
    measured: float
    target: float
    at_least: bool = True  # else at most
    unit: str = ""
    note: str = ""
    samples: Samples = field(default_factory=dict)  # what was timed, in turns

    @property
    def ok(self) -> bool | None:
        """Whether the target is met; None: not measured."""
        if math.isnan(self.measured):
            return None
        return bool(self.measured >= self.target if self.at_least else self.measured <= self.target)


def cpu_seconds(function: Callable[[], object]) -> float:
    """Processor time of this process, all its threads: other programs on the machine disturb it least."""
    start = time.process_time()
    function()
    return time.process_time() - start


def wall_seconds(function: Callable[[], object]) -> float:
    """Time that passes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def take_turns(candidates: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, np.ndarray]:
    """What each candidate returns, `(repeats,)` each: after one turn to warm up, one after the other, again and again.

    Whatever slows the machine for a while thus slows all of them.
    """
    for candidate in candidates.values():
        candidate()
    turns = [[candidate() for candidate in candidates.values()] for _ in range(repeats)]
    return dict(zip(candidates, np.array(turns).T))


def median(values: np.ndarray) -> float:
    """The median as a plain number."""
    return float(np.median(values))
