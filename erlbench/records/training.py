"""Training returns: the running mean that a run has before its evaluations are played."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from erlbench.records.read import read_rows
from erlbench.records.schema import EpisodeRow

if TYPE_CHECKING:
    import pandas as pd

WINDOW = 100  # episodes, as in Stable-Baselines3's ep_rew_mean
MEASURED = ("mean", "validation")  # kinds of episodes that measure the policy; all others train


class TrainingReturns:
    """The mean return of the last `WINDOW` training episodes of a run that goes on."""

    def __init__(self) -> None:
        self._last: deque[float] = deque(maxlen=WINDOW)

    def add(self, row: EpisodeRow) -> None:
        """Take an episode in."""
        if row.kind not in MEASURED:
            self._last.append(row.r)

    def restore(self, folder: Path) -> None:
        """Begin with the last episodes of a run's episodes.csv."""
        self._last.clear()
        rows = read_rows(folder, EpisodeRow)
        if rows is not None:
            self._last.extend(_trained(rows)["r"].tail(WINDOW).tolist())

    @property
    def mean(self) -> float | None:
        """None before the first episode."""
        return sum(self._last) / len(self._last) if self._last else None


def running_means(rows: pd.DataFrame) -> pd.DataFrame:
    """The training episodes of episodes.csv, with `mean`: that of the last `WINDOW` returns by then."""
    rows = _trained(rows)
    return rows.assign(mean=rows["r"].rolling(WINDOW, min_periods=1).mean())


def thinned(count: int, most: int) -> np.ndarray:
    """At most `most` of the indices 0 to `count` - 1, evenly spaced, the first and the last among them."""
    return np.unique(np.linspace(0, max(0, count - 1), min(count, most)).round().astype(int))


def _trained(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[~rows["kind"].isin(MEASURED)]
