"""Reference runs: other people's runs, seed by seed, packaged as reference_runs.csv.gz; each source for itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from erlbench.reporting.data.cells import list_rows
from erlbench.reporting.data.comparability import SAME, compare_environments
from erlbench.reporting.data.cut import NEAR, nearest_index
from erlbench.reporting.data.runs import Array
from erlbench.reporting.data.seeds import values_by_seed

# ours, and their name in the sources
ALGORITHMS = {"td3": "TD3", "sac": "SAC", "ppo": "PPO", "ddpg": "DDPG", "trpo": "TRPO"}


def read_references() -> list[Any]:
    """The runs of one source with one algorithm in one environment, a row each, ordered as reference_sources.csv.

    `env` and `algorithm` as the source names them; `runs`: of each seed, steps and returns, both (points,); `returns`:
    what a value is the return of, with the source's caveat; then the columns of reference_sources.csv.
    """
    folder = files("erlbench.reporting")
    with (folder / "reference_sources.csv").open(encoding="utf-8") as file:
        sources = pd.read_csv(file, dtype=str, keep_default_na=False)
    with (folder / "reference_runs.csv.gz").open("rb") as packed:
        runs = pd.read_csv(packed, compression="gzip", dtype=str, keep_default_na=False)
    points: list[Any] = [(_numbers(steps), _numbers(returns)) for steps, returns in zip(runs.steps, runs.returns)]
    runs["runs"] = points
    sets = runs.groupby(["source", "env", "algorithm"], sort=False).runs.agg(tuple).reset_index()
    rows = sources.merge(sets, on="source")
    kinds = [
        "training returns" if row.algorithm in row.training_returns.split() else "evaluation returns"
        for row in list_rows(rows)
    ]
    rows["returns"] = [", ".join(filter(None, both)) for both in zip(kinds, rows.caveat)]
    return list_rows(rows)


def find_references(references: Iterable[Any], cell: Any) -> list[Any]:
    """The runs of the cell's algorithm where dynamics and reward are those of the cell's environment.

    One row for each source, the one that says most first; none for a cell that is not judged.
    """
    if not cell.judged:
        return []
    names = {cell.published, *(ALGORITHMS.get(run.algo) for run in cell.runs)}
    return [
        one for one in references if one.algorithm in names and compare_environments(cell.env, one.env).relation == SAME
    ]


def match_runs(done: Sequence[Any], theirs: Any) -> tuple[float, list[Array], Array] | None:
    """A step, the scores of our seeds there, (runs of the seed,) each, and theirs (runs,); None without a common step.

    At the one of their points nearest to the end of the shortest run that all our runs have an evaluation near.
    """
    ours = min((float(run.evaluations.timesteps[-1]) for run in done), default=0.0)
    points = theirs.runs[0][0]
    points = points[(points > 0) & (points * (1 - NEAR) <= ours)]
    for steps in points[np.abs(points - min(ours, min(steps[-1] for steps, _ in theirs.runs))).argsort(kind="stable")]:
        values = values_by_seed(done, partial(_return_near, steps=steps))
        other = returns_at(theirs, steps)
        if not np.isnan(np.concatenate(values)).any() and len(other):
            return float(steps), values, other
    return None


def returns_at(theirs: Any, steps: float) -> Array:
    """The return of each of the runs (runs,) at its point nearest to `steps`; without those that have none near."""
    returns = np.array([return_near(x, y, steps) for x, y in theirs.runs])
    return returns[~np.isnan(returns)]


def _return_near(run: Any, steps: float) -> float:
    return return_near(run.evaluations.timesteps, run.evaluations.return_mean, steps)


def return_near(steps: Array, returns: Array, wanted: float) -> float:
    """The return at the point nearest to `wanted`; NaN where there is none near."""
    index = nearest_index(steps, wanted)
    return math.nan if index is None else float(returns[index])


def _numbers(text: str) -> Array:
    return np.fromstring(text, dtype=np.float64, sep=" ")
