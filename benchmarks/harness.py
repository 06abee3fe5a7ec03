"""What the benchmarks share: claims, clocks, measurements that take turns, and arguments that are checked."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

import erlbench

ENVIRONMENT = "HalfCheetah-v5"
NO_PEER = "not measured: install erlbench[bench]"


@dataclass(frozen=True)
class Claim:
    """One row of the table; `measured` is NaN where there was nothing to measure, and `note` says why."""

    claim: str
    measured: float
    target: float
    at_least: bool = True  # else at most
    unit: str = ""
    note: str = ""
    samples: Mapping[str, np.ndarray] = field(default_factory=dict)  # what was timed, in turns

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


class Stolen:
    """What the host of a virtual machine takes from it: `share()` of all its processor time since this was made.

    It looks like a busy machine from inside, and no program of this machine is the cause. Linux calls it "steal"
    (proc(5)); 0 elsewhere.
    """

    def __init__(self) -> None:
        self._before = self._ticks()

    def share(self) -> float:
        """From 0 to 1."""
        stolen, total = (now - before for now, before in zip(self._ticks(), self._before))
        return stolen / total if total else 0.0

    @staticmethod
    def _ticks() -> tuple[int, int]:
        """Stolen, and in all."""
        try:
            ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        except OSError:
            return 0, 0
        return ticks[7], sum(ticks)  # what guests of this machine use, columns 9 and 10, is part of column 1


def take_turns(candidates: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, np.ndarray]:
    """What each candidate returns, `(repeats,)` each: after one turn to warm up, one after the other, again and again.

    Whatever slows the machine for a while thus slows all of them.
    """
    for candidate in candidates.values():
        candidate()
    turns = [[candidate() for candidate in candidates.values()] for _ in range(repeats)]
    return dict(zip(candidates, np.array(turns).T))


def train(algo: str, steps: int, settings: Mapping[str, object]) -> pd.DataFrame:
    """The rows of train.csv of a run on `ENVIRONMENT` in one process, with no evaluation on the way."""
    rare = {"checkpoint_every": 1e9, "eval_freq": 10**9, "eval_episodes": 1, "final_episodes": 1}
    with tempfile.TemporaryDirectory() as folder:
        options = {"processes": 1, "total_timesteps": steps, "set": settings, "out": folder, "quiet": True}
        return erlbench.run(algo, ENVIRONMENT, **options, **rare).generations


def median(values: np.ndarray) -> float:
    """The median as a plain number."""
    return float(np.median(values))
