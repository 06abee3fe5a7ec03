"""The table of folders side by side: every run set of the first folder against the same run set of the others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from erlbench.experiment.fairness import compare_algorithms
from erlbench.reporting.data.cells import several_draws
from erlbench.reporting.data.comparison import RunSet, judged_alike
from erlbench.reporting.data.identities import change_between, mixed_identities, not_repeatable, repeated_seeds
from erlbench.reporting.data.origin import random_score
from erlbench.reporting.data.seeds import sample_words
from erlbench.reporting.data.sides import Side
from erlbench.reporting.documents.formats import count, number, p_value, percent, plus_minus, steps, with_interval
from erlbench.reporting.documents.model import Column, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.baseline import Compared, compare_run_sets
from erlbench.reporting.statistics.metrics import minutes_per_million
from erlbench.reporting.statistics.significance import holm, level_words


@dataclass(frozen=True, kw_only=True)
class FolderPair:
    """One row: a run set of the first folder and the same run set of another one."""

    env: str
    total_timesteps: int
    name: str
    side: str
    first: RunSet | None
    other: RunSet | None
    compared: Compared

    @property
    def status(self) -> str:
        """`done`, or what keeps the two from being compared."""
        if self.first is None or self.other is None:
            return f"not in {'the first folder' if self.first is None else self.side}"
        found = {run_set.status for run_set in (self.first, self.other)} - {"done"}
        return "; ".join(sorted(found)) or "done"


def differences_table(sides: Sequence[Side], metric: str) -> Table[FolderPair]:
    """One row per environment, budget, algorithm and further folder."""
    rows = _rows(sides, metric)
    first, other = sides[0].name, sides[1].name if len(sides) == 2 else "there"
    columns: list[Column[FolderPair]] = [
        Column("Environment", lambda row: (row.env, row.total_timesteps), _environment,
               name=("env", "total_timesteps"), words=True),
        Column("Algorithm", lambda row: row.name, name="name"),
        Column("Compared with", lambda row: row.side, name="folder"),
        Column(f"n {first}", lambda row: _runs(row.first), _counts, name=("n_first", "runs_first")),
        Column(f"Mean {first}", lambda row: _spread(row.first), plus_minus, name=("mean_first", "std_first"),
               note="mean ± sample standard deviation of the scores in the first folder."),
        Column(f"n {other}", lambda row: _runs(row.other), _counts, name=("n", "runs")),
        Column(f"Mean {other}", lambda row: _spread(row.other), plus_minus, name=("mean", "std"),
               note="the same in the folder that it is compared with."),
        Column("Difference", _difference, with_interval, name=("difference", "difference_low", "difference_high"),
               style=lambda row: row.compared.mark,
               note="other mean minus first, with its 95 % interval (Welch); bold: decided to score higher, italic: "
                    "lower."),
        Column("Change", lambda row: row.compared.improvement, percent, name="change_pct"),
        Column("Identity", _identity,
               note="whether kernel, packages, source files and MuJoCo model are those of the first folder, or what "
                    "has changed; unknown: a run did not record them."),
        Column("Settings", _settings,
               note="what of settings, updates and evaluation is not as in the first folder, both values; or equal."),
        Column("p", lambda row: row.compared.p, p_value, name="p_holm",
               note=f"of the ranks, after Holm's correction over the table; decides at {level_words()}, on the side "
                    "with fewer seeds."),
        *_minutes_columns(first, other, rows),
        Column("Status", lambda row: row.status),
    ]  # fmt: skip
    scores = dict.fromkeys(one.score_words for row in rows for one in (row.first, row.other) if one)
    remarks = [f"{'; '.join(scores)}. Runs are compared where environment, budget and name are the same."]
    cells = [(f"{row.name} on {row.env} in {side}", run_set.done) for row in rows
             for side, run_set in ((first, row.first), (row.side, row.other)) if run_set]  # fmt: skip
    cells = list(dict(cells).items())  # each once
    remarks += [*mixed_identities(cells), *repeated_seeds(cells), *not_repeatable(cells), *several_draws(cells)]
    remarks += [differ] if (differ := _unequal_budgets(rows, first)) else []
    names = " and ".join([", ".join(side.name for side in sides[:-1]), sides[-1].name])
    return Table("differences", f"{names}, side by side", columns, rows, remarks)


def _unequal_budgets(rows: Sequence[FolderPair], first_name: str) -> str:
    """A sentence on the algorithms that the folders have with different budgets only; empty without any."""
    budgets: dict[tuple[str, str, str], tuple[set[int], set[int]]] = {}
    for row in rows:
        found = budgets.setdefault((row.env, row.name, row.side), (set(), set()))
        for known, run_set in zip(found, (row.first, row.other), strict=True):
            known |= {row.total_timesteps} if run_set else set()
    parts = [
        f"{name} on {env} ({_budgets(first)} in {first_name}, {_budgets(other)} in {side})"
        for (env, name, side), (first, other) in budgets.items() if first and other and not first & other
    ]  # fmt: skip
    return f"Not compared, for their budgets differ: {'; '.join(parts)}." if parts else ""


def _budgets(budgets: set[int]) -> str:
    return f"{' and '.join(steps(budget) for budget in sorted(budgets))} steps"


def _rows(sides: Sequence[Side], metric: str) -> list[FolderPair]:
    keys = sorted({(run.env, run.total_timesteps, run.name) for side in sides for run in side.runs})
    rows = []
    for env, total, name in keys:
        own = sides[0].run_set(env, total, name)
        for side in sides[1:]:
            there = side.run_set(env, total, name)
            judged = iter(judged_alike([one for one in (own, there) if one], metric, total))
            first, other = next(judged) if own else None, next(judged) if there else None
            if first or other:
                origin = random_score(env) or 0.0
                compared = compare_run_sets(other, first, origin) if other else Compared(math.nan, math.nan, None)
                rows.append(FolderPair(
                    env=env, total_timesteps=total, name=name, side=side.name, first=first, other=other,
                    compared=compared,
                ))  # fmt: skip
    adjusted = holm([row.compared.p for row in rows], [row.compared.level for row in rows])
    return [replace(row, compared=replace(row.compared, p=p)) for row, p in zip(rows, adjusted, strict=True)]


def _environment(env: str, total: int) -> str:
    return f"{env}, {steps(total)} steps"


def _runs(run_set: RunSet | None) -> tuple[float, float]:
    return (len(run_set.seeds), len(run_set.done)) if run_set else (math.nan, math.nan)


def _counts(seeds: float, runs: float) -> str:
    return sample_words(int(seeds), int(runs)) if runs > seeds else count(seeds)


def _spread(run_set: RunSet | None) -> tuple[float, float]:
    return (estimates.mean(run_set.scores), run_set.score_std) if run_set else (math.nan, math.nan)


def _settings(row: FolderPair) -> str:
    """What differs between the configurations of both run sets; empty without one of them."""
    if row.first is None or row.other is None:
        return ""
    sides = [(name, run.config) for name, one in (("first", row.first), ("other", row.other)) for run in one.runs]
    _, lines = compare_algorithms({**config, "run": {**config["run"], "name": name}} for name, config in sides)
    return "; ".join(f"{aspect} {' | '.join(texts)}" for aspect, texts in lines.items()) or "equal"


def _identity(row: FolderPair) -> str:
    both = row.first is not None and row.other is not None and row.first.done and row.other.done
    return change_between(row.first.done, row.other.done) if both else ""  # type: ignore[union-attr]


def _difference(row: FolderPair) -> tuple[float, float, float]:
    found = row.compared.difference
    return (found.difference, *found.interval) if found else (math.nan, math.nan, math.nan)


def _minutes_columns(first: str, other: str, rows: Sequence[FolderPair]) -> Iterator[Column[FolderPair]]:
    """Minutes by the clock, and those of simulated time, where there are some: never in one column."""
    for modelled, kind in ((False, "Measured"), (True, "Modelled")):
        sides = (partial(_minutes_first, modelled=modelled), partial(_minutes_other, modelled=modelled))
        shown = not all(math.isnan(side(row)) for row in rows for side in sides)
        name = f"{kind.lower()}_minutes_per_million"
        yield Column(f"{kind} minutes {first}", sides[0], number,
                     name=f"{name}_first", shown=shown)  # fmt: skip
        yield Column(f"{kind} minutes {other}", sides[1], number,
                     name=name, shown=shown,
                     note="training minutes per million training steps, median over runs.")  # fmt: skip


def _minutes_first(row: FolderPair, modelled: bool) -> float:
    return _minutes(row.first, modelled)


def _minutes_other(row: FolderPair, modelled: bool) -> float:
    return _minutes(row.other, modelled)


def _minutes(run_set: RunSet | None, modelled: bool) -> float:
    runs = run_set.done if run_set else ()
    return estimates.median([minutes_per_million(run) for run in runs if run.simulated_time is modelled and run.timed])
