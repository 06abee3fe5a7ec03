"""Learning curves as arrays: runs of unequal length on common points, their mean, its bands; and measures of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from erlbench.reporting.statistics.estimates import FEWEST_RUNS, Array, bootstrap_mean_band

MOST_POINTS = 200
TIME_UNITS = (("seconds", 1.0), ("minutes", 60.0), ("hours", 3600.0), ("days", 86400.0))
Points = tuple[Array, Array]  # x and y of a run


def points(x: Array, y: Array, smooth: int = 1) -> Points:
    """The points (x, y) whose values are numbers, y smoothed; of several at one x the last."""
    valid = np.isfinite(x) & np.isfinite(y)
    x, y = x[valid], moving_average(y[valid], smooth)
    last = np.append(x[1:] > x[:-1], True)[: len(x)]
    return x[last], y[last]


def moving_average(values: Array, window: int) -> Array:
    """The mean of the last `window` values at each of them (values,); at the beginning, of those there are."""
    if window <= 1 or not len(values):
        return values
    sums = np.concatenate([[0.0], np.cumsum(values)])
    stop = np.arange(1, len(values) + 1)
    start = np.maximum(0, stop - window)
    return np.asarray((sums[stop] - sums[start]) / (stop - start), dtype=np.float64)


def align(series: Sequence[Points]) -> Points:
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
    for seed, curve in series:
        seeds.setdefault(seed, []).append(curve)
    return [curves[0] if len(curves) == 1 else _mean_of_seed(curves) for curves in seeds.values()]


def _mean_of_seed(series: Sequence[Points]) -> Points:
    x, values = align(series)
    complete = ~np.isnan(values).any(axis=0)
    return x[complete], values[:, complete].mean(axis=0)


def mean_curve(runs: Sequence[tuple[int, Points]], interval: bool = False, most: int = MOST_POINTS) -> dict[str, Array]:
    """`x`, mean `y`, and the edges of its bands, all (points,), of runs (seed, (x, y)); a seed is the mean of its runs.

    The curve begins where the last run begins and stops where the first one ends: beyond, it would be a mean over other
    runs. It has at most `most` points. `low` and `high` are those of the lowest and highest run: means of several runs
    spread less. With an `interval`, of two seeds and more, `interval_low` and `interval_high` are the 95 % bootstrap
    interval of the mean.
    """
    series = [curve for curve in by_seed(runs) if len(curve[0])]
    x = np.unique(np.concatenate([place for place, _ in series])) if series else np.empty(0)
    for place, _ in series:
        x = x[(x >= place[0]) & (x <= place[-1])]
    if len(x) > most:
        x = x[np.unique(np.linspace(0, len(x) - 1, most).round().astype(int))]
    if not len(x):
        return dict.fromkeys(("x", "y", "low", "high"), x)
    values = np.array([np.interp(x, *curve) for curve in series])
    single = np.array([np.interp(x, *curve) for _, curve in runs if len(curve[0])])
    line = {"x": x, "y": values.mean(axis=0), "low": single.min(axis=0), "high": single.max(axis=0)}
    if interval and len(values) > 1:
        line["interval_low"], line["interval_high"] = bootstrap_mean_band(values)
    return line


def band_kind(seeds: Sequence[int], wanted: str = "auto") -> str:
    """One band for a whole figure: `interval` when every curve has at least `FEWEST_RUNS` seeds, else `range`.

    `wanted` is auto or range; `range` is taken as it is.
    """
    enough = bool(seeds) and min(seeds) >= FEWEST_RUNS
    return "interval" if enough and wanted == "auto" else "range"


def band_words(band: str) -> str:
    """What the band shows, for legends and captions."""
    return "95 % bootstrap interval of the mean" if band == "interval" else "lowest to highest run"


def time_unit(seconds: float) -> tuple[str, float]:
    """The largest unit of which `seconds` are at least two, and its seconds."""
    fitting = [unit for unit in TIME_UNITS if seconds >= 2 * unit[1]]
    return fitting[-1] if fitting else TIME_UNITS[0]


def max_of_average(runs: Sequence[Any]) -> float:
    """The highest point of the seed average, over the steps that all runs reached."""
    if not runs:
        return float("nan")
    _, average = _average(runs)
    return float(average.max()) if average.size else float("nan")


def reached(evaluations: Any, score: float) -> tuple[float, float]:
    """Training steps and minutes at the first evaluation with a mean return of at least `score`; infinite without."""
    there = np.flatnonzero(evaluations.return_mean >= score)
    if not len(there):
        return float("inf"), float("inf")
    return float(evaluations.timesteps[there[0]]), float(evaluations.seconds[there[0]] / 60)


def average_reached(runs: Sequence[Any], score: float) -> float:
    """Training steps at which the seed average is first at least `score`, over the steps that all runs reached.

    It is interpolated linearly between evaluations, as a reader of the curve does.
    Infinite when it never is, NaN without runs.
    """
    if not runs:
        return float("nan")
    x, average = _average(runs)
    there = np.flatnonzero(average >= score)
    if not len(there):
        return float("inf")
    before, after = max(0, there[0] - 1), there[0] + 1
    return float(np.interp(score, average[before:after], x[before:after]))


def _average(runs: Sequence[Any]) -> tuple[Array, Array]:
    """The points (points,) that all runs reached and the average there, each run interpolated linearly."""
    x, values = align(by_seed((run.seed, (run.evaluations.timesteps, run.evaluations.return_mean)) for run in runs))
    complete = ~np.isnan(values).any(axis=0)
    return x[complete], values[:, complete].mean(axis=0)


def updates_per_step(runs: Sequence[Any]) -> tuple[float, float]:
    """Gradient updates of the critic and of the actor per training step, mean over runs; NaN where none says it."""
    rates = [
        (e.critic_updates[-1] / e.timesteps[-1], e.actor_updates[-1] / e.timesteps[-1])
        for run in runs if len(e := run.evaluations) and e.timesteps[-1] > 0
    ]  # fmt: skip
    if not rates:
        return float("nan"), float("nan")
    critic, actor = np.array(rates, dtype=np.float64).mean(axis=0)
    return float(critic), float(actor)


def minutes_per_million(run: Any) -> float:
    """Training minutes without pauses per million training steps, over the whole run; NaN before the first step."""
    return run.seconds / 60 / run.timesteps * 1e6 if run.timesteps else float("nan")


def minutes_per_million_after(timesteps: Array, seconds: Array, critic_updates: Array) -> tuple[float, int]:
    """The same, between the first and the last row (rows,) in which gradient steps had begun, and the steps between.

    A short run's figure over the whole is biased by the warm-up, which has no gradient steps; this one is not. NaN
    and 0 without two such rows.
    """
    rows = np.flatnonzero(critic_updates > 0)
    if len(rows) < 2 or timesteps[rows[-1]] <= timesteps[rows[0]]:
        return float("nan"), 0
    first, last = rows[0], rows[-1]
    steps = timesteps[last] - timesteps[first]
    return float((seconds[last] - seconds[first]) / 60 / steps * 1e6), int(steps)
