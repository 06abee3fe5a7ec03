"""The table of other metrics of the same runs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.origin import origin_of
from erlbench.reporting.data.runs import Array, StoredEvaluations
from erlbench.reporting.data.score import area, final, final_10
from erlbench.reporting.data.seeds import STD
from erlbench.reporting.documents.formats import between, interval, number, plus_minus, share, steps
from erlbench.reporting.documents.model import Column, Record, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.curves import max_of_average
from erlbench.reporting.statistics.estimates import FEWEST_RUNS, NONE
from erlbench.reporting.statistics.significance import MARGIN
from erlbench.reporting.tables.columns import IDENTITY, N, all_steps, cell_record

COLUMNS: list[Column] = [
    *IDENTITY,
    N,
    Column("Final", "final_mean final_std", plus_minus, note="the last evaluation."),
    Column("Mean's interval", "final_low final_high", between,
           note="95 % interval of the mean of Final (Student); too narrow where few runs fail (how-we-decide)."),
    Column("Std / mean", "relative_std", share,
           note="of Final: the AES-RL paper's measure of stability; it says nothing where returns lie about zero."),
    Column("Near the best", "near_best near_best_low near_best_high", interval,
           note="share of seeds with a Final within 10 % of the best mean, of the way from a random policy, with "
                "Wilson's 95 % interval: how many runs do not fail."),
    Column("Tolerance", "tolerance_low tolerance_high", between,
           note="where 90 % of all runs lie, with 95 % confidence, if Final is normally distributed over runs "
                "(– where seeds have several runs)."),
    Column("Final-10", "final_10_mean final_10_std", plus_minus,
           note="mean of the last ten evaluations (– with fewer than ten)."),
    Column("Max of average", "max_of_average", number, note="highest point of the average over runs."),
    Column("Area under curve", "area_mean area_std", plus_minus,
           note="mean return over the training steps (trapezoids)."),
    Column("Fitness steps", "fitness_timesteps_mean", steps,
           note="steps that the learning spent on the mean's own episodes besides the training steps that the budget "
                "counts."),
    Column("All steps", "all_timesteps_mean", steps,
           note="all steps of the simulator: training, fitness, evaluations, and what PPO replays to get back into an "
                "episode."),
]  # fmt: skip


def metrics_table(comparison: Comparison) -> Table:
    """Final return, mean of the last ten evaluations, maximum of the average, area under the curve."""
    cells = [(group, run_set) for group in comparison.groups for run_set in group.run_sets if run_set.exists]
    rows = [{**cell_record(comparison, *cell), **_metrics(*cell)} for cell in cells]
    remarks = ["Mean over the n seeds ± sample standard deviation."]
    if any(row["runs"] > row["n"] for row in rows):
        remarks = [f"Mean over the n seeds, a seed by the mean of its runs, ± {STD}."]
    if (fewest := min((row["n"] for row in rows), default=0)) >= FEWEST_RUNS:
        least = 100 * estimates.share_between_extremes(fewest)
        remarks.append(
            f"Whatever the distribution: at least {least:.0f} % of all runs lie between "
            f"the lowest and the highest of {fewest} runs, with 95 % confidence."
        )
    return Table("metrics", comparison.heading("other metrics"), COLUMNS, rows, remarks)


def _metrics(group: Group, run_set: RunSet) -> Record:
    finals = _by_seed(run_set, final)
    best = max((estimates.mean(_by_seed(one, final)) for one in group.run_sets if one.exists and one.done), default=0.0)
    near: tuple[float, ...] = (math.nan, *NONE)
    if len(finals) >= FEWEST_RUNS:
        count = int((finals >= best - MARGIN * abs(best - origin_of(group))).sum())
        near = (count / len(finals), *estimates.share_interval(count, len(finals)))
    single = len(run_set.done) == len(run_set.seeds)  # else they are means of runs, and tolerance is of single runs
    record: Record = {"max_of_average": max_of_average(run_set.done), "all_timesteps_mean": all_steps(run_set)}
    for name, metric in (("final", final), ("final_10", final_10), ("area", area)):
        record[f"{name}_mean"], record[f"{name}_std"] = _mean_std(run_set, metric)
    record["relative_std"] = record["final_std"] / abs(record["final_mean"]) if record["final_mean"] else math.nan
    record["final_low"], record["final_high"] = estimates.mean_interval(finals) if len(finals) >= FEWEST_RUNS else NONE
    record["near_best"], record["near_best_low"], record["near_best_high"] = near
    record["tolerance_low"], record["tolerance_high"] = (
        estimates.tolerance_interval(finals) if single and len(finals) >= FEWEST_RUNS else NONE
    )
    fitness = np.array([run.evaluations.fitness_timesteps[-1] for run in run_set.done], dtype=np.float64)
    record["fitness_timesteps_mean"] = estimates.mean(fitness[~np.isnan(fitness)])
    return record


def _mean_std(run_set: RunSet, metric: Callable[[StoredEvaluations], float]) -> tuple[float, float]:
    return run_set.mean_std(lambda run: metric(run.evaluations))


def _by_seed(run_set: RunSet, metric: Callable[[StoredEvaluations], float]) -> Array:
    return run_set.by_seed(lambda run: metric(run.evaluations))
