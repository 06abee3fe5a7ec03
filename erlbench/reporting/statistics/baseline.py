"""Every cell of a page against the baseline of its environment: improvement and significance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from erlbench.reporting.data.comparison import Comparison, Group
from erlbench.reporting.data.runs import Array
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.significance import holm, welch

LEVEL = 0.05
FEWEST_RUNS = 5  # on each side, for a test


@dataclass(frozen=True)
class Compared:
    """One cell against the baseline of its environment; NaN where that cannot be."""

    improvement: float  # percent
    p: float  # of Welch's test, after Holm's correction over the table
    better: bool

    @property
    def significant(self) -> bool:
        """Whether the difference is significant at `LEVEL`."""
        return self.p < LEVEL


def against_baseline(comparison: Comparison) -> dict[tuple[str, int, str, bool], Compared]:
    """Every cell of a page against its environment's baseline, keyed by environment, budget, name, existence."""
    cells = [(group, cell) for group in comparison.groups for cell in group.cells]
    improvements, p_values = [], []
    for group, cell in cells:
        base = cell_scores(group, comparison.baseline)
        is_base = cell.exists and cell.name == comparison.baseline
        usable = len(base) and len(cell.done) and not is_base
        improvements.append(
            estimates.improvement(estimates.mean(cell.scores), estimates.mean(base)) if usable else float("nan")
        )
        tested = usable and min(len(base), len(cell.done)) >= FEWEST_RUNS
        p_values.append(welch(cell.scores, base) if tested else float("nan"))
    return {
        (group.env, group.total_timesteps, cell.name, cell.exists): Compared(gain, p, gain > 0)
        for (group, cell), gain, p in zip(cells, improvements, holm(p_values), strict=True)
    }


def cell_scores(group: Group, name: str) -> Array:
    """The scores (runs,) of an entry; empty when it has none."""
    cell = group.cell(name)
    return cell.scores if cell else np.empty(0)


def label(comparison: Comparison) -> str:
    """The baseline's name in tables, or an empty text."""
    cells = (cell for group in comparison.groups for cell in group.cells)
    return next((cell.label for cell in cells if cell.exists and cell.name == comparison.baseline), "")


def groups_with_baseline(comparison: Comparison) -> list[Group]:
    """The environments in which the baseline has a score."""
    return [group for group in comparison.groups if len(cell_scores(group, comparison.baseline))]


def relative_scores(comparison: Comparison) -> dict[str, list[Array]]:
    """The scores of each entry divided by the baseline's mean in their environment: by name, an array per environment.

    Empty with fewer than two environments or where a mean of the baseline is not positive; without the entries that
    lack an environment.
    """
    groups = groups_with_baseline(comparison)
    means = [estimates.mean(cell_scores(group, comparison.baseline)) for group in groups]
    if len(groups) < 2 or min(means) <= 0:
        return {}
    result = {}
    for cell in (cell for cell in groups[0].cells if cell.exists):
        own = [cell_scores(group, cell.name) / mean for group, mean in zip(groups, means, strict=True)]
        if all(len(scores) for scores in own):
            result[cell.name] = own
    return result
