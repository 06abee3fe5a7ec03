"""Measures of one run, and of the runs of one run set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from erlbench.reporting.data.runs import Array, StoredEvaluations, StoredRun
from erlbench.reporting.statistics.curves import align, by_seed


def max_of_average(runs: Sequence[StoredRun]) -> float:
    """The highest point of the seed average, over the steps that all runs reached."""
    if not runs:
        return float("nan")
    _, average = _average(runs)
    return float(average.max()) if average.size else float("nan")


def reached(evaluations: StoredEvaluations, score: float) -> tuple[float, float]:
    """Training steps and minutes at the first evaluation with a mean return of at least `score`; infinite without."""
    there = np.flatnonzero(evaluations.return_mean >= score)
    if not len(there):
        return float("inf"), float("inf")
    return float(evaluations.timesteps[there[0]]), float(evaluations.seconds[there[0]] / 60)


def average_reached(runs: Sequence[StoredRun], score: float) -> float:
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


def _average(runs: Sequence[StoredRun]) -> tuple[Array, Array]:
    """The points (points,) that all runs reached and the average there, each run interpolated linearly."""
    x, values = align(by_seed((run.seed, (run.evaluations.timesteps, run.evaluations.return_mean)) for run in runs))
    complete = ~np.isnan(values).any(axis=0)
    return x[complete], values[:, complete].mean(axis=0)


def updates_per_step(runs: Sequence[StoredRun]) -> tuple[float, float]:
    """Gradient updates of the critic and of the actor per training step, mean over runs; NaN where none says it."""
    rates = [
        (e.critic_updates[-1] / e.timesteps[-1], e.actor_updates[-1] / e.timesteps[-1])
        for run in runs if len(e := run.evaluations) and e.timesteps[-1] > 0
    ]  # fmt: skip
    if not rates:
        return float("nan"), float("nan")
    critic, actor = np.array(rates, dtype=np.float64).mean(axis=0)
    return float(critic), float(actor)


def minutes_per_million(run: StoredRun) -> float:
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
