"""Where scores are reckoned from: the return of a random policy, packaged as random_scores.csv.

`python -m benchmarks.random_scores ENV...` measures it: uniform actions, 100 episodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd


def find_origin(env: str, cells: Iterable[Any]) -> float:
    """The score of a random policy, else the mean return of the cells' finished runs before training, else 0."""
    if (score := random_score(env)) is not None:
        return score
    first = [run.evaluations[0] for cell in cells for run in cell.done]
    returns = [float(row.return_mean) for row in first if row.timesteps == 0]
    return float(np.mean(returns)) if returns else 0.0


def random_score(env: str) -> float | None:
    """The mean return of a random policy, whatever the preset; None where the file has none, or for own settings."""
    return None if "(" in env else random_scores().get(env.partition("@")[0])


@cache
def random_scores() -> dict[str, float]:
    """The mean returns of random policies by environment."""
    with (files("erlbench.reporting") / "random_scores.csv").open(encoding="utf-8") as file:
        return dict(pd.read_csv(file, index_col="env").random)
