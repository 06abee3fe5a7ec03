"""The figure of learning curves: over training steps and minutes, or over what was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.reporting.data.comparability import comparable, similar_budget
from erlbench.reporting.data.comparison import Cell, Comparison, Group
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.references import ReferenceRuns
from erlbench.reporting.figures import style
from erlbench.reporting.figures.axis import AXES, Axis, Series, smoothing_note
from erlbench.reporting.options import Options
from erlbench.reporting.statistics.curves import Curve, band_kind, band_words, curve


def draw_curves(
    comparison: Comparison, group: Group, published: Published, path: Path, options: Options
) -> list[str]:  # fmt: skip
    """One figure: return over training steps and over training minutes, or over the axis that `options` name.

    Returns its caption's sentences; none, and no file, when no run has an evaluation that can be drawn.
    """
    chosen = [AXES[name] for name in ([options.x] if options.x else ["timesteps", "time"])]
    series = {cell.name: [_series(cell, axis, options.smooth) for axis in chosen] for cell in group.cells}
    cells = [cell for cell in group.cells if series[cell.name][0]]
    if not cells:
        return []
    counts = [len(series[cell.name][0]) for cell in cells]
    band = band_kind(counts, options.band)
    shown = dict(zip((cell.name for cell in group.cells), range(len(group.cells)), strict=False))
    rows = -(-len(cells) // 3)
    with style.new_figure(style.WIDTH, 2.75 + 0.17 * rows) as figure:
        panels = figure.subplots(1, len(chosen), sharey=True, squeeze=False)[0]
        labels, dashed = {}, False
        for cell, count in zip(cells, counts, strict=True):
            look = style.line_style(shown[cell.name])
            line = curve(series[cell.name][0], band)
            dashed = dashed or bool((line.count < line.runs).any())
            labels[_draw(panels[0], line, look)] = f"{cell.label} ({_seeds(cell, count)})"
            for axes, points in zip(panels[1:], series[cell.name][1:], strict=True):
                _draw(axes, curve(points, band), look)
        behind = _draw_references(panels[0], cells, shown, published) if chosen[0] is AXES["timesteps"] else {}
        lines = _published_lines(comparison, group, cells, published)
        for name, value in lines:
            for axes in panels:
                axes.axhline(value, color=style.line_style(shown[name])["color"], linewidth=1, linestyle=(0, (1, 2)))
        for axis, axes in zip(chosen, panels, strict=True):
            axis.finish(axes)
        panels[0].set_ylabel("Evaluation return")
        style.return_axis(panels[0].yaxis)
        figure.suptitle(group.env, fontsize=10)
        legend = _legend_title(band, max(counts), dashed) + ("; dotted: published mean" if lines else "")
        figure.legend(
            [*labels, *behind], [*labels.values(), *map(_reference_label, behind.values())], title=legend,
            loc="outside lower center", ncols=style.legend_columns(len(cells) + len(behind)),
        )  # fmt: skip
        style.save(figure, path)
    caption = [
        f"{group.env}: return of the evaluations (deterministic policy) over "
        f"{' and over '.join(axis.words for axis in chosen)}; budget {group.limit}. {legend[0].upper()}{legend[1:]}."
    ]
    if nominal := [cell.label for cell in cells if cell.nominal]:
        caption.append(f"{' and '.join(nominal)}: that budget counts a generation as one episode of full length.")
    caption += [f"{note}."] if (note := smoothing_note(options.smooth, "evaluations")) else []
    if AXES["time"] in chosen:
        caption += _time_notes(cells)
    return [*caption, *_published_notes(comparison, group, cells, bool(lines), published), *_reference_notes(behind)]


def _draw(axes: Any, line: Curve, look: dict[str, Any]) -> Any:
    complete = line.count == line.runs
    every = max(1, len(line.x) // 8)
    axes.fill_between(line.x, line.low, line.high, color=look["color"], alpha=0.16, linewidth=0)
    partly = ~complete
    partly[:-1] |= ~complete[1:]  # so that the dashes join the line
    partly[1:] |= ~complete[:-1]
    axes.plot(line.x, np.where(partly, line.mean, np.nan), **{**look, "marker": ""}, linestyle=(0, (3, 2)), alpha=0.8)
    (drawn,) = axes.plot(line.x, np.where(complete, line.mean, np.nan), **look, markevery=every)
    if len(line.x) == 1:
        axes.plot(line.x, line.mean, color=look["color"], marker="o", markersize=4)
    return drawn


def _draw_references(
    axes: Any, cells: Sequence[Cell], shown: Mapping[str, int], published: Published
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
        line, colour = curve(series, band_kind([len(series)])), style.line_style(shown[cell.name])["color"]
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.1, linewidth=0, hatch="////", zorder=0.5)
        (handle,) = axes.plot(line.x, line.mean, color=colour, linewidth=1, linestyle=(0, (5, 1, 1, 1)), zorder=0.6)
        drawn[handle] = found
    return drawn


def _reference_label(reference: ReferenceRuns) -> str:
    return f"{reference.algorithm}, {reference.source.name} ({len(reference.runs)} runs)"


def _reference_notes(drawn: Mapping[Any, ReferenceRuns]) -> list[str]:
    if not drawn:
        return []
    whose = "; ".join(f"{_reference_label(one)}, {one.source.returns} returns on {one.env}" for one in drawn.values())
    return [f"Dash-dotted and hatched: reference runs of others, mean and {band_words('interval')}: {whose}."]


def _series(cell: Cell, axis: Axis, smooth: int) -> list[Series]:
    """Of each run that has a point on the axis."""
    series = [axis.evaluations(run.evaluations, smooth) for run in cell.runs]
    return [one for one in series if len(one[0])]


def _seeds(cell: Cell, count: int) -> str:
    text = f"{count} of {cell.planned} runs" if count != cell.planned else f"{count} run{'s' if count > 1 else ''}"
    unfinished = count - len(cell.done)
    return text + (f", {unfinished} unfinished" if unfinished else "")


def _legend_title(band: str, most: int, dashed: bool) -> str:
    if most == 1:
        return "single runs, no band"
    return f"mean over runs; band: {band_words(band)}" + ("; dashed: not all runs are that long" if dashed else "")


def _published_lines(
    comparison: Comparison, group: Group, cells: Sequence[Cell], published: Published
) -> list[tuple[str, float]]:
    lines: list[tuple[str, float]] = []
    if not comparable(group.env, group.env_published):
        return lines
    for cell in cells:
        found = published.find(comparison.source, comparison.table, group.env_published, cell.published, "mean")
        if found and similar_budget(group.total_timesteps, found.steps):
            lines.append((cell.name, found.value))
    return lines


def _time_notes(cells: Sequence[Cell]) -> list[str]:
    notes = []
    if any(run.simulated_time for cell in cells for run in cell.runs):
        notes.append("Some runs are in simulated time: their minutes are modelled, not measured.")
    hardware = sorted({run.machine.hardware for cell in cells for run in cell.runs if run.machine.cpu})
    if len(hardware) > 1:
        notes.append("The runs are from several machines: their minutes compare no algorithms.")
    return notes


def _published_notes(
    comparison: Comparison, group: Group, cells: Sequence[Cell], lines: bool, published: Published
) -> list[str]:
    known = any(
        published.find(comparison.source, comparison.table, group.env_published, cell.published, "mean")
        for cell in cells
    )
    if lines:
        return [f"Dotted: mean published in {comparison.source}, {comparison.table}, on {group.env_published}."]
    if not known:
        return []
    same = comparable(group.env, group.env_published)
    other = "budget" if same else f"environment ({group.env_published})"
    return [f"Published final values are left out: they belong to another {other}."]
