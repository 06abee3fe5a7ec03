"""The figure of learning curves: over training steps and time, or over what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from erlbench.reporting.data.comparability import comparable, similar_budget
from erlbench.reporting.data.comparison import Cell, Comparison, Group
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.runs import Run
from erlbench.reporting.figures import style
from erlbench.reporting.figures.axis import AXES, Axis, Series, smoothing_note
from erlbench.reporting.figures.labels import label_ends
from erlbench.reporting.figures.references import draw_references, draw_thresholds, reference_label, reference_notes
from erlbench.reporting.options import Options
from erlbench.reporting.statistics.curves import band_kind, band_words, curve


def draw_curves(
    comparison: Comparison, group: Group, published: Published, path: Path, options: Options
) -> list[str]:  # fmt: skip
    """One figure: return over training steps and over training time, or over the axis that `options` name.

    Returns its caption and then notes; none, and no file, when no run has an evaluation that can be drawn.
    """
    chosen = [AXES[name] for name in ([options.x] if options.x else ["timesteps", "time"])]
    cells = [cell for cell in group.cells if _series(cell.runs, chosen[0], options.smooth)]
    if not cells:
        return []
    band = band_kind([len(averaged(cell)) for cell in cells], options.band)
    order = {cell.name: index for index, cell in enumerate(group.cells)}
    looks = {cell.name: style.line_style(order[cell.name]) for cell in cells}
    lines = published_lines(comparison, group, cells, published)
    with style.new_figure(style.WIDTH, max(2.75, 0.9 + 0.15 * len(cells))) as figure:
        panels = figure.subplots(1, len(chosen), sharey=True, squeeze=False)[0]
        ends = []
        for index, (axis, axes) in enumerate(zip(chosen, panels, strict=True)):
            label, unit = axis.unit(_largest(cells, axis, options.smooth))
            for cell in cells:
                drawn = _draw(axes, cell, axis, unit, options.smooth, band, looks[cell.name])
                if index == 0:
                    text = f"{style.glyph(looks[cell.name])}{cell.label} ({_seeds(cell)})"
                    ends.append((drawn, text, looks[cell.name]["color"]))
            for name, value in lines:
                axes.axhline(value, color=looks[name]["color"], linewidth=1, linestyle=(0, (1, 2)))
            axis.finish(axes, label)
        behind = draw_references(panels[0], cells, looks, published) if chosen[0] is AXES["timesteps"] else {}
        over_steps = chosen[0] is AXES["timesteps"]
        points = draw_thresholds(panels[0], comparison, group, published) if over_steps else []
        panels[0].set_ylabel("Evaluation return")
        style.return_axis(panels[0].yaxis)
        figure.suptitle(group.env, fontsize=10)
        label_ends(panels[0], ends)
        if behind:
            figure.legend([*behind], [*map(reference_label, behind.values())], loc="outside lower center")
        style.save(figure, path)
    notes = [*_published_notes(comparison, group, cells, bool(lines), published), *reference_notes(behind), *points]
    return [*_caption(group, cells, chosen, band, options, bool(lines)), *notes]


def averaged(cell: Cell) -> tuple[Run, ...]:
    """The runs that the mean is over: the finished ones, without any of these all."""
    return cell.done or cell.runs


def _draw(axes: Any, cell: Cell, axis: Axis, unit: float, smooth: int, band: str, look: dict[str, Any]) -> float:
    """Single runs thin, their mean and its band; the mean's last value."""
    single = _series(cell.runs, axis, smooth)
    if not single:
        return float("nan")
    line = curve(_series(averaged(cell), axis, smooth) or single, band)
    for x, y in single if len(single) > 1 else ():
        axes.plot(x / unit, y, color=look["color"], linewidth=0.5, alpha=0.45)
    if not len(line.x):
        return float(single[0][1][-1])
    axes.fill_between(line.x / unit, line.low, line.high, color=look["color"], alpha=0.16, linewidth=0)
    axes.plot(line.x / unit, line.mean, **look, markevery=max(1, len(line.x) // 8))
    if len(line.x) == 1:
        axes.plot(line.x / unit, line.mean, color=look["color"], marker="o", markersize=4)
    return float(line.mean[-1])


def _largest(cells: Sequence[Cell], axis: Axis, smooth: int) -> float:
    return max((float(x[-1]) for cell in cells for x, _ in _series(cell.runs, axis, smooth)), default=0.0)


def _series(runs: Sequence[Run], axis: Axis, smooth: int) -> list[Series]:
    """Of each run that has a point on the axis."""
    series = [axis.evaluations(run.evaluations, smooth) for run in runs]
    return [one for one in series if len(one[0])]


def _seeds(cell: Cell) -> str:
    count = sum(len(run.evaluations) > 0 for run in cell.runs)
    text = f"{count} of {cell.planned} runs" if count != cell.planned else f"{count} run{'s' if count > 1 else ''}"
    unfinished = count - len(cell.done)
    return text + (f", {unfinished} unfinished" if unfinished else "")


def _caption(
    group: Group, cells: Sequence[Cell], chosen: Sequence[Axis], band: str, options: Options, dotted: bool
) -> list[str]:
    several = max(len(averaged(cell)) for cell in cells) > 1
    lines = (
        f"Lines: mean of the finished runs, up to where the first of them ends; thin: single runs; band: "
        f"{band_words(band)}."
        if several
        else "Lines: single runs, no band."
    )
    caption = [
        f"{group.env}: return of the evaluations over {' and over '.join(axis.words for axis in chosen)}; budget "
        f"{group.limit}. {lines}" + (" Dotted: published mean." if dotted else "")
    ]
    if nominal := [cell.label for cell in cells if cell.nominal]:
        caption.append(f"{' and '.join(nominal)}: that budget counts a generation as one episode of full length.")
    caption += [f"{note}."] if (note := smoothing_note(options.smooth, "evaluations")) else []
    return caption + (_time_notes(cells) if AXES["time"] in chosen else [])


def published_lines(
    comparison: Comparison, group: Group, cells: Sequence[Cell], published: Published
) -> list[tuple[str, float]]:
    """The published means that may be drawn beside our curves, with the names of their cells."""
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
        notes.append("Some runs are in simulated time: their times are modelled, not measured.")
    hardware = sorted({run.machine.hardware for cell in cells for run in cell.runs if run.machine.cpu})
    if len(hardware) > 1:
        notes.append("The runs are from several machines: their times compare no algorithms.")
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
