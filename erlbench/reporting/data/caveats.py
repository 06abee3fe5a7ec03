"""What a table or a figure for a paper has to say: where the compared algorithms are not on equal terms."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from erlbench.experiment.fairness import compare_algorithms
from erlbench.reporting.data.comparison import Comparison, Group
from erlbench.reporting.documents.formats import steps

SIMILAR = 1.1  # times the simulator steps of another side: more is said
NETWORKS = "hidden layers"  # an aspect of `compare_algorithms`


def caveats(comparison: Comparison) -> list[str]:
    """A sentence each for several budgets, unlike numbers of simulator steps, and unlike networks."""
    budgets = {group.env: group.limit for group in comparison.groups}
    lines = [f"Budgets: {_listed(budgets)}."] if len(set(budgets.values())) > 1 else []
    lines += filter(None, map(_simulator_steps, comparison.groups))
    names, aspects = compare_algorithms(run.config for run in comparison.runs)
    if NETWORKS in aspects:
        lines.append(f"Hidden layers: {_listed(dict(zip(names, aspects[NETWORKS])))}.")
    return lines


def _simulator_steps(group: Group) -> str:
    used = dict(_used(group))
    if not used or max(used.values()) <= SIMILAR * min(used.values()):
        return ""
    return f"Simulator steps used on {group.env}: {_listed({name: steps(value) for name, value in used.items()})}."


def _used(group: Group) -> Iterator[tuple[str, float]]:
    """Name and mean of training and fitness steps of the run sets with finished runs."""
    for run_set in group.run_sets:
        if run_set.exists and run_set.done:
            yield run_set.name, fmean([run.evaluations.learning_steps[-1] for run in run_set.done])


def _listed(values: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
