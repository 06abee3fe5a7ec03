"""The papers' and other suites' numbers, one value a row, packaged as published.csv; and reference runs."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from erlbench.reporting.data.references import References, load_references


@dataclass(frozen=True, kw_only=True)
class Number:
    """One published value."""

    source: str  # "AES-RL paper"
    table: str  # "Table 2"
    env: str  # with the version it was measured in: "Walker2d-v2"
    algorithm: str  # the label in the source
    statistic: str  # "mean", "std", "median", "time_min", ...
    value: float
    steps: int | None  # training steps after which it was measured
    seeds: int | None
    note: str
    comparable: bool = True  # with the return of an episode

    @property
    def remark(self) -> str:
        """The note as a table prints it."""
        return self.note if self.comparable else f"{self.note}; do not compare"


@dataclass(frozen=True)
class Threshold:
    """A score that a source gives the training steps to."""

    score: Number
    percent: str  # of the progress of `score.algorithm`
    steps: tuple[Number, ...]  # to the score, one for each algorithm


class Published:
    """All published numbers, looked up by source, table, environment, algorithm and statistic; and reference runs."""

    def __init__(self, numbers: Iterable[Number], references: References | None = None) -> None:
        self.references = references or References()
        self._numbers: dict[tuple[str, str, str, str, str], Number] = {}
        for number in numbers:
            key = (number.source, number.table, number.env, number.algorithm, number.statistic)
            self._numbers.setdefault(key, number)

    def find(self, source: str, table: str, env: str, algorithm: str, statistic: str) -> Number | None:
        """The number, or None when the source has none there; of several the first in the file."""
        return self._numbers.get((source, table, env, algorithm, statistic))

    def thresholds(self, env: str) -> list[Threshold]:
        """The scores to which the steps are known in an environment, as the sources name it; lowest first."""
        here = [number for number in self._numbers.values() if number.env == env]
        found = []
        for score in here:
            if match := _THRESHOLD.fullmatch(score.statistic):
                wanted = (score.source, score.table, f"timesteps_to_{match[1]}pct")
                steps = tuple(n for n in here if (n.source, n.table, n.statistic) == wanted)
                found.append(Threshold(score, match[1], steps))
        return sorted(found, key=lambda threshold: threshold.score.value)

    def over_generations(self, source: str, table: str, env: str, algorithm: str) -> list[tuple[int, Number]]:
        """The points of a curve over generations, in their order."""
        keyed = ((_GENERATION.fullmatch(key[-1]), number) for key, number in self._numbers.items()
                 if key[:-1] == (source, table, env, algorithm))  # fmt: skip
        return sorted(((int(found[1]), number) for found, number in keyed if found), key=lambda point: point[0])

    @property
    def numbers(self) -> list[Number]:
        """All numbers, in their order."""
        return [*self._numbers.values()]

    def __len__(self) -> int:
        return len(self._numbers)


def load_published() -> Published:
    """The numbers of the packaged table, and the packaged reference runs."""
    with (files("erlbench.reporting") / "published.csv").open(encoding="utf-8") as file:
        return Published([_number(row) for row in csv.DictReader(file)], load_references())


def _number(row: dict[str, Any]) -> Number:
    counts = {name: int(float(row[name])) if row[name] else None for name in ("steps", "seeds")}
    return Number(**{**row, **counts, "value": float(row["value"]), "comparable": row["comparable"] != "no"})


_GENERATION = re.compile(r"mean_fitness_at_gen(\d+)")
_THRESHOLD = re.compile(r"score_at_(\d+)pct")
