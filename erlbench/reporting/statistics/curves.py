"""Learning curves as arrays: runs of unequal length on common points, their mean, and a band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from erlbench.reporting.data.runs import Array
from erlbench.reporting.statistics.intervals import bootstrap_mean_band

MOST_POINTS = 200
FEWEST_RUNS = 5  # for a bootstrap band
BANDS = "auto", "range"


@dataclass(frozen=True)
class Curve:
    """The mean over runs at common points, all arrays (points,)."""

    x: Array
    mean: Array
    low: Array
    high: Array
    count: Array  # runs that reached the point
    runs: int


def align(series: Sequence[tuple[Array, Array]], most: int | None = MOST_POINTS) -> tuple[Array, Array]:
    """Common points x (points,) and values (runs, points), NaN where a run has not begun or has ended.

    Common points are those of all runs together, thinned to `most`; between its own points a run is
    interpolated linearly, beyond them it is not continued. `series` holds (x, y) of each run, x increasing.
    """
    x = np.unique(np.concatenate([points for points, _ in series])) if series else np.empty(0)
    if most is not None and len(x) > most:
        x = x[np.unique(np.linspace(0, len(x) - 1, most).round().astype(int))]
    values = [np.interp(x, px, py, left=np.nan, right=np.nan) for px, py in series if len(px)]
    return x, np.array(values).reshape(len(values), len(x))


def curve(series: Sequence[tuple[Array, Array]], band: str) -> Curve:
    """The mean curve of runs (x, y) with the band `range` (lowest to highest run) or `interval`.

    `interval` is the 95 % bootstrap interval of the mean, at points that at least two runs reached.
    """
    x, values = align(series)
    count = (~np.isnan(values)).sum(axis=0)
    total = np.where(np.isnan(values), 0, values).sum(axis=0)
    mean = np.divide(total, count, out=np.full(len(x), np.nan), where=count > 0)
    low, high = mean.copy(), mean.copy()
    present = ~np.isnan(values)
    patterns = np.unique(present, axis=1).T if len(x) else np.empty((0, 0), dtype=bool)
    for pattern in patterns:  # the points that just these runs reached
        if pattern.sum() < 2:
            continue
        here = (present == pattern[:, None]).all(axis=0)
        block = values[np.ix_(pattern, here)]
        if band == "range":
            low[here], high[here] = block.min(axis=0), block.max(axis=0)
        else:
            low[here], high[here] = bootstrap_mean_band(block)
    return Curve(x, mean, low, high, count, len(values))


def band_kind(run_counts: Sequence[int], wanted: str = "auto") -> str:
    """One band for a whole figure: `interval` when every curve has at least `FEWEST_RUNS` runs, else `range`.

    `wanted` is one of `BANDS`; `range` is taken as it is.
    """
    enough = bool(run_counts) and min(run_counts) >= FEWEST_RUNS
    return "interval" if enough and wanted == "auto" else "range"


def band_words(band: str) -> str:
    """What the band shows, for legends and captions."""
    return "95 % bootstrap interval of the mean" if band == "interval" else "lowest to highest run"
