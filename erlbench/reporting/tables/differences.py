"""The table of folders side by side: every run set of the first folder against the same run set of the others."""

from __future__ import annotations

import math
from collections.abc import Sequence

from erlbench.experiment.fairness import compare_algorithms
from erlbench.reporting.data.cells import several_draws
from erlbench.reporting.data.comparison import RunSet, judged_alike
from erlbench.reporting.data.identities import change_between, mixed_identities, not_repeatable, repeated_seeds
from erlbench.reporting.data.origin import random_score
from erlbench.reporting.data.seeds import sample_words
from erlbench.reporting.data.sides import Side
from erlbench.reporting.documents.formats import count, number, p_value, percent, plus_minus, steps, with_interval
from erlbench.reporting.documents.model import Column, Record, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.curves import minutes_per_million
from erlbench.reporting.statistics.significance import level_words
from erlbench.reporting.verdict.pairs import compare_with, correct, mark

KINDS = {False: "Measured", True: "Modelled"}  # minutes, by whether their time is simulated


def differences_table(sides: Sequence[Side], metric: str) -> Table:
    """One row per environment, budget, algorithm and further folder."""
    rows = _rows(sides, metric)
    first, other = sides[0].name, sides[1].name if len(sides) == 2 else "there"
    columns: list[Column] = [
        Column("Environment", "env total_timesteps", lambda env, total: f"{env}, {steps(total)} steps", words=True),
        Column("Algorithm", "name"),
        Column("Compared with", "folder"),
        Column(f"n {first}", "n_first runs_first", _counts),
        Column(f"Mean {first}", "mean_first std_first", plus_minus,
               note="mean ± sample standard deviation of the scores in the first folder."),
        Column(f"n {other}", "n runs", _counts),
        Column(f"Mean {other}", "mean std", plus_minus, note="the same in the folder that it is compared with."),
        Column("Difference", "difference difference_low difference_high", with_interval, style="mark",
               note="other mean minus first, with its 95 % interval (Welch); bold: decided to score higher, italic: "
                    "lower."),
        Column("Change", "change_pct", percent),
        Column("Identity", "identity",
               note="whether kernel, packages, source files and MuJoCo model are those of the first folder, or what "
                    "has changed; unknown: a run did not record them."),
        Column("Settings", "settings",
               note="what of settings, updates and evaluation is not as in the first folder, both values; or equal."),
        Column("p", "p_holm", p_value,
               note=f"of the ranks, after Holm's correction over the table; decides at {level_words()}, on the side "
                    "with fewer seeds."),
    ]  # fmt: skip
    for kind in KINDS.values():  # never in one column
        name = f"{kind.lower()}_minutes_per_million"
        shown = any(not math.isnan(row[key]) for row in rows for key in (name, f"{name}_first"))
        note = "training minutes per million training steps, median over runs."
        columns.append(Column(f"{kind} minutes {first}", f"{name}_first", number, shown=shown))
        columns.append(Column(f"{kind} minutes {other}", name, number, shown=shown, note=note))
    columns.append(Column("Status", "status"))
    cells = {f"{row['name']} on {row['env']} in {side}": run_set for row in rows
             for side, run_set in zip((first, row["folder"]), row["sides"], strict=True) if run_set}  # fmt: skip
    scores = dict.fromkeys(one.score_words for one in cells.values())
    remarks = [f"{'; '.join(scores)}. Runs are compared where environment, budget and name are the same."]
    runs = [(name, run_set.done) for name, run_set in cells.items()]
    remarks += [*mixed_identities(runs), *repeated_seeds(runs), *not_repeatable(runs), *several_draws(runs)]
    remarks += [differ] if (differ := _unequal_budgets(rows, first)) else []
    names = " and ".join([", ".join(side.name for side in sides[:-1]), sides[-1].name])
    return Table("differences", f"{names}, side by side", columns, rows, remarks)


