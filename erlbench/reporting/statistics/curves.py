"""Learning curves as arrays: runs of unequal length on common points, their mean, its bands; and measures of runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from erlbench.records.training import thinned
from erlbench.reporting.statistics.estimates import FEWEST_RUNS, Array, bootstrap_mean_band

MOST_POINTS = 200
TIME_UNITS = (("seconds", 1.0), ("minutes", 60.0), ("hours", 3600.0), ("days", 86400.0))
Points = tuple[Array, Array]  # x and y of a run


def points(x: Array, y: Array, smooth: int = 1) -> Points:
    """The points (x, y) whose values are numbers, y the mean of the last `smooth`; of several at one x the last."""
    valid = np.isfinite(x) & np.isfinite(y)
    x, y = x[valid], y[valid]
    if smooth > 1:
        stop = np.arange(1, len(y) + 1)
        start, sums = np.maximum(0, stop - smooth), np.concatenate([[0.0], np.cumsum(y)])
        y = (sums[stop] - sums[start]) / (stop - start)
    last = np.append(x[1:] > x[:-1], True)[: len(x)]
    return x[last], y[last]


def align(series: Iterable[Points]) -> Points:
    """All points x (points,) that every run spans, and values (runs, points), linear between a run's own points.

    `series` holds (x, y) of each run, x increasing; runs without a point are left out.
    """
    curves = [curve for curve in series if len(curve[0])]
    x = np.unique(np.concatenate([points for points, _ in curves])) if curves else np.empty(0)
    values = np.array([np.interp(x, *curve, left=np.nan, right=np.nan) for curve in curves]).reshape(
        len(curves), len(x)
    )
    spanned = ~np.isnan(values).any(axis=0)
    return x[spanned], values[:, spanned]


def by_seed(series: Iterable[tuple[int, Points]]) -> list[Points]:
    """The curves (x, y) of seeds: of one that has several runs their mean, as far as all of them go."""
    seeds: dict[int, list[Points]] = {}
    for seed, curve in series:
        seeds.setdefault(seed, []).append(curve)
    return [curves[0] if len(curves) == 1 else _mean(align(curves)) for curves in seeds.values()]


def _mean(curves: Points) -> Points:
    x, values = curves
    return x, values.mean(axis=0) if len(x) else x


def mean_curve(runs: Sequence[tuple[int, Points]], interval: bool = False, most: int = MOST_POINTS) -> dict[str, Array]:
    """`x`, mean `y`, and the edges of its bands, all (points,), of runs (seed, (x, y)); a seed is the mean of its runs.

    The curve begins where the last run begins and stops where the first one ends: beyond, it would be a mean over other
    runs. It has at most `most` points. `low` and `high` are those of the lowest and highest run: means of several runs
    spread less. With an `interval`, of two seeds and more, `interval_low` and `interval_high` are the 95 % bootstrap
    interval of the mean.
    """
    x, values = align(by_seed(runs))
    if not len(x):
        return dict.fromkeys(("x", "y", "low", "high"), x)
    kept = thinned(len(x), most)
    x, values = x[kept], np.ascontiguousarray(values[:, kept])
    single = np.array([np.interp(x, *curve) for _, curve in runs if len(curve[0])])
    line = {"x": x, "y": values.mean(axis=0), "low": single.min(axis=0), "high": single.max(axis=0)}
    if interval and len(values) > 1:
        line["interval_low"], line["interval_high"] = bootstrap_mean_band(values)
    return line


def band_kind(seeds: Sequence[int], wanted: str = "auto") -> str:
    """One band for a whole figure: `interval` when every curve has at least `FEWEST_RUNS` seeds, else `range`.

    `wanted` is auto or range; `range` is taken as it is.
    """
    return "interval" if wanted == "auto" and min(seeds, default=0) >= FEWEST_RUNS else "range"


def band_words(band: str) -> str:
    """What the band shows, for legends and captions."""
    return "95 % bootstrap interval of the mean" if band == "interval" else "lowest to highest run"


def time_unit(seconds: float) -> tuple[str, float]:
    """The largest unit of which `seconds` are at least two, and its seconds."""
    return next((unit for unit in reversed(TIME_UNITS) if seconds >= 2 * unit[1]), TIME_UNITS[0])


def _average(runs: Sequence[Any]) -> Points:
    """The points (points,) that all runs reached and the average of the seeds there."""
    curves = ((run.seed, (run.evaluations.timesteps, run.evaluations.return_mean)) for run in runs)
    return _mean(align(by_seed(curves)))


def max_of_average(runs: Sequence[Any]) -> float:
    """The highest point of the seed average, over the steps that all runs reached; NaN without one."""
    return float(max(_average(runs)[1], default=math.nan))


def average_reached(runs: Sequence[Any], score: float) -> float:
    """Training steps at which the seed average is first at least `score`, over the steps that all runs reached.

    It is interpolated linearly between evaluations, as a reader of the curve does.
    Infinite when it never is, NaN without runs.
    """
    x, average = _average(runs)
    if not (average >= score).any():
        return math.inf if runs else math.nan
    first = int((average >= score).argmax())
    near = slice(max(0, first - 1), first + 1)
    return float(np.interp(score, average[near], x[near]))


def reached(evaluations: Any, score: float) -> tuple[float, float]:
    """Training steps and minutes at the first evaluation with a mean return of at least `score`; infinite without."""
    first = evaluations[evaluations.return_mean >= score][:1]
    return (float(first.timesteps[0]), float(first.seconds[0] / 60)) if len(first) else (math.inf, math.inf)


def updates_per_step(runs: Sequence[Any]) -> tuple[float, float]:
    """Gradient updates of the critic and of the actor per training step, mean over runs; NaN where none says it."""
    ends = [run.evaluations[-1] for run in runs if len(run.evaluations)]
    rates = [
        (end.critic_updates / end.timesteps, end.actor_updates / end.timesteps) for end in ends if end.timesteps > 0
    ]
    critic, actor = np.mean(rates, axis=0) if rates else (math.nan, math.nan)
    return float(critic), float(actor)


def minutes_per_million(run: Any) -> float:
    """Training minutes without pauses per million training steps, over the whole run; NaN before the first step."""
    return run.seconds / 60 / run.timesteps * 1e6 if run.timesteps else math.nan


def minutes_per_million_after(timesteps: Array, seconds: Array, critic_updates: Array) -> tuple[float, int]:
    """The same, between the first and the last row (rows,) in which gradient steps had begun, and the steps between.

    A short run's figure over the whole is biased by the warm-up, which has no gradient steps; this one is not. NaN
    and 0 without two such rows.
    """
    rows = np.flatnonzero(critic_updates > 0)
    if len(rows) < 2 or timesteps[rows[-1]] <= timesteps[rows[0]]:
        return math.nan, 0
    first, last = rows[0], rows[-1]
    steps = timesteps[last] - timesteps[first]
    return float((seconds[last] - seconds[first]) / 60 / steps * 1e6), int(steps)
