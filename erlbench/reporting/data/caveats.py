"""What a table or a figure for a paper has to say: where the compared algorithms are not on equal terms."""

from __future__ import annotations

from erlbench.experiment.fairness import compare_algorithms
from erlbench.reporting.data.page_cells import PageCells
from erlbench.reporting.data.runs import run_tables
from erlbench.reporting.documents.formats import steps

SIMILAR = 1.1  # times the simulator steps of another side: more is said
NETWORKS = "hidden layers"  # an aspect of `compare_algorithms`


def caveats(page: PageCells) -> list[str]:
    """A sentence each for several budgets, unlike numbers of simulator steps, and unlike networks."""
    budgets = {group.env: group.limit for group in page.groups}
    lines = [f"Budgets: {_listed(budgets)}."] if len(set(budgets.values())) > 1 else []
    for group in page.groups:
        used = {cell.name: cell.learning_timesteps for cell in group.cells if cell.exists and cell.done}
        if used and max(used.values()) > SIMILAR * min(used.values()):
            listed = _listed({name: steps(value) for name, value in used.items()})
            lines.append(f"Simulator steps used on {group.env}: {listed}.")
    names, aspects = compare_algorithms(map(run_tables, page.runs))
    if NETWORKS in aspects:
        lines.append(f"Hidden layers: {_listed(dict(zip(names, aspects[NETWORKS])))}.")
    return lines


def _listed(values: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
