"""The table over all environments: probability of improvement and interquartile mean, with bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from erlbench.reporting import statistics
from erlbench.reporting.baseline import cell_scores, label
from erlbench.reporting.comparison import Comparison, Group
from erlbench.reporting.runs import Array
from erlbench.reporting.tables import NONE, Table


def aggregate_table(comparison: Comparison) -> Table | None:
    """All environments at once against the baseline; None without a baseline or with fewer than two environments."""
    groups = _groups(comparison)
    if len(groups) < 2:
        return None
    rows, records = [], []
    bases = [cell_scores(group, comparison.baseline) for group in groups]
    relative = relative_scores(comparison)
    for cell in (cell for cell in groups[0].cells if cell.exists):
        own = [cell_scores(group, cell.name) for group in groups]
        if not all(len(scores) for scores in own):
            continue
        is_base = cell.name == comparison.baseline
        better, better_interval = float("nan"), (float("nan"), float("nan"))
        if not is_base:
            better = statistics.probability_of_improvement(own, bases)
            better_interval = statistics.bootstrap_interval(_improvement_of_first_half, [*own, *bases])
        scaled = relative.get(cell.name, [])
        iqm = statistics.iqm(np.concatenate(scaled)) if scaled else float("nan")
        iqm_interval = statistics.bootstrap_interval(lambda s: statistics.iqm(np.concatenate(s)), scaled)
        rows.append((
            f"{len(groups)} environments", cell.label, str(sum(map(len, own))),
            _with_interval(better, better_interval), _with_interval(iqm, iqm_interval),
        ))  # fmt: skip
        records.append({
            "environments": " ".join(group.env for group in groups), "name": cell.name, "algorithm": cell.label,
            "runs": sum(map(len, own)), "probability_of_improvement": better, "probability_low": better_interval[0],
            "probability_high": better_interval[1], "iqm": iqm, "iqm_low": iqm_interval[0],
            "iqm_high": iqm_interval[1],
        })  # fmt: skip
    name = label(comparison)
    notes = [
        f"Final returns on {', '.join(group.env for group in groups)} after {comparison.budget}.",
        f"P(better): the probability that a random run scores above a random run of {name} in the same environment, "
        f"averaged over environments. IQM: interquartile mean of all returns, each divided by {name}'s mean in its "
        "environment" + ("." if relative else f" (left out: {name}'s mean is not positive everywhere)."),
        "In brackets 95 % bootstrap intervals (1,000 resamples of runs within algorithm and environment; none where "
        "an environment has a single run).",
    ]
    columns = ("Environments", "Algorithm", "Runs", f"P(better than {name})", f"IQM relative to {name}")
    title = comparison.heading("all environments")
    return Table("aggregate", title, columns, tuple(rows), tuple(notes), tuple(records))


def relative_scores(comparison: Comparison) -> dict[str, list[Array]]:
    """The scores of each entry divided by the baseline's mean in their environment: by name, an array per environment.

    Empty with fewer than two environments or where a mean of the baseline is not positive; without the entries that
    lack an environment.
    """
    groups = _groups(comparison)
    means = [statistics.mean(cell_scores(group, comparison.baseline)) for group in groups]
    if len(groups) < 2 or min(means) <= 0:
        return {}
    result = {}
    for cell in (cell for cell in groups[0].cells if cell.exists):
        own = [cell_scores(group, cell.name) / mean for group, mean in zip(groups, means, strict=True)]
        if all(len(scores) for scores in own):
            result[cell.name] = own
    return result


def _groups(comparison: Comparison) -> list[Group]:
    """The environments in which the baseline has a score."""
    return [group for group in comparison.groups if len(cell_scores(group, comparison.baseline))]


def _improvement_of_first_half(scores: Sequence[np.ndarray]) -> float:
    half = len(scores) // 2
    return statistics.probability_of_improvement(scores[:half], scores[half:])


def _with_interval(value: float, interval: tuple[float, float]) -> str:
    if math.isnan(value):
        return NONE
    return f"{value:.2f}" + ("" if math.isnan(interval[0]) else f" [{interval[0]:.2f}, {interval[1]:.2f}]")
