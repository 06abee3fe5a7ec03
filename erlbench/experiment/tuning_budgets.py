"""Who tuned the defaults of each algorithm, on which tasks, with how many trials: tuning_budgets.csv."""

from __future__ import annotations

import csv
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import NamedTuple

ALL = ("all", "all others")


class Budget(NamedTuple):
    """What is known of the tuning of some defaults; all texts."""

    algorithm: str
    settings: str  # names, or "all"
    tasks: str
    by: str
    trials: str  # "none" where a rule gives the values


@cache
def read_budgets() -> tuple[Budget, ...]:
    """All rows of tuning_budgets.csv."""
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8") as file:
        return tuple(map(Budget._make, csv.reader(file)))[1:]


def select_budgets(algo: str, overridden: Collection[str] = ()) -> list[Budget]:
    """The rows of an algorithm, without settings that are `overridden`, and without rows of such settings alone."""
    rows = {budget: budget.settings.split(", ") for budget in read_budgets() if budget.algorithm == algo}
    gone = sorted(set(overridden).difference(*rows.values()))  # "all others" has no setting of another row
    kept = []
    for budget, names in rows.items():
        if budget.settings in ALL:
            names = [f"{budget.settings} but {', '.join(gone)}" if gone else budget.settings]
        if settings := ", ".join(name for name in names if name not in overridden):
            kept.append(budget._replace(settings=settings))
    return kept
