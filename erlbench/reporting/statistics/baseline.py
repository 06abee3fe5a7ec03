"""Every run set of a page against the baseline of its environment: improvement, difference and significance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.origin import origin_of
from erlbench.reporting.data.runs import Array
from erlbench.reporting.documents.model import BOLD, ITALIC, PLAIN
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.significance import MARGIN, Difference, compare, holm

Key = tuple[tuple[str, int, int, float], str, bool]  # environment with budget, name, existence


@dataclass(frozen=True)
class Compared:
    """One run set against the baseline of its environment; NaN where that cannot be."""

    improvement: float  # percent
    p: float  # of the ranks, after Holm's correction over the table
    difference: Difference | None  # None without a run on either side
    margin: float = 0.0  # the smallest difference of the means that is marked
    failed: bool = False  # runs of the run set or of the baseline failed: those that are left are a selection

    @property
    def level(self) -> float:
        """The largest p that decides."""
        return self.difference.level if self.difference else float("nan")

    @property
    def mark(self) -> str:
        """The style of the mean: "bold" where the rule decides for it, "italic" where against it, else none.

        None either while runs have failed: those that survived are no sample of all runs.
        """
        found = self.difference
        if found is None or self.failed or not found.significant(self.p) or found.gain < self.margin:
            return PLAIN
        return BOLD if found.difference > 0 else ITALIC


def against_baseline(comparison: Comparison) -> dict[Key, Compared]:
    """Every run set of a page against its environment's baseline, keyed by environment with budget, name, existence."""
    found: dict[Key, Compared] = {}
    for group in comparison.groups:
        base = group.run_set(comparison.baseline)
        origin = origin_of(group)
        for run_set in group.run_sets:
            found[group.budget, run_set.name, run_set.exists] = compare_run_sets(run_set, base, origin)
    p_values = holm([compared.p for compared in found.values()], [one.level for one in found.values()])
    return {key: replace(compared, p=p) for (key, compared), p in zip(found.items(), p_values, strict=True)}


def compare_run_sets(run_set: RunSet, base: RunSet | None, origin: float) -> Compared:
    """One run set against another; `p` is not corrected, and NaN with too few runs on a side.

    `origin` is the score of a random policy, from which the margin is reckoned.
    """
    none = Compared(float("nan"), float("nan"), None)
    if base is None or run_set is base or not (len(base.done) and len(run_set.done)):
        return none
    difference = compare(run_set.scores, base.scores)
    return Compared(
        estimates.improvement(estimates.mean(run_set.scores), estimates.mean(base.scores)),
        difference.p,
        difference,
        MARGIN * abs(estimates.mean(base.scores) - origin),
        bool(run_set.failed or base.failed),
    )


def run_set_scores(group: Group, name: str) -> Array:
    """The scores (runs,) of an entry; empty when it has none."""
    run_set = group.run_set(name)
    return run_set.scores if run_set else np.empty(0)


def label(comparison: Comparison) -> str:
    """The baseline's name in tables, or an empty text."""
    run_sets = (run_set for group in comparison.groups for run_set in group.run_sets)
    return next((run_set.label for run_set in run_sets if run_set.exists and run_set.name == comparison.baseline), "")


def groups_with_baseline(comparison: Comparison) -> list[Group]:
    """The environments in which the baseline has a score."""
    return [group for group in comparison.groups if len(run_set_scores(group, comparison.baseline))]
