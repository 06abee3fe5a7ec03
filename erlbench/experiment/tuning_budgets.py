"""Who tuned the defaults of each algorithm, on which tasks, with how many trials: tuning_budgets.csv."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

ALL = ("all", "all others")


@dataclass(frozen=True)
class Budget:
    """What is known of the tuning of some defaults; all texts."""

    algorithm: str
    settings: str  # names, or "all"
    tasks: str
    by: str
    trials: str  # "none" where a rule gives the values

    def without(self, overridden: Iterable[str], named: Iterable[str] = ()) -> Budget | None:
        """What it says of the settings that have their default; None where none of its settings has it.

        `named` are settings of other rows of the algorithm, which "all others" does not speak of.
        """
        names = [name.strip() for name in self.settings.split(",")]
        if self.settings in ALL:
            gone = sorted(set(overridden) - set(named))
            return replace(self, settings=f"{self.settings} but {', '.join(gone)}") if gone else self
        kept = [name for name in names if name not in set(overridden)]
        return replace(self, settings=", ".join(kept)) if kept else None


@cache
def budgets() -> tuple[Budget, ...]:
    """All rows of tuning_budgets.csv."""
    with (files("erlbench.experiment") / "tuning_budgets.csv").open(encoding="utf-8") as file:
        return tuple(Budget(**row) for row in csv.DictReader(file))


def budgets_of(algo: str, overridden: Iterable[str] = ()) -> Iterator[Budget]:
    """The rows of an algorithm whose settings `overridden` do not have their default."""
    own = [budget for budget in budgets() if budget.algorithm == algo]
    named = {name.strip() for budget in own if budget.settings not in ALL for name in budget.settings.split(",")}
    yield from filter(None, (budget.without(overridden, named) for budget in own))
