"""The figure of learning curves: over training steps and over training minutes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.report import style
from erlbench.report.comparability import comparable, similar_budget
from erlbench.report.comparison import Cell, Comparison, Group
from erlbench.report.curves import Curve, band_kind, curve
from erlbench.report.published import Published


def draw_curves(comparison: Comparison, group: Group, published: Published, path: Path) -> list[str]:
    """One figure: return over training steps and over training minutes. Returns its caption's sentences."""
    cells = [cell for cell in group.cells if any(len(run.evaluations) for run in cell.runs)]
    if not cells:
        return []
    counts = [sum(len(run.evaluations) > 0 for run in cell.runs) for cell in cells]
    band = band_kind(counts)
    shown = dict(zip((cell.name for cell in group.cells), range(len(group.cells)), strict=False))
    rows = -(-len(cells) // 3)
    with style.new_figure(style.WIDTH, 2.75 + 0.17 * rows) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        labels, dashed = {}, False
        for cell, count in zip(cells, counts, strict=True):
            look = style.line_style(shown[cell.name])
            by_steps, by_minutes = _series(cell)
            line = curve(by_steps, band)
            dashed = dashed or bool((line.count < line.runs).any())
            labels[_draw(left, line, look)] = f"{cell.label} ({_seeds(cell, count)})"
            _draw(right, curve(by_minutes, band), look)
        lines = _published_lines(comparison, group, cells, published)
        for name, value in lines:
            for axes in (left, right):
                axes.axhline(value, color=style.line_style(shown[name])["color"], linewidth=1, linestyle=(0, (1, 2)))
        left.set(xlabel="Training steps", ylabel="Evaluation return")
        right.set(xlabel="Training time (minutes)")
        left.set_xlim(left=0)
        right.set_xlim(left=0)
        style.steps_axis(left.xaxis)
        style.return_axis(left.yaxis)
        figure.suptitle(group.env, fontsize=10)
        legend = _legend_title(band, max(counts), dashed) + ("; dotted: published mean" if lines else "")
        figure.legend(
            list(labels), list(labels.values()), loc="outside lower center", title=legend,
            ncols=style.legend_columns(len(cells)),
        )  # fmt: skip
        style.save(figure, path)
    return _curve_caption(comparison, group, cells, legend, bool(lines), published)


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


def _series(cell: Cell) -> tuple[list[Any], list[Any]]:
    parts = [run.evaluations for run in cell.runs if len(run.evaluations)]
    return [(e.timesteps, e.return_mean) for e in parts], [(e.train_time_s / 60, e.return_mean) for e in parts]


def _seeds(cell: Cell, count: int) -> str:
    text = f"{count} of {cell.planned} runs" if count != cell.planned else f"{count} run{'s' if count > 1 else ''}"
    unfinished = count - len(cell.done)
    return text + (f", {unfinished} unfinished" if unfinished else "")


def _legend_title(band: str, most: int, dashed: bool) -> str:
    if most == 1:
        return "single runs, no band"
    text = "95 % bootstrap interval of the mean" if band == "interval" else "lowest to highest run"
    return f"mean over runs; band: {text}" + ("; dashed: not all runs are that long" if dashed else "")


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


def _curve_caption(
    comparison: Comparison, group: Group, cells: Sequence[Cell], legend: str, lines: bool, published: Published
) -> list[str]:
    notes = [
        f"{group.env}: return of the evaluations (deterministic policy) over training steps and over training time "
        f"without evaluation; budget {group.total_timesteps:,} steps. {legend[0].upper()}{legend[1:]}."
    ]
    if any(run.simulated_time for cell in cells for run in cell.runs):
        notes.append("Some runs are in simulated time: their minutes are modelled, not measured.")
    hardware = sorted({run.machine.hardware for cell in cells for run in cell.runs if run.machine.cpu})
    if len(hardware) > 1:
        notes.append("The runs are from several machines: the right panel compares no algorithms.")
    known = any(
        published.find(comparison.source, comparison.table, group.env_published, cell.published, "mean")
        for cell in cells
    )
    if lines:
        notes.append(f"Dotted: mean published in {comparison.source}, {comparison.table}, on {group.env_published}.")
    elif known:
        same = comparable(group.env, group.env_published)
        other = "budget" if same else f"environment ({group.env_published})"
        notes.append(f"Published final values are left out: they belong to another {other}.")
    return notes
