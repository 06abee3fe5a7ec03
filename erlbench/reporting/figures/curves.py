"""The figure of learning curves: over training steps and time, or over what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.reporting.data.comparability import comparable, similar_budget
from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.runs import Run
from erlbench.reporting.figures import style
from erlbench.reporting.figures.axis import AXES, Axis, Series, smoothing_note
from erlbench.reporting.figures.labels import label_ends
from erlbench.reporting.figures.references import (
    draw_points,
    draw_references,
    points_notes,
    published_points,
    reference_label,
    reference_notes,
)
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.statistics.curves import band_kind, band_words, curve
from erlbench.words import counted


def draw_curves(
    comparison: Comparison, group: Group, published: Published, path: Path, options: ReportOptions
) -> list[str]:  # fmt: skip
    """One figure: return over the axis that `options` name, or over the study's own and another one.

    The two are training steps and training time where the study names none. Returns its caption and then notes; none,
    and no file, when no run has an evaluation that can be drawn.
    """
    two = list(dict.fromkeys((comparison.x, "timesteps", "time")))[:2]
    wanted = [AXES[name] for name in ([options.x] if options.x else two)]
    left_out = wanted[0].drawable(group.run_sets)[1]
    chosen = [axis for axis in wanted if axis is wanted[-1] or _drawn(group, axis, options.smooth)]
    run_sets = _drawn(group, chosen[0], options.smooth)
    if not run_sets:
        return []
    band = band_kind([len(averaged(run_set)) for run_set in run_sets], options.band)
    order = {run_set.name: index for index, run_set in enumerate(group.run_sets)}
    looks = {run_set.name: style.line_style(order[run_set.name]) for run_set in run_sets}
    lines = published_lines(comparison, group, run_sets, published)
    with style.new_figure(style.WIDTH, max(2.75, 0.9 + 0.15 * len(run_sets))) as figure:
        panels = figure.subplots(1, len(chosen), sharey=True, squeeze=False)[0]
        ends = []
        for index, (axis, axes) in enumerate(zip(chosen, panels, strict=True)):
            label, unit = axis.unit(_largest(run_sets, axis, options.smooth))
            for run_set in run_sets:
                drawn = _draw(axes, run_set, axis, unit, options.smooth, band, looks[run_set.name])
                if index == 0:
                    text = f"{style.glyph(looks[run_set.name])}{run_set.label} ({_seeds(run_set)})"
                    ends.append((drawn, text, looks[run_set.name]["color"]))
            for name, value in lines:
                axes.axhline(value, color=looks[name]["color"], linewidth=1, linestyle=(0, (1, 2)))
            axis.finish(axes, label)
        over_steps = next((axes for axis, axes in zip(chosen, panels, strict=True) if axis is AXES["timesteps"]), None)
        behind = {} if over_steps is None else draw_references(over_steps, run_sets, looks, published)
        points = [] if over_steps is None else published_points(comparison, group, published)
        legend = {handle: reference_label(found) for handle, found in behind.items()} | draw_points(over_steps, points)
        panels[0].set_ylabel("Evaluation return")
        style.return_axis(panels[0].yaxis)
        figure.suptitle(group.env, fontsize=10)
        label_ends(panels[0], ends)
        if legend:
            figure.legend(
                [*legend], [*legend.values()], loc="outside lower center", ncols=style.legend_columns(len(legend))
            )
        style.save(figure, path)
    notes = [*_published_notes(comparison, group, run_sets, bool(lines), published), *reference_notes(behind)]
    caption = _caption(group, run_sets, chosen, band, options, bool(lines)) + ([left_out] if left_out else [])
    return [*caption, *notes, *points_notes(points)]


def _drawn(group: Group, axis: Axis, smooth: int) -> list[RunSet]:
    """The run sets with the runs that have a point on the axis, without those that have none."""
    return [run_set for run_set in axis.drawable(group.run_sets)[0] if _series(run_set.runs, axis, smooth)]


def averaged(run_set: RunSet) -> tuple[Run, ...]:
    """The runs that the mean is over: the finished ones, without any of these all."""
    return run_set.done or run_set.runs


def _draw(axes: Any, run_set: RunSet, axis: Axis, unit: float, smooth: int, band: str, look: dict[str, Any]) -> float:
    """Single runs thin, their mean and its band; the mean's last value."""
    from matplotlib.collections import LineCollection

    single = _series(run_set.runs, axis, smooth)
    if not single:
        return float("nan")
    line = curve(_series(averaged(run_set), axis, smooth) or single, band)
    if len(single) > 1:
        paths = [np.column_stack((x / unit, y)) for x, y in single]
        axes.add_collection(LineCollection(paths, colors=look["color"], linewidths=0.5, alpha=0.45))
        axes.autoscale_view()
    if not len(line.x):
        return float(single[0][1][-1])
    axes.fill_between(line.x / unit, line.low, line.high, color=look["color"], alpha=0.16, linewidth=0)
    axes.plot(line.x / unit, line.mean, **look, markevery=max(1, len(line.x) // 8))
    if len(line.x) == 1:
        axes.plot(line.x / unit, line.mean, color=look["color"], marker="o", markersize=4)
    return float(line.mean[-1])


def _largest(run_sets: Sequence[RunSet], axis: Axis, smooth: int) -> float:
    return max((float(x[-1]) for run_set in run_sets for x, _ in _series(run_set.runs, axis, smooth)), default=0.0)


def _series(runs: Sequence[Run], axis: Axis, smooth: int) -> list[Series]:
    """Of each run that has a point on the axis."""
    series = [axis.evaluations(run.evaluations, smooth) for run in runs]
    return [one for one in series if len(one[0])]


def _seeds(run_set: RunSet) -> str:
    count = sum(len(run.evaluations) > 0 for run in run_set.runs)
    text = f"{count} of {counted(run_set.planned, 'run')}" if count != run_set.planned else counted(count, "run")
    unfinished = count - len(run_set.done)
    return text + (f", {unfinished} unfinished" if unfinished else "")


def _caption(
    group: Group, run_sets: Sequence[RunSet], chosen: Sequence[Axis], band: str, options: ReportOptions, dotted: bool
) -> list[str]:
    several = max(len(averaged(run_set)) for run_set in run_sets) > 1
    which = "finished runs" if any(run_set.done for run_set in run_sets) else "runs"
    lines = (
        f"Lines: mean of the {which}, up to where the first of them ends; thin: single runs; band: {band_words(band)}."
        if several
        else "Lines: single runs, no band."
    )
    caption = [
        f"{group.env}: return of the evaluations over {' and over '.join(axis.words for axis in chosen)}; budget "
        f"{group.limit}. {lines}" + (" Dotted: published mean." if dotted else "")
    ]
    if nominal := [run_set.label for run_set in run_sets if run_set.nominal]:
        caption.append(f"{' and '.join(nominal)}: that budget counts a generation as one episode of full length.")
    caption += [f"{note}."] if (note := smoothing_note(options.smooth, "evaluations")) else []
    return caption + (_time_notes(run_sets) if AXES["time"] in chosen else [])


def published_lines(
    comparison: Comparison, group: Group, run_sets: Sequence[RunSet], published: Published
) -> list[tuple[str, float]]:
    """The published means that may be drawn beside our curves, with the names of their run sets."""
    lines: list[tuple[str, float]] = []
    if not comparable(group.env, group.env_published):
        return lines
    for run_set in run_sets:
        found = published.find(comparison.source, comparison.table, group.env_published, run_set.published, "mean")
        if found and similar_budget(group.total_timesteps, found.steps):
            lines.append((run_set.name, found.value))
    return lines


def _time_notes(run_sets: Sequence[RunSet]) -> list[str]:
    notes = []
    if any(run.simulated_time for run_set in run_sets for run in run_set.runs):
        notes.append("Some runs are in simulated time: their times are modelled, not measured.")
    hardware = sorted({run.machine.hardware for run_set in run_sets for run in run_set.runs if run.machine.cpu})
    if len(hardware) > 1:
        notes.append("The runs are from several machines: their times compare no algorithms.")
    return notes


def _published_notes(
    comparison: Comparison, group: Group, run_sets: Sequence[RunSet], lines: bool, published: Published
) -> list[str]:
    known = any(
        published.find(comparison.source, comparison.table, group.env_published, run_set.published, "mean")
        for run_set in run_sets
    )
    if lines:
        return [f"Dotted: mean published in {comparison.source}, {comparison.table}, on {group.env_published}."]
    if not known:
        return []
    same = comparable(group.env, group.env_published)
    other = "budget" if same else f"environment ({group.env_published})"
    return [f"Published final values are left out: they belong to another {other}."]
