"""Other people's runs behind our learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from erlbench.reporting.data.comparison import Cell
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.references import ReferenceRuns
from erlbench.reporting.statistics.curves import band_kind, band_words, curve


def draw_references(
    axes: Any, cells: Sequence[Cell], looks: Mapping[str, Any], published: Published
) -> dict[Any, ReferenceRuns]:
    """Behind our curves, of each algorithm the runs of the first comparable source, as far as our longest run goes."""
    last = max(float(run.evaluations.timesteps[-1]) for cell in cells for run in cell.runs if len(run.evaluations))
    drawn: dict[Any, ReferenceRuns] = {}
    for cell in cells:
        found = next(iter(published.references.of(cell)), None)
        if found is None or found in drawn.values():
            continue
        series = [(steps[steps <= last], returns[steps <= last]) for steps, returns in found.runs]
        if max(len(steps) for steps, _ in series) < 2:
            continue
        line, colour = curve(series, band_kind([len(series)])), looks[cell.name]["color"]
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.1, linewidth=0, hatch="////", zorder=0.5)
        (handle,) = axes.plot(line.x, line.mean, color=colour, linewidth=1, linestyle=(0, (5, 1, 1, 1)), zorder=0.6)
        drawn[handle] = found
    return drawn


def reference_label(reference: ReferenceRuns) -> str:
    """What a legend calls them."""
    return f"{reference.algorithm}, {reference.source.name} ({len(reference.runs)} runs)"


def reference_notes(drawn: Mapping[Any, ReferenceRuns]) -> list[str]:
    """What a caption says of them."""
    if not drawn:
        return []
    whose = "; ".join(f"{reference_label(one)}, {one.source.returns} returns on {one.env}" for one in drawn.values())
    return [f"Dash-dotted and hatched: reference runs of others, mean and {band_words('interval')}: {whose}."]
