"""Reference runs: other people's runs, seed by seed, packaged as reference_runs.csv.gz; each source for itself."""

from __future__ import annotations

import csv
import gzip
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files

import numpy as np

from erlbench.reporting.data.comparability import same_task
from erlbench.reporting.data.comparison import RunSet
from erlbench.reporting.data.cut import NEAR, nearest_index
from erlbench.reporting.data.runs import Array, StoredRun
from erlbench.reporting.data.seeds import values_by_seed

# ours, and their name in the sources
ALGORITHMS = {"td3": "TD3", "sac": "SAC", "ppo": "PPO", "ddpg": "DDPG", "trpo": "TRPO"}


@dataclass(frozen=True, kw_only=True)
class Source:
    """Who made runs, where they are, and what a value is."""

    name: str
    repository: str
    commit: str
    licence: str  # of the repository, and whose
    training_returns: tuple[str, ...]  # algorithms whose values are of training episodes; all others': of evaluations
    environments: str
    caveat: str  # why its runs are not what one would compare with, or nothing
    description: str


@dataclass(frozen=True)
class ReferenceRuns:
    """The runs of one source with one algorithm in one environment."""

    source: Source
    env: str  # as the source names it
    algorithm: str
    runs: tuple[tuple[Array, Array], ...]  # of each seed, steps and returns, both (points,)

    @property
    def returns(self) -> str:
        """What a value is the return of, and the source's caveat."""
        kind = "training" if self.algorithm in self.source.training_returns else "evaluation"
        return ", ".join(filter(None, (f"{kind} returns", self.source.caveat)))

    @property
    def last(self) -> float:
        """The steps of the shortest run."""
        return float(min(steps[-1] for steps, _ in self.runs))

    def at(self, steps: float) -> Array:
        """The return of each run (runs,) at its point nearest to `steps`; without the runs that have none near."""
        found = [_nearest(*run, steps) for run in self.runs]
        return np.array([value for value in found if value is not None], dtype=np.float64)


class References:
    """All reference runs."""

    def __init__(self, sets: Iterable[ReferenceRuns] = ()) -> None:
        self.sets = tuple(sets)

    def of(self, run_set: RunSet) -> list[ReferenceRuns]:
        """The runs of the run set's algorithm where dynamics and reward are those of the run set's environment.

        One entry for each source, the one that says most first; none for a run set that is not judged.
        """
        if not run_set.judged:
            return []
        names = {run_set.published, *(ALGORITHMS.get(run.algo) for run in run_set.runs)}
        return [one for one in self.sets if one.algorithm in names and same_task(run_set.env, one.env)]


def match_runs(done: Sequence[StoredRun], theirs: ReferenceRuns) -> tuple[float, list[Array], Array] | None:
    """A step, the scores of our seeds there, (runs of the seed,) each, and theirs (runs,); None without a common step.

    At the one of their points nearest to the end of the shortest run that all our runs have an evaluation near.
    """
    ours = min((float(run.evaluations.timesteps[-1]) for run in done), default=0.0)
    points = theirs.runs[0][0]
    points = points[(points > 0) & (points * (1 - NEAR) <= ours)]
    for steps in points[np.abs(points - min(ours, theirs.last)).argsort(kind="stable")]:
        values = values_by_seed(done, partial(_return_near, steps=steps))
        other = theirs.at(steps)
        if not np.isnan(np.concatenate(values)).any() and len(other):
            return float(steps), values, other
    return None


def _return_near(run: StoredRun, steps: float) -> float:
    """The return of the evaluation nearest to `steps`; NaN where there is none near."""
    found = _nearest(run.evaluations.timesteps, run.evaluations.return_mean, steps)
    return math.nan if found is None else found


def _nearest(steps: Array, returns: Array, wanted: float) -> float | None:
    """The return at the point nearest to `wanted`; None when there is none near."""
    index = nearest_index(steps, wanted)
    return None if index is None else float(returns[index])


def load_references() -> References:
    """The packaged runs, ordered by source as reference_sources.csv is."""
    folder = files("erlbench.reporting")
    with (folder / "reference_sources.csv").open(encoding="utf-8") as file:
        sources = [
            Source(name=row.pop("source"), training_returns=tuple(row.pop("training_returns").split()), **row)
            for row in csv.DictReader(file)
        ]  # fmt: skip
    text = gzip.decompress((folder / "reference_runs.csv.gz").read_bytes()).decode()
    by_set: dict[tuple[str, str, str], list[tuple[Array, Array]]] = {}
    for row in csv.DictReader(text.splitlines()):
        series = _numbers(row["steps"]), _numbers(row["returns"])
        by_set.setdefault((row["source"], row["env"], row["algorithm"]), []).append(series)
    return References(
        ReferenceRuns(source, env, algorithm, tuple(runs))
        for source in sources for (name, env, algorithm), runs in by_set.items() if name == source.name
    )  # fmt: skip


def _numbers(text: str) -> Array:
    return np.fromstring(text, dtype=np.float64, sep=" ")
