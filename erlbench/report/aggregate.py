"""The table over all environments: probability of improvement and interquartile mean, with bootstrap intervals."""

from __future__ import annotations

import math

import numpy as np

from erlbench.report import statistics
from erlbench.report.baseline import cell_scores, label
from erlbench.report.comparison import Comparison
from erlbench.report.tables import NONE, Table


def aggregate_table(comparison: Comparison) -> Table | None:
    """All environments at once against the baseline; None without a baseline or with fewer than two environments."""
    groups = [g for g in comparison.groups if (base := g.cell(comparison.baseline)) and len(base.done)]
    if not comparison.baseline or len(groups) < 2:
        return None
    rows, records = [], []
    bases = [cell_scores(group, comparison.baseline) for group in groups]
    positive = min(statistics.mean(base) for base in bases) > 0
    for cell in (cell for cell in groups[0].cells if cell.exists):
        own = [cell_scores(group, cell.name) for group in groups]
        if not all(len(scores) for scores in own):
            continue
        both, half = [*own, *bases], len(own)
        better = statistics.probability_of_improvement(own, bases)
        better_interval = statistics.bootstrap_interval(
            lambda s, half=half: statistics.probability_of_improvement(s[:half], s[half:]), both  # type: ignore[misc]
        )
        relative = [scores / statistics.mean(base) for scores, base in zip(own, bases, strict=True)]
        iqm = statistics.iqm(np.concatenate(relative)) if positive else float("nan")
        iqm_interval = statistics.bootstrap_interval(lambda s: statistics.iqm(np.concatenate(s)), relative)
        is_base = cell.name == comparison.baseline
        rows.append((
            f"{len(groups)} environments", cell.label, str(sum(map(len, own))),
            NONE if is_base else f"{better:.2f}{_interval(better_interval)}",
            NONE if not positive else f"{iqm:.2f}{_interval(iqm_interval)}",
        ))  # fmt: skip
        records.append({
            "environments": " ".join(group.env for group in groups), "name": cell.name, "algorithm": cell.label,
            "runs": sum(map(len, own)), "probability_of_improvement": None if is_base else better,
            "probability_low": None if is_base else better_interval[0],
            "probability_high": None if is_base else better_interval[1], "iqm": iqm,
            "iqm_low": iqm_interval[0] if positive else None, "iqm_high": iqm_interval[1] if positive else None,
        })  # fmt: skip
    name = label(comparison)
    notes = [
        f"Final returns on {', '.join(group.env for group in groups)} after {comparison.budget}.",
        f"P(better): the probability that a random run scores above a random run of {name} in the same environment, "
        f"averaged over environments. IQM: interquartile mean of all returns, each divided by {name}'s mean in its "
        "environment" + ("." if positive else f" (left out: {name}'s mean is not positive everywhere)."),
        "In brackets 95 % bootstrap intervals (1,000 resamples of runs within algorithm and environment; none where "
        "an environment has a single run).",
    ]
    columns = ("Environments", "Algorithm", "Runs", f"P(better than {name})", f"IQM relative to {name}")
    title = comparison.heading("all environments")
    return Table("aggregate", title, columns, tuple(rows), tuple(notes), tuple(records))


def _interval(interval: tuple[float, float]) -> str:
    return "" if math.isnan(interval[0]) else f" [{interval[0]:.2f}, {interval[1]:.2f}]"
