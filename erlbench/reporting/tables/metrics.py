"""The table of other metrics of the same runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from erlbench.reporting.data.origin import find_origin
from erlbench.reporting.data.page_cells import PageCells
from erlbench.reporting.data.score import area, final, final_10
from erlbench.reporting.data.seeds import STD, seed_means, single_run_std, values_by_seed
from erlbench.reporting.documents.formats import between, interval, number, plus_minus, share, steps
from erlbench.reporting.documents.model import Column, Record, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.curves import max_of_average
from erlbench.reporting.statistics.estimates import FEWEST_RUNS, NONE, Array, mean
from erlbench.reporting.statistics.significance import MARGIN
from erlbench.reporting.tables.columns import IDENTITY, N, cell_record

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


def metrics_table(page: PageCells) -> Table:
    """Final return, mean of the last ten evaluations, maximum of the average, area under the curve."""
    rows = [
        {**cell_record(cell), **_metrics(group, cell)} for group in page.groups for cell in group.cells if cell.exists
    ]
    remarks = ["Mean over the n seeds ± sample standard deviation."]
    if any(row["runs"] > row["n"] for row in rows):
        remarks = [f"Mean over the n seeds, a seed by the mean of its runs, ± {STD}."]
    if (fewest := min((row["n"] for row in rows), default=0)) >= FEWEST_RUNS:
        least = 100 * estimates.share_between_extremes(fewest)
        remarks.append(
            f"Whatever the distribution: at least {least:.0f} % of all runs lie between "
            f"the lowest and the highest of {fewest} runs, with 95 % confidence."
        )
    return Table("metrics", page.heading("other metrics"), COLUMNS, rows, remarks)


def _metrics(group: Any, cell: Any) -> Record:
    finals, enough = _by_seed(cell, final), cell.n >= FEWEST_RUNS
    best = max((mean(_by_seed(one, final)) for one in group.cells if one.exists and one.done), default=0.0)
    near: tuple[float, ...] = (math.nan, *NONE)
    if enough:
        count = int((finals >= best - MARGIN * abs(best - find_origin(group.env, group.cells))).sum())
        near = (count / len(finals), *estimates.share_interval(count, len(finals)))
    single = len(cell.done) == cell.n  # else they are means of runs, and tolerance is of single runs
    fitness = np.array([run.evaluations.fitness_timesteps[-1] for run in cell.done], np.float64)
    record: Record = {
        "max_of_average": max_of_average(cell.done),
        "all_timesteps_mean": mean([run.evaluations.all_steps[-1] for run in cell.done]),
        "fitness_timesteps_mean": mean(fitness[~np.isnan(fitness)]),
        **dict(zip(("near_best", "near_best_low", "near_best_high"), near, strict=True)),
    }
    for name, metric in (("final", final), ("final_10", final_10), ("area", area)):
        record[f"{name}_mean"], record[f"{name}_std"] = _mean_std(cell, metric)
    record["relative_std"] = record["final_std"] / abs(record["final_mean"]) if record["final_mean"] else math.nan
    record["final_low"], record["final_high"] = estimates.mean_interval(finals) if enough else NONE
    tolerance = estimates.tolerance_interval(finals) if single and enough else NONE
    record["tolerance_low"], record["tolerance_high"] = tolerance
    return record


def _mean_std(cell: Any, metric: Callable[[Any], float]) -> tuple[float, float]:
    """The mean over seeds, and the standard deviation of a single run."""
    values = values_by_seed(cell.done, metric)
    return float(seed_means(values).mean()) if values else math.nan, single_run_std(values)


def _by_seed(cell: Any, metric: Callable[[Any], float]) -> Array:
    return seed_means(values_by_seed(cell.done, metric))
