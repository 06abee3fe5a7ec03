"""A plain CSV with the columns env, algo, seed, step and return: any number of runs.

Several rows of one step are the episodes of one evaluation. Other columns are not read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from erlbench.importing.columns import foreign_columns, numbers
from erlbench.importing.source import Evaluated, ForeignRun, checked_returns, checked_steps, refuse

PROGRAM = "imported"
COLUMNS = ("env", "algo", "seed", "step", "return")


def read_table(path: Path) -> Iterator[ForeignRun]:
    """The runs of the file, in the order of their first rows."""
    _, cells, digest = foreign_columns(path, COLUMNS)
    seeds = numbers(path, "seed", cells["seed"])
    steps = numbers(path, "step", cells["step"])
    returns = checked_returns(path, numbers(path, "return", cells["return"]))
    if (seeds % 1).any() or (seeds < 0).any() or (seeds >= 2**31).any():
        refuse(path, "a seed is no whole number from 0 on")
    runs: defaultdict[tuple[str, str, int], list[int]] = defaultdict(list)
    for index, key in enumerate(zip(cells["env"], cells["algo"], seeds.astype(int).tolist(), strict=True)):
        runs[key].append(index)
    for (env, algo, seed), rows in runs.items():
        evaluated = _evaluated(checked_steps(path, np.sort(steps[rows])), steps[rows], returns[rows])
        yield ForeignRun(
            path,
            "CSV",
            program=PROGRAM,
            digests={path.name: digest},
            env=env,
            algo=algo,
            seed=seed,
            evaluated=evaluated,
        )


def _evaluated(ordered: np.ndarray, steps: np.ndarray, returns: np.ndarray) -> Evaluated:
    """Returns by step; one row of a step may be a mean, so only several are episodes."""
    distinct = np.unique(ordered)
    order = np.argsort(steps, kind="stable")
    parts = np.split(returns[order], np.searchsorted(ordered, distinct[1:]))
    episodes = () if len(parts) == len(returns) else tuple(tuple(part.tolist()) for part in parts)
    return Evaluated(distinct, np.array([part.mean() for part in parts]), episodes)
