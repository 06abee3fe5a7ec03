"""The table of other metrics of the same runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.origin import origin_of
from erlbench.reporting.data.runs import Array, Evaluations, Run
from erlbench.reporting.data.score import area, final, final_10
from erlbench.reporting.data.seeds import STD
from erlbench.reporting.documents.formats import between, interval, number, plus_minus, share, steps
from erlbench.reporting.documents.model import Column, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.intervals import (
    FEWEST_RUNS,
    NONE,
    mean_interval,
    share_between_extremes,
    share_interval,
    tolerance_interval,
)
from erlbench.reporting.statistics.metrics import max_of_average
from erlbench.reporting.statistics.significance import MARGIN
from erlbench.reporting.tables.columns import all_steps, identity, runs_used


@dataclass(frozen=True)
class Metrics:
    """One row: a run set."""

    group: Group
    run_set: RunSet


def metrics_table(comparison: Comparison) -> Table[Metrics]:
    """Final return, mean of the last ten evaluations, maximum of the average, area under the curve."""
    origins = {group.env: origin_of(group) for group in comparison.groups}
    rows = [Metrics(group, run_set) for group in comparison.groups for run_set in group.run_sets if run_set.exists]
    columns: list[Column[Metrics]] = [
        *identity(comparison),
        runs_used(),
        Column("Final", lambda row: _mean_std(row, final), plus_minus,
               name=("final_mean", "final_std"), note="the last evaluation."),
        Column("Mean's interval", lambda row: _interval(mean_interval, row), between,
               name=("final_low", "final_high"), note="95 % interval of the mean of Final (Student); too narrow where "
               "few runs fail (how-we-decide)."),
        Column("Std / mean", _relative_std, share, name="relative_std",
               note="of Final: the AES-RL paper's measure of stability; it says nothing where returns lie about zero."),
        Column("Near the best", lambda row: _near(row, origins[row.group.env]), interval,
               name=("near_best", "near_best_low", "near_best_high"),
               note="share of seeds with a Final within 10 % of the best mean, of the way from a random policy, with "
                    "Wilson's 95 % interval: how many runs do not fail."),
        Column("Tolerance", _tolerance, between,
               name=("tolerance_low", "tolerance_high"),
               note="where 90 % of all runs lie, with 95 % confidence, if Final is normally distributed over runs "
                    "(– where seeds have several runs)."),
        Column("Final-10", lambda row: _mean_std(row, final_10), plus_minus,
               name=("final_10_mean", "final_10_std"),
               note="mean of the last ten evaluations (– with fewer than ten)."),
        Column("Max of average", lambda row: max_of_average(row.run_set.done), number,
               note="highest point of the average over runs."),
        Column("Area under curve", lambda row: _mean_std(row, area), plus_minus,
               name=("area_mean", "area_std"), note="mean return over the training steps (trapezoids)."),
        Column("Fitness steps", _fitness_steps, steps, name="fitness_timesteps_mean",
               note="steps that the learning spent on the mean's own episodes besides the training steps that the "
                    "budget counts."),
        Column("All steps", lambda row: all_steps(row.run_set), steps, name="all_timesteps_mean",
               note="all steps of the simulator: training, fitness, evaluations, and what PPO replays to get back into "
                    "an episode."),
    ]  # fmt: skip
    remarks = ["Mean over the n seeds ± sample standard deviation."]
    if any(len(row.run_set.done) > len(row.run_set.seeds) for row in rows):
        remarks = [f"Mean over the n seeds, a seed by the mean of its runs, ± {STD}."]
    if (fewest := min((len(row.run_set.seeds) for row in rows), default=0)) >= FEWEST_RUNS:
        remarks.append(
            f"Whatever the distribution: at least {100 * share_between_extremes(fewest):.0f} % of all runs lie between "
            f"the lowest and the highest of {fewest} runs, with 95 % confidence."
        )
    return Table("metrics", comparison.heading("other metrics"), columns, rows, remarks)


def _interval(of: Callable[[Array], tuple[float, float]], row: Metrics) -> tuple[float, float]:
    """An interval of the final scores; none below `FEWEST_RUNS`."""
    scores = _of_runs(row, final)
    return of(scores) if len(scores) >= FEWEST_RUNS else NONE


def _mean_std(row: Metrics, metric: Callable[[Evaluations], float]) -> tuple[float, float]:
    return row.run_set.mean_std(lambda run: metric(run.evaluations))


def _relative_std(row: Metrics) -> float:
    mean, std = _mean_std(row, final)
    return std / abs(mean) if mean else math.nan


def _tolerance(row: Metrics) -> tuple[float, float]:
    """None for seeds that count by means of runs: it is an interval of single runs."""
    return _interval(tolerance_interval, row) if len(row.run_set.done) == len(row.run_set.seeds) else NONE


def _near(row: Metrics, origin: float) -> tuple[float, float, float]:
    """The share of seeds near the best mean of the environment."""
    means = [estimates.mean(one.by_seed(_final)) for one in row.group.run_sets if one.exists and one.done]
    scores = _of_runs(row, final)
    if len(scores) < FEWEST_RUNS:
        return math.nan, *NONE
    near = int((scores >= max(means) - MARGIN * abs(max(means) - origin)).sum())
    return near / len(scores), *share_interval(near, len(scores))


def _final(run: Run) -> float:
    return final(run.evaluations)


def _of_runs(row: Metrics, metric: Callable[[Evaluations], float]) -> Array:
    return row.run_set.by_seed(lambda run: metric(run.evaluations))


def _fitness_steps(row: Metrics) -> float:
    values = np.array([run.evaluations.fitness_timesteps[-1] for run in row.run_set.done], dtype=np.float64)
    return estimates.mean(values[~np.isnan(values)])
