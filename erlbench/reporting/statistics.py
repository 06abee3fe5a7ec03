"""Location, spread and intervals of scores; learning curves on common points, their mean and its bands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import Any, TypeVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import special

from erlbench.records.training import thinned

Array = NDArray[np.float64]
Key = TypeVar("Key")
Item = TypeVar("Item")
NO_INTERVAL = (math.nan, math.nan)
FEWEST_RUNS = 6  # per side, for an interval or a test: below, only the scores are shown
ROUNDING = 1e-12  # of a score: by more, equal ones do not differ that were summed in another order


def group_items(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    """The items of each key, keys in the order in which they come first."""
    items: dict[Key, list[Item]] = {}
    for key, item in pairs:
        items.setdefault(key, []).append(item)
    return items


def ends(runs: Iterable[Any], column: str) -> Array:
    """A column of the last evaluation of each run (runs,)."""
    return np.array([run.evaluations[column][-1] for run in runs], np.float64)


def mean(values: ArrayLike) -> float:
    """The arithmetic mean of all values; NaN for none."""
    x = flat(values)
    return float(x.mean()) if x.size else math.nan


def std(values: ArrayLike) -> float:
    """The sample standard deviation (divided by n - 1); NaN for fewer than two values."""
    x = flat(values)
    return float(x.std(ddof=1)) if x.size > 1 else math.nan


def median(values: ArrayLike) -> float:
    """The median; NaN for none."""
    x = flat(values)
    return float(np.median(x)) if x.size else math.nan


def iqm(values: ArrayLike) -> float:
    """The interquartile mean: the mean without the lowest and the highest floor(n / 4) values.

    Agarwal et al. 2021, "Deep reinforcement learning at the edge of the statistical precipice".
    """
    x = np.sort(flat(values))
    trimmed = x.size // 4
    return mean(x[trimmed : x.size - trimmed])


def iqm_over_environments(strata: Sequence[ArrayLike]) -> float:
    """The interquartile mean of all runs, each environment with the same weight; NaN when one has no run.

    `strata[i]` holds the scores of the runs in environment i. A run weighs 1 / (environments x runs of its
    environment), and a share floor(n / 4) / n of the weight is cut at either end. With equally many runs everywhere
    this is `iqm` of all runs, as in Agarwal et al. 2021.
    """
    samples = [flat(stratum) for stratum in strata]
    if not samples or min(sample.size for sample in samples) == 0:
        return math.nan
    x = np.concatenate(samples)
    weights = np.concatenate([np.full(sample.size, 1 / (len(samples) * sample.size)) for sample in samples])
    order = np.argsort(x, kind="stable")
    edges = np.concatenate([[0.0], np.cumsum(weights[order])])
    trimmed = (x.size // 4) / x.size
    kept = np.diff(np.clip(edges, trimmed, 1 - trimmed))
    return float(x[order] @ kept / kept.sum())


def improvement(value: float, baseline: float) -> float:
    """By how many percent of the baseline's magnitude `value` lies above it; NaN for a baseline of zero."""
    return 100 * (value - baseline) / abs(baseline) if baseline else math.nan


def probability_of_improvement(x: Sequence[ArrayLike], y: Sequence[ArrayLike]) -> float:
    """The probability that a random run of x scores above one of y (ties count half), averaged over environments.

    `x[i]` and `y[i]` are the scores of the runs in environment i; their lengths may differ (Agarwal et al. 2021).
    """
    ranks = [dense_ranks(a, b) for a, b in zip(x, y)]
    return mean([np.mean((a[:, None] > b) + 0.5 * (a[:, None] == b)) for a, b in ranks])


