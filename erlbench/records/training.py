"""Curves of a run that goes on: the running mean of its training returns, and the names that TensorBoard draws."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from erlbench.records.schema import EpisodeRow, EvaluationRow, GenerationRow, list_columns

if TYPE_CHECKING:
    import pandas as pd

WINDOW = 100  # episodes, as in Stable-Baselines3's ep_rew_mean
MEASURED = ("mean", "validation")  # kinds of episodes that measure the policy; all others train

# The names under which TensorBoard draws a run's columns.
TRAINING = "rollout/ep_rew_mean"  # Stable-Baselines3's name of the running mean of training returns
SEARCH = "search/"  # before the columns of train.csv
EVALUATION: Mapping[str, str] = MappingProxyType(
    {
        "eval/mean_reward": "return_mean",
        "eval/std_reward": "return_std",
        "time/train_time_s": "train_time_s",
        "train/critic_updates": "critic_updates",
        "train/actor_updates": "actor_updates",
        "train/episodes": "episodes",
    }
)
MOST_DRAWN = 1000  # of the curve of training returns
KEYS = frozenset({"env", "name", "seed", "generation", "timesteps", "train_time_s", "critic_updates", "actor_updates"})


class TrainingReturns:
    """The mean return of the last `WINDOW` training episodes of a run that goes on."""

    def __init__(self) -> None:
        self._last: deque[float] = deque(maxlen=WINDOW)

    def add(self, row: EpisodeRow) -> None:
        """Take an episode in."""
        if row.kind not in MEASURED and not math.isnan(row.r):
            self._last.append(row.r)

    def restore(self, folder: Path) -> None:
        """Begin with the last episodes of a run's episodes.csv."""
        from erlbench.records.read import read_rows  # not at the top: only a run that goes on reads rows

        self._last.clear()
        rows = read_rows(folder, EpisodeRow)
        if rows is not None:
            self._last.extend(_trained(rows)["r"].dropna().tail(WINDOW).tolist())

    @property
    def mean(self) -> float | None:
        """None before the first episode."""
        return sum(self._last) / len(self._last) if self._last else None


def running_means(rows: pd.DataFrame) -> pd.DataFrame:
    """The training episodes of episodes.csv, with `mean`, over the last `WINDOW` returns by then."""
    rows = _trained(rows)
    return rows.assign(mean=rows["r"].rolling(WINDOW, min_periods=1).mean())


@cache
def thinned(count: int, most: int) -> np.ndarray:
    """At most `most` of the indices 0 to `count` - 1, evenly spaced, the first and the last among them."""
    indices = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))
    indices.flags.writeable = False
    return indices


def points(
    evaluations: pd.DataFrame, generations: pd.DataFrame, episodes: pd.DataFrame
) -> Iterator[tuple[str, float, int, float]]:
    """The curves of a run's rows: tags, values, training steps, and seconds since the training began."""
    means = running_means(episodes).rename(columns={"t": "train_time_s"}).dropna(subset="timesteps")
    curves = {f"{SEARCH}{name}": (generations, name) for name in generations if name not in KEYS}
    curves |= {tag: (evaluations, name) for tag, name in EVALUATION.items()}
    curves[TRAINING] = means.iloc[thinned(len(means), MOST_DRAWN)], "mean"
    for tag, (rows, name) in curves.items():
        drawn = rows[["timesteps", "train_time_s", name]].dropna(subset=["timesteps", name])
        for step, time, value in drawn.itertuples(index=False):
            yield tag, value, int(step), 0.0 if math.isnan(time) else time


def _trained(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[~rows["kind"].isin(MEASURED)]


def tagged(row: EvaluationRow | GenerationRow) -> dict[str, float]:
    """The numbers of a row by their names; those that are empty or NaN are left out."""
    if isinstance(row, EvaluationRow):
        values = {tag: getattr(row, column) for tag, column in EVALUATION.items()}
    else:
        names = [
            column.name for column in list_columns(GenerationRow) if not column.metrics and column.name not in KEYS
        ]
        numbers = {name: getattr(row, name) for name in names} | {**row.metrics}
        values = {f"{SEARCH}{name}": value for name, value in numbers.items()}
    return {tag: float(value) for tag, value in values.items() if value is not None and not math.isnan(value)}
