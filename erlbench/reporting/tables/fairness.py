"""The table of settings that differ between the compared algorithms: the fairness sheet on a page."""

from __future__ import annotations

from erlbench.experiment.fairness import FairnessLine, fairness_sheet
from erlbench.reporting.data.comparison import Comparison
from erlbench.reporting.documents.model import Column, Table

MOST = 8  # algorithms in a table; of more, none is compared line by line


def fairness_table(comparison: Comparison) -> Table[FairnessLine] | None:
    """What differs between the run sets of a page; None where nothing does, or for more than `MOST` of them."""
    sheet = fairness_sheet(run.config for run in comparison.runs)
    if not 2 <= len(sheet.names) <= MOST or not sheet.differing:
        return None
    columns: list[Column[FairnessLine]] = [Column("What", lambda line: line.aspect)]
    for index, name in enumerate(sheet.names):
        columns.append(Column(name, lambda line, index=index: line.values[index]))  # type: ignore[misc]
    remarks = (
        "What differs between the compared algorithms besides their ideas; what they share is left out. Overridden: "
        "settings that are not those of the preset. `erlbench run --set NAME=VALUE` makes settings equal.",
    )
    return Table(
        "fairness", comparison.heading("what differs between the algorithms"), columns, sheet.differing, remarks
    )
