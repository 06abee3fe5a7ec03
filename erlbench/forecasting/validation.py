"""How wrong forecasts were: the rows of forecast_errors.csv, which docs/time.md shows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

import pandas as pd

FILE = "forecast_errors.csv"
KINDS = ("sleeping", "computing")  # environments that sleep a known time; HalfCheetah with networks


@dataclass(frozen=True, kw_only=True)
class Validated:
    """One cell: minutes per million training steps, measured and forecast."""

    kind: str
    algorithm: str
    processes: int
    measured: float
    forecast: float
    machine: str
    apart: float = math.nan  # percent: the shortest and the longest measurement of the cell
    lowest: float = math.nan  # of the errors of single turns: a forecast and a measurement at the same time
    highest: float = math.nan
    own: float = math.nan  # forecast from what the tasks of that run took, so by its schedule alone
    stolen: float = math.nan  # percent of the machine's time that its host took meanwhile
    turns: int = 1  # this row is of

    @property
    def error(self) -> float:
        """Percent of what was measured; negative: the forecast was too short."""
        return 100 * (self.forecast / self.measured - 1)


def validated() -> list[Validated]:
    """All rows of the package."""
    with (files("erlbench.forecasting") / FILE).open(encoding="utf-8") as file:
        return [
            Validated(**{str(name): value for name, value in row.items()})
            for row in pd.read_csv(file).to_dict("records")
        ]


def errors_of(algorithms: Sequence[str], rows: Sequence[Validated] | None = None) -> Iterator[tuple[str, str, str]]:
    """Algorithm, kind, and the errors by number of processes, one line each; says where there is none."""
    known = validated() if rows is None else rows
    for algorithm in dict.fromkeys(algorithms):
        for kind in KINDS:
            found = [row for row in known if (row.algorithm, row.kind) == (algorithm, kind)]
            errors = ", ".join(f"{row.error:+.1f} % on {row.processes}" for row in found)
            yield algorithm, kind, errors or "not measured"
