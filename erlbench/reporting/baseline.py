"""Every cell of a page against the baseline of its environment: improvement and significance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from erlbench.reporting import statistics
from erlbench.reporting.comparison import Comparison, Group
from erlbench.reporting.runs import Array
from erlbench.reporting.significance import holm, welch

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
            statistics.improvement(statistics.mean(cell.scores), statistics.mean(base)) if usable else float("nan")
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
