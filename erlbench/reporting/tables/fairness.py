"""The table of settings that differ between the compared algorithms: the fairness sheet on a page."""

from __future__ import annotations

from erlbench.experiment.fairness import compare_algorithms
from erlbench.reporting.data.comparison import Comparison
from erlbench.reporting.documents.model import Column, Table

MOST = 8  # algorithms in a table; of more, none is compared line by line
Line = tuple[str, tuple[str, ...]]  # an aspect, and a text for each algorithm


def fairness_table(comparison: Comparison) -> Table[Line] | None:
    """What differs between the run sets of a page; None where nothing does, or for more than `MOST` of them."""
    names, lines = compare_algorithms(run.config for run in comparison.runs)
    if not 2 <= len(names) <= MOST or not lines:
        return None
    columns: list[Column[Line]] = [Column("What", lambda line: line[0])]
    for index, name in enumerate(names):
        columns.append(Column(name, lambda line, index=index: line[1][index]))  # type: ignore[misc]
    remarks = (
        "What differs between the compared algorithms besides their ideas; what they share is left out. Overridden: "
        "settings that are not those of the preset. `erlbench run --set NAME=VALUE` makes settings equal.",
    )
    heading = comparison.heading("what differs between the algorithms")
    return Table("fairness", heading, columns, [*lines.items()], remarks)
