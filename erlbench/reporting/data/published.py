"""The papers' and other suites' numbers, one value a row, packaged as published.csv; and reference runs."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import pandas as pd

from erlbench.reporting.data.cells import list_rows
from erlbench.reporting.data.references import find_references, read_references

KEY = ["source", "table", "env", "algorithm", "statistic"]
_GENERATION = re.compile(r"mean_fitness_at_gen(\d+)")
_THRESHOLD = re.compile(r"score_at_(\d+)pct")


class Threshold(NamedTuple):
    """A score that a source gives the training steps to."""

    score: Any  # a published number
    percent: str  # of the progress of `score.algorithm`
    steps: tuple[Any, ...]  # to the score, a published number for each algorithm


class Published:
    """All published numbers, rows of published.csv, and reference runs (`references.py`).

    Of a number `env` has the version it was measured in, `algorithm` is the label in the source; `steps` (of training)
    and `seeds` are None where nobody says them; `remark` is the note as a table prints it.
    """

    def __init__(self) -> None:
        counts = ("steps", "seeds")
        with (files("erlbench.reporting") / "published.csv").open(encoding="utf-8") as file:
            numbers = pd.read_csv(
                file, keep_default_na=False, na_values=dict.fromkeys(counts, ""), dtype=dict.fromkeys(counts, "Int64")
            )
        numbers = numbers.drop_duplicates(KEY).astype(dict.fromkeys(counts, object))
        numbers = numbers.where(numbers.notna(), None)
        numbers["remark"] = numbers.note + numbers.comparable.map({"no": "; do not compare"}).fillna("")
        self.rows = list_rows(numbers)
        self._by_key = {tuple(getattr(row, name) for name in KEY): row for row in self.rows}
        self.references = read_references()

    def find(self, source: str, table: str, env: str, algorithm: str, statistic: str) -> Any:
        """The number, or None when the source has none there; of several the first in the file."""
        return self._by_key.get((source, table, env, algorithm, statistic))

    def thresholds(self, env: str) -> list[Threshold]:
        """The scores to which the steps are known in an environment, as the sources name it; lowest first."""
        scores = [(_THRESHOLD.fullmatch(row.statistic), row) for row in self.rows if row.env == env]
        return sorted(
            (
                Threshold(score, match[1], tuple(
                    row for row in self.rows if (row.env, row.source, row.table, row.statistic)
                    == (env, score.source, score.table, f"timesteps_to_{match[1]}pct")
                ))
                for match, score in scores if match
            ),
            key=lambda threshold: float(threshold.score.value),
        )  # fmt: skip

    def over_generations(self, source: str, table: str, env: str, algorithm: str) -> list[tuple[int, Any]]:
        """The points of a curve over generations, in their order."""
        points = (
            (_GENERATION.fullmatch(row.statistic), row)
            for row in self.rows
            if (row.source, row.table, row.env, row.algorithm) == (source, table, env, algorithm)
        )
        return sorted(((int(match[1]), row) for match, row in points if match), key=lambda point: point[0])

    def find_references(self, cell: Any) -> list[Any]:
        """Other people's runs that stand beside a cell: `references.find_references`."""
        return find_references(self.references, cell)


@cache
def load_published() -> Published:
    """The numbers of the packaged table, and the packaged reference runs."""
    return Published()
