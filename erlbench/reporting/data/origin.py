"""Where scores are reckoned from: the return of a random policy, packaged as random_scores.csv.

`python -m benchmarks.random_scores ENV...` measures it: uniform actions, 100 episodes.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import numpy as np

from erlbench.reporting.data.comparison import Group


def origin_of(group: Group) -> float:
    """The score of a random policy, else the mean return of the compared runs before training, else 0."""
    if (known := random_score(group.env)) is not None:
        return known
    first = [
        float(run.evaluations.return_mean[0])
        for one in group.run_sets for run in one.done if run.evaluations.timesteps[0] == 0
    ]  # fmt: skip
    return float(np.mean(first)) if first else 0.0


def random_score(env: str) -> float | None:
    """The mean return of a random policy, whatever the preset; None where the file has none, or for own settings."""
    return None if "(" in env else random_scores().get(env.partition("@")[0])


@cache
def random_scores() -> Mapping[str, float]:
    """The mean returns of random policies by environment."""
    with (files("erlbench.reporting") / "random_scores.csv").open(encoding="utf-8") as file:
        return MappingProxyType({row["env"]: float(row["random"]) for row in csv.DictReader(file)})
