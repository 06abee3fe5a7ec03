"""Fixed scales of scores: 0 is a random policy, 1 a published score; packaged as normalisation.csv with its sources."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from erlbench.reporting.data.runs import Array


@dataclass(frozen=True)
class Scale:
    """What 0 and 1 are in one environment."""

    random: float  # mean return of uniform actions
    reference: float
    source: str  # of the reference: who, which algorithm, which environment

    def of(self, scores: Array) -> Array:
        """The scores (runs,) on this scale."""
        return (scores - self.random) / (self.reference - self.random)


def scale_of(env: str) -> Scale | None:
    """The scale of an environment, whatever its preset; None for one with settings of its own, or not in the file."""
    return None if "(" in env else scales().get(env.partition("@")[0])


def random_score(env: str) -> float | None:
    """The mean return of a random policy in an environment, whatever its preset; None where the file has none."""
    found = scale_of(env)
    return found.random if found else None


@cache
def scales() -> Mapping[str, Scale]:
    """All scales by environment."""
    with (files("erlbench.reporting") / "normalisation.csv").open(encoding="utf-8") as file:
        return MappingProxyType({row["env"]: _scale(row) for row in csv.DictReader(file)})


def _scale(row: Mapping[str, str]) -> Scale:
    words = " ".join(filter(None, (row["source_algorithm"], row["source_env"] and f"on {row['source_env']}")))
    return Scale(float(row["random"]), float(row["reference"]), f"{words}, {row['source']}" if words else row["source"])
