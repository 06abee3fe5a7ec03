"""Learning curves as arrays: runs of unequal length on common points, their mean, and a band."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from erlbench.reporting.data.runs import Array
from erlbench.reporting.statistics.intervals import FEWEST_RUNS, bootstrap_mean_band

MOST_POINTS = 200
Points = tuple[Array, Array]  # x and y of a run


@dataclass(frozen=True)
class Curve:
    """The mean over runs at the points that all of them reached, all arrays (points,)."""

    x: Array
    mean: Array
    low: Array
    high: Array
    runs: int


def align(series: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Common points x (points,) and values (runs, points), NaN where a run has not begun or has ended.

    Common points are those of all runs together. Between its own points a run is interpolated linearly, beyond them it
    is not continued. `series` holds (x, y) of each run, x increasing.
    """
    x = np.unique(np.concatenate([points for points, _ in series])) if series else np.empty(0)
    values = [np.interp(x, px, py, left=np.nan, right=np.nan) for px, py in series if len(px)]
    return x, np.array(values).reshape(len(values), len(x))


def by_seed(series: Iterable[tuple[int, Points]]) -> list[Points]:
    """The curves (x, y) of seeds: of one that has several runs their mean, as far as all of them go."""
    seeds: dict[int, list[Points]] = {}
    for seed, points in series:
        seeds.setdefault(seed, []).append(points)
    return [own[0] if len(own) == 1 else _averaged(own) for own in seeds.values()]


def _averaged(series: Sequence[Points]) -> Points:
    x, values = align(series)
    complete = ~np.isnan(values).any(axis=0)
    return x[complete], values[:, complete].mean(axis=0)


def curve(series: Sequence[tuple[Array, Array]], band: str, most: int = MOST_POINTS) -> Curve:
    """The mean curve of runs (x, y) with the band `range` (lowest to highest run) or `interval`.

    It begins where the last run begins and stops where the first one ends: beyond, it would be a mean over other runs.
    `interval` is the 95 % bootstrap interval of the mean.
    """
    series = [one for one in series if len(one[0])]
    x = np.unique(np.concatenate([points for points, _ in series])) if series else np.empty(0)
    for points, _ in series:
        x = x[(x >= points[0]) & (x <= points[-1])]
    if len(x) > most:
        x = x[np.unique(np.linspace(0, len(x) - 1, most).round().astype(int))]
    values = np.array([np.interp(x, *one) for one in series])
    if not len(x):
        return Curve(x, x, x, x, len(values))
    if len(values) < 2:
        return Curve(x, values[0], values[0], values[0], len(values))
    low, high = (values.min(axis=0), values.max(axis=0)) if band == "range" else bootstrap_mean_band(values)
    return Curve(x, values.mean(axis=0), low, high, len(values))


def band_kind(run_counts: Sequence[int], wanted: str = "auto") -> str:
    """One band for a whole figure: `interval` when every curve has at least `FEWEST_RUNS` runs, else `range`.

    `wanted` is auto or range; `range` is taken as it is.
    """
    enough = bool(run_counts) and min(run_counts) >= FEWEST_RUNS
    return "interval" if enough and wanted == "auto" else "range"


def band_words(band: str) -> str:
    """What the band shows, for legends and captions."""
    return "95 % bootstrap interval of the mean" if band == "interval" else "lowest to highest run"