def dense_ranks(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """The ranks of both samples' values among the different values of both; those that differ by rounding are equal."""
    a, b = flat(x), flat(y)
    values = np.sort(np.concatenate([a, b]))
    larger = np.maximum(np.abs(values[1:]), np.abs(values[:-1]))
    levels = np.concatenate([values[:1], values[1:][np.diff(values) > ROUNDING * larger]])
    return flat(levels.searchsorted(a, "right")), flat(levels.searchsorted(b, "right"))


def flat(values: ArrayLike) -> Array:
    """All values as one float64 vector."""
    return np.asarray(values, dtype=np.float64).ravel()


def share_interval(count: int, runs: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of runs (1927); NaN without runs."""
    return tuple(scipy.stats.binomtest(count, runs).proportion_ci(method="wilson")) if runs else NO_INTERVAL


def mean_interval(values: ArrayLike) -> tuple[float, float]:
    """Student's 95 % interval of the mean; NaN for fewer than two values."""
    x = flat(values)
    half = special.stdtrit(x.size - 1, 0.975) * std(x) / math.sqrt(x.size) if x.size > 1 else math.nan
    return float(mean(x) - half), float(mean(x) + half)


@cache
def superiority_interval(probability: float, *sizes: tuple[int, int]) -> tuple[float, float]:
    """The 95 % interval of `probability_of_improvement` by the numbers of runs (n, m) in each environment.

    Newcombe 2006, "Confidence intervals for an effect size measure based on the Mann-Whitney statistic", part 2,
    method 5: like Wilson's interval of a share, so it has a width also when all of one sample lies above the other,
    where a bootstrap sees no spread. The variance of a mean of independent environments takes one probability for all:
    too large where theirs differ. NaN with fewer than two values on a side.
    """
    if math.isnan(probability) or min(map(min, sizes)) < 2:
        return NO_INTERVAL

    def beyond(theta: float) -> float:
        """How far `theta` lies from the probability, less what the interval allows."""
        more = (1 - theta) / (2 - theta) + theta / (1 + theta)
        variance = sum(theta * (1 - theta) * (1 + ((n + m) / 2 - 1) * more) / (n * m) for n, m in sizes)
        return float(abs(theta - probability) - special.ndtri(0.975) * math.sqrt(variance) / len(sizes))

    inside = min(max(probability, 1e-12), 1 - 1e-12)
    low = scipy.optimize.brentq(beyond, 0.0, inside, xtol=1e-15) if probability > 0 else 0.0
    high = scipy.optimize.brentq(beyond, inside, 1.0, xtol=1e-15) if probability < 1 else 1.0
    return low, high


def bootstrap_interval(
    statistic: Callable[[list[Array]], float], strata: Sequence[ArrayLike], *, resamples: int = 1000
) -> tuple[float, float]:
    """The 95 % bootstrap interval of `statistic(strata)`, resampling with replacement within each stratum.

    Its ends are percentiles, further out the smaller the strata are (`expanded_tail`). A stratum is the scores of one
    algorithm's runs in one environment. NaN when a stratum has fewer than two runs, or the statistic of a resample is
    NaN.
    """
    samples = [flat(stratum) for stratum in strata]
    if not samples or min(sample.size for sample in samples) < 2:
        return NO_INTERVAL
    rng = np.random.default_rng(0)
    draws = [sample[rng.integers(sample.size, size=(resamples, sample.size))] for sample in samples]
    values = np.array([statistic([draw[i] for draw in draws]) for i in range(resamples)])
    tail = expanded_tail([sample.size for sample in samples])
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def bootstrap_mean_band(values: Array) -> tuple[Array, Array]:
    """The bootstrap interval of the mean over axis 0 at every point; `values` is (runs, points).

    As `bootstrap_interval`, of 500 resamples; whole runs are resampled, the same ones at all points.
    """
    return _bootstrap_mean_band(values.tobytes(), len(values))


@lru_cache(maxsize=64)  # over most axes a cell has the same values
def _bootstrap_mean_band(data: bytes, runs: int) -> tuple[Array, Array]:
    values = np.frombuffer(data).reshape(runs, -1)
    picks = np.random.default_rng(0).integers(runs, size=(500, runs))
    weights = np.stack([(picks == run).sum(axis=1) for run in range(runs)], axis=1) / runs
    tail = expanded_tail([runs])
    means = np.sort(weights @ values, axis=0)  # which saves the quantiles a third of their time
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return low, high


def expanded_tail(sizes: Sequence[int]) -> float:
    """The share of resamples to leave out at either end, for samples of these sizes and 95 % confidence.

    Resamples of n values have (n - 1) / n of the variance, and few values know it badly, so plain percentiles cover too
    seldom. Hesterberg 2015, "What teachers should know about the bootstrap", section 5.3: the normal distribution's
    tail beyond sqrt(n / (n - 1)) times Student's quantile; n is the size of the smallest sample.
    """
    fewest = min(sizes)
    quantile = special.stdtrit(sum(sizes) - len(sizes), 0.975)
    return float(special.ndtr(-math.sqrt(fewest / (fewest - 1)) * quantile))


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
    """All points x (points,) that every run spans, and values (runs, points), linear between the run's points.

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
    """The curves (x, y) of seeds: of one that has several runs their mean, up to the first end."""
    seeds = group_items(series).values()
    return [curves[0] if len(curves) == 1 else _mean(align(curves)) for curves in seeds]


def _mean(curves: Points) -> Points:
    x, values = curves
    return x, values.mean(axis=0) if len(x) else x


def mean_curve(runs: Sequence[tuple[int, Points]], interval: bool = False) -> dict[str, Array]:
    """`x`, mean `y`, and the edges of its band, all (points,), of runs (seed, (x, y)); a seed is the mean of its runs.

    The curve begins where the last run begins and stops where the first one ends: beyond, it would be a mean over other
    runs. It has at most `MOST_POINTS`. `low` and `high` are the lowest and the highest run: means of several runs
    spread less. With an `interval`, of two seeds and more, they are the 95 % bootstrap interval of the mean.
    """
    x, values = align(by_seed(runs))
    if not len(x):
        return dict.fromkeys(("x", "y", "low", "high"), x)
    kept = thinned(len(x), MOST_POINTS)
    x, values = x[kept], np.ascontiguousarray(values[:, kept])
    single = np.array([np.interp(x, *curve) for _, curve in runs if len(curve[0])])
    low, high = single.min(axis=0), single.max(axis=0)
    if interval and len(values) > 1:
        low, high = bootstrap_mean_band(values)
    return {"x": x, "y": values.mean(axis=0), "low": low, "high": high}


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


def _average_seeds(runs: Sequence[Any]) -> Points:
    """The points (points,) that all runs reached and the average of the seeds there."""
    curves = ((run.seed, (run.evaluations.timesteps, run.evaluations.return_mean)) for run in runs)
    return _mean(align(by_seed(curves)))


def max_of_average(runs: Sequence[Any]) -> float:
    """The highest point of the seed average, over the steps that all runs reached; NaN without one."""
    return float(max(_average_seeds(runs)[1], default=math.nan))


def average_reached(runs: Sequence[Any], score: float) -> float:
    """Training steps at which the seed average is first at least `score`, over the steps that all runs reached.

    It is interpolated linearly between evaluations, as a reader of the curve does.
    Infinite when it never is.
    """
    x, average = _average_seeds(runs)
    if not (average >= score).any():
        return math.inf
    first = int((average >= score).argmax())
    near = slice(max(0, first - 1), first + 1)
    return float(np.interp(score, average[near], x[near]))


def reached(evaluations: Any, score: float) -> tuple[float, float]:
    """Training steps and minutes at the first evaluation with a mean return of at least `score`; infinite without."""
    first = evaluations[evaluations.return_mean >= score][:1]
    return (float(first.timesteps[0]), float(first.seconds[0] / 60)) if len(first) else (math.inf, math.inf)


def updates_per_step(runs: Sequence[Any]) -> tuple[float, float]:
    """Gradient updates of the critic and of the actor per training step, mean over runs; NaN where not recorded."""
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
    and 0 without two such rows that have seconds.
    """
    rows = np.flatnonzero((critic_updates > 0) & np.isfinite(seconds))
    if len(rows) < 2 or timesteps[rows[-1]] <= timesteps[rows[0]]:
        return math.nan, 0
    first, last = rows[0], rows[-1]
    steps = timesteps[last] - timesteps[first]
    return float((seconds[last] - seconds[first]) / 60 / steps * 1e6), int(steps)
