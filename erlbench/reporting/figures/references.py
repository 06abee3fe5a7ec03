"""Other people's runs behind our learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from erlbench.reporting.data.comparability import base_name
from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.references import ReferenceRuns
from erlbench.reporting.statistics.curves import Curve, band_kind, band_words, curve
from erlbench.words import counted


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


@dataclass(frozen=True)
class Points:
    """Points of a published learning curve: the steps at which an algorithm reached scores."""

    algorithm: str
    marker: str  # matplotlib's
    steps: tuple[float, ...]
    scores: tuple[float, ...]
    where: str  # source and table

    @property
    def label(self) -> str:
        """What a legend calls them."""
        return f"{self.algorithm}, published"


MARKERS = {"s": "squares", "D": "diamonds", "^": "triangles", "v": "triangles"}


def published_points(comparison: Comparison, group: Group, published: Published) -> list[Points]:
    """By algorithm, what the page's source has in its table, as far as our longest run goes."""
    last = max(
        (float(run.evaluations.timesteps[-1]) for c in group.run_sets for run in c.runs if len(run.evaluations)),
        default=0.0,
    )
    found = [one for one in published.thresholds(base_name(group.env)) if one.score.source == comparison.source]
    names = dict.fromkeys(own.algorithm for one in found for own in one.steps)
    drawn = []
    for name, marker in zip(names, MARKERS, strict=False):
        points = [(own.value, one.score.value) for one in found for own in one.steps if own.algorithm == name]
        points = [point for point in points if point[0] <= last]
        if points:
            score = found[0].score
            steps, scores = zip(*points, strict=True)
            drawn.append(Points(name, marker, steps, scores, f"{score.source}, {score.table}"))
    return drawn


def draw_points(axes: Any, points: Sequence[Points]) -> dict[Any, str]:
    """Published points, in grey and joined by dots, and what the legend calls them."""
    look = {"color": "0.35", "markersize": 4, "linestyle": ":", "linewidth": 1}
    return {axes.plot(one.steps, one.scores, marker=one.marker, **look)[0]: one.label for one in points}


def points_notes(points: Sequence[Points]) -> list[str]:
    """What a caption says of them."""
    if not points:
        return []
    whose = " and ".join(f"{one.algorithm} ({MARKERS[one.marker]})" for one in points)
    return [f"Grey: points of the curves of {whose} in {points[0].where}."]


def reference_label(reference: ReferenceRuns) -> str:
    """What a legend calls them."""
    return f"{reference.algorithm}, {reference.source.name} ({counted(len(reference.runs), 'run')})"


def reference_notes(drawn: Mapping[Any, ReferenceRuns]) -> list[str]:
    """What a caption says of them."""
    if not drawn:
        return []
    whose = "; ".join(
        f"{reference_label(one)}, {one.returns}, on {one.env}, {band_words(band_kind([len(one.runs)]))}"
        for one in drawn.values()
    )
    return [f"Dash-dotted and hatched: reference runs of others, mean and band: {whose}."]
