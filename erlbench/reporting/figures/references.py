"""Other people's runs and published points, behind our learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from erlbench.reporting.data.comparability import base_name, comparable
from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.references import ReferenceRuns
from erlbench.reporting.figures.model import ALWAYS, GREY, POINTS, REFERENCE, Series
from erlbench.reporting.statistics.curves import band_kind, band_words, curve
from erlbench.words import counted

OPEN_SYMBOLS = {
    "square-open": "squares", "diamond-open": "diamonds", "triangle-up-open": "triangles",
    "triangle-down-open": "triangles",
}  # fmt: skip


def behind(run_sets: Sequence[RunSet], colours: Mapping[str, int], published: Published) -> list[Series]:
    """Of each algorithm the runs of the first comparable source: their mean and band, as far as our longest run."""
    last = _last(run_sets)
    drawn: list[Series] = []
    seen: list[ReferenceRuns] = []
    for run_set in run_sets:
        found = next(iter(published.references.of(run_set)), None)
        if found is None or any(found is one for one in seen):
            continue
        runs = [(steps[steps <= last], returns[steps <= last]) for steps, returns in found.runs]
        if max(len(steps) for steps, _ in runs) >= 2:
            seen.append(found)
            kind = band_kind([len(runs)])
            line = curve(runs, kind)
            label = f"{found.algorithm}, {found.source.name} ({counted(len(runs), 'run')})"
            drawn.append(Series(
                label=label, group=label, x=line.x, y=line.mean, colour=colours[run_set.name], look=REFERENCE,
                beside=True, bands={ALWAYS: (line.low, line.high)}, averaged=len(runs),
                note=f"{label}, {found.returns}, on {found.env}, {band_words(kind)}",
            ))  # fmt: skip
    return drawn


def published_points(comparison: Comparison, group: Group, published: Published) -> list[Series]:
    """By algorithm the points of its curve in the page's source: steps at which it reached scores.

    They go as far as our longest run.
    """
    last = _last(group.run_sets)
    found = [one for one in published.thresholds(base_name(group.env)) if one.score.source == comparison.source]
    names = dict.fromkeys(own.algorithm for one in found for own in one.steps)
    drawn = []
    for name, symbol in zip(names, OPEN_SYMBOLS, strict=False):
        points = [(own.value, one.score.value) for one in found for own in one.steps if own.algorithm == name]
        points = [point for point in points if point[0] <= last]
        if points:
            (steps, scores), score = np.array(points, np.float64).T, found[0].score
            drawn.append(Series(
                label=f"{name}, published", group=name, x=steps, y=scores, colour=GREY, look=POINTS, symbol=symbol,
                beside=True, note=f"{score.source}, {score.table}",
            ))  # fmt: skip
    return drawn


def published_generations(
    comparison: Comparison, group: Group, colours: Mapping[str, int], published: Published
) -> list[Series]:
    """The published curves of our run sets over generations, as points in their colours, as far as our longest run.

    The study says which environment they are of; what its profile sets there is part of that.
    """
    if not comparable(group.env.partition(" (")[0], group.env_published):
        return []
    ours = [run.evaluations.generation for run_set in group.run_sets for run in run_set.runs]
    last = max((float(generations[-1]) for generations in ours if len(generations)), default=0.0)
    where = comparison.source, comparison.table, group.env_published
    drawn = []
    for run_set in group.run_sets:
        found = published.over_generations(*where, run_set.published) if run_set.runs else []
        points = [(generation, number.value) for generation, number in found if generation <= last]
        if points:
            x, y = np.array(points, np.float64).T
            drawn.append(Series(
                label=f"{run_set.label}, published", group=run_set.label, x=x, y=y, colour=colours[run_set.name],
                look=POINTS, symbol="square-open", beside=True, note=f"{comparison.source}, {comparison.table}",
            ))  # fmt: skip
    return drawn


def points_notes(series: Sequence[Series]) -> list[str]:
    """What a caption says of the published points among the series."""
    points = [one for one in series if one.look == POINTS]
    if not points:
        return []
    if points[0].colour != GREY:
        return [f"Open squares: points of the published curves, {points[0].note}."]
    whose = " and ".join(f"{one.group} (open {OPEN_SYMBOLS[one.symbol]})" for one in points)
    return [f"Grey: points of the curves of {whose} in {points[0].note}."]


def reference_notes(series: Sequence[Series]) -> list[str]:
    """What a caption says of other people's runs among the series."""
    whose = "; ".join(one.note for one in series if one.look == REFERENCE)
    return [f"Dash-dotted and hatched: reference runs of others, mean and band: {whose}."] if whose else []


def _last(run_sets: Sequence[RunSet]) -> float:
    """The steps of the longest run; 0 where none has an evaluation."""
    runs = (run.evaluations.timesteps for run_set in run_sets for run in run_set.runs)
    return max((float(steps[-1]) for steps in runs if len(steps)), default=0.0)
