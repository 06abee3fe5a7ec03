"""Seeds as a sample, some of which have several runs: with other kernels or packages, whose sums round otherwise.

A seed counts once, by the mean of its runs. Such a mean varies less than a run, so a standard deviation is not computed
from the means alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erlbench.words import counted

Array = NDArray[np.float64]
STD = "the standard deviation of a single run, from the variance between seeds and within them"


def values_by_seed(runs: Iterable[Any], value: Callable[[Any], float]) -> list[Array]:
    """A value of the runs of each seed (runs of the seed,), seeds in the order of their first runs."""
    found: dict[int, list[float]] = {}
    for run in runs:
        found.setdefault(run.seed, []).append(value(run))
    return [np.array(values, np.float64) for values in found.values()]


def seed_means(values: Sequence[Array]) -> Array:
    """The mean of each seed's runs (seeds,)."""
    return np.array([own.mean() for own in values])


def single_run_std(values: Sequence[Array]) -> float:
    """The standard deviation of a single run, from the values of each seed's runs; NaN for fewer than two seeds.

    Its square is the sample variance of the seeds' means plus the mean of the variances within seeds, each divided by
    the number of its runs: without bias whether the runs of a seed are alike or as different as those of other seeds.
    With one run a seed it is the sample standard deviation.
    """
    if len(values) < 2:
        return math.nan
    return math.sqrt(seed_means(values).var(ddof=1) + np.mean([own.var() for own in values]))


def sample_words(seeds: int, runs: int, planned: int | None = None) -> str:
    """`3 runs`, or `3 seeds, 6 runs` where seeds have several; `2 of 3 runs` where other seeds are planned."""
    several = f", {counted(runs, 'run')}" if runs != seeds else ""
    of, whole = ("", seeds) if planned in (None, seeds) else (f"{seeds:,} of ", planned or 0)
    return f"{of}{counted(whole, 'seed' if several else 'run')}{several}"
