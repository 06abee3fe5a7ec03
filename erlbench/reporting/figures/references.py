"""Other people's runs behind our learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from erlbench.reporting.data.comparability import base_name
from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.references import ReferenceRuns
from erlbench.reporting.statistics.curves import Curve, band_kind, band_words, curve


def behind(run_sets: Sequence[RunSet], published: Published) -> list[tuple[RunSet, ReferenceRuns, Curve]]:
    """Of each algorithm the runs of the first comparable source and their mean, as far as our longest run goes."""
    last = max(
        float(run.evaluations.timesteps[-1]) for run_set in run_sets for run in run_set.runs if len(run.evaluations)
    )
    chosen: list[tuple[RunSet, ReferenceRuns, Curve]] = []
    for run_set in run_sets:
        found = next(iter(published.references.of(run_set)), None)
        if found is None or any(found is one for _, one, _ in chosen):
            continue
        series = [(steps[steps <= last], returns[steps <= last]) for steps, returns in found.runs]
        if max(len(steps) for steps, _ in series) >= 2:
            chosen.append((run_set, found, curve(series, band_kind([len(series)]))))
    return chosen


def draw_references(
    axes: Any, run_sets: Sequence[RunSet], looks: Mapping[str, Any], published: Published
) -> dict[Any, ReferenceRuns]:
    """Other people's runs behind ours, and what the legend shows of each."""
    drawn: dict[Any, ReferenceRuns] = {}
    for run_set, found, line in behind(run_sets, published):
        colour = looks[run_set.name]["color"]
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.1, linewidth=0, hatch="////", zorder=0.5)
        (handle,) = axes.plot(line.x, line.mean, color=colour, linewidth=1, linestyle=(0, (5, 1, 1, 1)), zorder=0.6)
        drawn[handle] = found
    return drawn


def draw_thresholds(axes: Any, comparison: Comparison, group: Group, published: Published) -> list[str]:
    """The points of learning curves that the page's source has in its table; what a caption says of them."""
    last = max(float(run.evaluations.timesteps[-1]) for c in group.run_sets for run in c.runs if len(run.evaluations))
    found = [one for one in published.thresholds(base_name(group.env)) if one.score.source == comparison.source]
    names = dict.fromkeys(steps.algorithm for one in found for steps in one.steps)
    drawn = []
    for name, marker in zip(names, "sDv^", strict=False):
        points = [(steps.value, one.score.value) for one in found for steps in one.steps if steps.algorithm == name]
        points = [point for point in points if point[0] <= last]
        if points:
            axes.plot(*zip(*points, strict=True), color="0.35", marker=marker, markersize=4, linestyle=":", linewidth=1)
            drawn.append(f"{name} ({'squares' if marker == 's' else 'diamonds' if marker == 'D' else 'triangles'})")
    if not drawn:
        return []
    return [f"Grey: points of the curves of {' and '.join(drawn)} in {found[0].score.source}, {found[0].score.table}."]


def reference_label(reference: ReferenceRuns) -> str:
    """What a legend calls them."""
    return f"{reference.algorithm}, {reference.source.name} ({len(reference.runs)} runs)"


def reference_notes(drawn: Mapping[Any, ReferenceRuns]) -> list[str]:
    """What a caption says of them."""
    if not drawn:
        return []
    whose = "; ".join(
        f"{reference_label(one)}, {one.source.returns} returns on {one.env}, {band_words(band_kind([len(one.runs)]))}"
        for one in drawn.values()
    )
    return [f"Dash-dotted and hatched: reference runs of others, mean and band: {whose}."]