def _rows(sides: Sequence[Side], metric: str) -> list[Record]:
    """The same run set of the first folder and of another one, where one of both has runs, and how they compare."""
    rows, compared = [], []
    for env, total, name in sorted({(run.env, run.total_timesteps, run.name) for side in sides for run in side.runs}):
        own = sides[0].run_set(env, total, name)
        for side in sides[1:]:
            there = side.run_set(env, total, name)
            if not (own or there):
                continue
            judged = iter(judged_alike([one for one in (own, there) if one], metric, total))
            first, other = next(judged) if own else None, next(judged) if there else None
            compared.append(compare_with(other, first, random_score(env) or 0.0) if other else {})
            rows.append({"env": env, "total_timesteps": total, "name": name, "folder": side.name,
                         "sides": (first, other), **_side(first, "_first"), **_side(other), **_both(first, other),
                         "status": _status(first, other, side.name)})  # fmt: skip
    for row, found, p in zip(rows, compared, correct(compared), strict=True):
        values = {name: found.get(name, math.nan) for name in ("difference", "difference_low", "difference_high")}
        row |= {**values, "change_pct": found.get("improvement", math.nan), "p_holm": p, "mark": mark(found, p)}
    return rows


def _side(run_set: RunSet | None, suffix: str = "") -> Record:
    """Seeds, runs, score and minutes of one side; NaN without it."""
    numbers = ["n", "runs", "mean", "std", *(f"{kind.lower()}_minutes_per_million" for kind in KINDS.values())]
    values: list[float] = [math.nan] * len(numbers)
    if run_set:
        timed = [run for run in run_set.done if run.timed]
        minutes = [[minutes_per_million(run) for run in timed if run.simulated_time is kind] for kind in KINDS]
        values = [len(run_set.seeds), len(run_set.done), estimates.mean(run_set.scores), run_set.score_std,
                  *map(estimates.median, minutes)]  # fmt: skip
    return {f"{name}{suffix}": value for name, value in zip(numbers, values, strict=True)}


def _both(first: RunSet | None, other: RunSet | None) -> Record:
    """What differs between both, in the identity of their finished runs and in their configurations."""
    if first is None or other is None:
        return {"identity": "", "settings": ""}
    sides = [(name, run.config) for name, one in (("first", first), ("other", other)) for run in one.runs]
    _, lines = compare_algorithms({**config, "run": {**config["run"], "name": name}} for name, config in sides)
    settings = "; ".join(f"{aspect} {' | '.join(texts)}" for aspect, texts in lines.items())
    identity = change_between(first.done, other.done) if first.done and other.done else ""
    return {"identity": identity, "settings": settings or "equal"}


def _status(first: RunSet | None, other: RunSet | None, folder: str) -> str:
    """`done`, or what keeps the two from being compared."""
    if first is None or other is None:
        return f"not in {'the first folder' if first is None else folder}"
    return "; ".join(sorted({first.status, other.status} - {"done"})) or "done"


def _counts(seeds: float, runs: float) -> str:
    return sample_words(int(seeds), int(runs)) if runs > seeds else count(seeds)


def _unequal_budgets(rows: Sequence[Record], first_name: str) -> str:
    """A sentence on the algorithms that the folders have with different budgets only; empty without any."""
    budgets: dict[tuple[str, str, str], tuple[set[int], set[int]]] = {}
    for row in rows:
        found = budgets.setdefault((row["env"], row["name"], row["folder"]), (set(), set()))
        for known, run_set in zip(found, row["sides"], strict=True):
            known |= {row["total_timesteps"]} if run_set else set()
    parts = [
        f"{name} on {env} ({_budgets(first)} in {first_name}, {_budgets(other)} in {side})"
        for (env, name, side), (first, other) in budgets.items() if first and other and not first & other
    ]  # fmt: skip
    return f"Not compared, for their budgets differ: {'; '.join(parts)}." if parts else ""


def _budgets(budgets: set[int]) -> str:
    return f"{' and '.join(steps(budget) for budget in sorted(budgets))} steps"
