"""Draws the figures: learning curves over steps and minutes, and worker timelines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.report import style
from erlbench.report.comparability import similar_budget
from erlbench.report.comparison import Cell, Comparison, Group
from erlbench.report.curves import Curve, band_kind, curve
from erlbench.report.published import Published
from erlbench.report.runs import Run
from erlbench.report.timeline import Timeline, windows

KINDS = (  # of tasks: what the legend calls them, and their colour
    ("es", "episode of a sampled actor", 0), ("rl", "episode of a trained actor", 1), ("critic", "critic updates", 2),
    ("actor", "actor updates", 4), ("mean", "episodes of the mean", 3), ("random", "random actions", 5),
    ("evaluation", "evaluation", 7),
)  # fmt: skip


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
            list(labels), list(labels.values()), loc="outside lower center", ncols=min(3, len(cells)), title=legend
        )
        style.save(figure, path)
    return _curve_caption(comparison, group, cells, legend, bool(lines), published)


def draw_timelines(timelines: Sequence[Timeline], labels: Sequence[str], env: str, path: Path) -> list[str]:
    """One figure: a panel per run, a row per process, coloured by the kind of task; idle time stays white."""
    kinds = sorted({kind for timeline in timelines for kind in timeline.kind}, key=_kind_order)
    colours = {kind: _kind_colour(kind, i) for i, kind in enumerate(kinds)}
    rows = [len(timeline.processes) for timeline in timelines]
    shown = windows(timelines)
    drawn: dict[str, Any] = {}
    with style.new_figure(style.WIDTH, 0.8 + sum(0.19 * n + 0.5 for n in rows)) as figure:
        panels = figure.subplots(len(rows), 1, squeeze=False, height_ratios=[n + 0.6 for n in rows])[:, 0]
        for axes, timeline, label, (start, stop) in zip(panels, timelines, labels, shown, strict=True):
            busy = timeline.utilisation()
            for row, process in enumerate(timeline.processes):
                mine = (timeline.process == process) & (timeline.end > start) & (timeline.start < stop)
                for kind in kinds:
                    here = mine & np.array([k == kind for k in timeline.kind])
                    if here.any():
                        left, right = timeline.start[here].clip(start), timeline.end[here].clip(max=stop)
                        bars = np.column_stack([left - start, right - left])
                        drawn[kind] = axes.broken_barh(
                            bars, (row - 0.39, 0.78), facecolor=colours[kind], edgecolor="white", linewidth=0.4
                        )
                axes.text(
                    1.01, row, f"{100 * busy[process]:.0f} %", transform=axes.get_yaxis_transform(), va="center",
                    fontsize=7.5,
                )  # fmt: skip
            average = 100 * sum(busy.values()) / len(busy)
            axes.set_title(f"{label}: {average:.0f} % busy", loc="left")
            names = ["driver" if process < 0 else str(process) for process in timeline.processes]
            axes.set(xlim=(0, stop - start), ylim=(len(names) - 0.4, -0.6))
            if len(names) > 2:
                axes.set_ylabel("Process")
            axes.set_yticks(range(len(names)), names)
            axes.grid(False, axis="y")
            axes.tick_params(axis="y", length=0)
        panels[-1].set_xlabel("Seconds since the window began")
        figure.suptitle(env, fontsize=10)
        order = [kind for kind in kinds if kind in drawn]
        figure.legend(
            [drawn[kind] for kind in order], [_kind_name(kind) for kind in order], loc="outside lower center", ncols=4
        )
        style.save(figure, path)
    return _timeline_caption(timelines, labels, shown)


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
    lines = []
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
        notes.append("Published final values are left out: they belong to another budget.")
    return notes


def _kind_order(kind: str) -> tuple[int, str]:
    return next((i for i, (name, _, _) in enumerate(KINDS) if name == kind), len(KINDS)), kind


def _kind_name(kind: str) -> str:
    return next((text for name, text, _ in KINDS if name == kind), kind)


def _kind_colour(kind: str, index: int) -> str:
    return style.PALETTE[next((colour for name, _, colour in KINDS if name == kind), (6 + index) % len(style.PALETTE))]


def _timeline_caption(
    timelines: Sequence[Timeline], labels: Sequence[str], shown: Sequence[tuple[float, float]]
) -> list[str]:
    parts = []
    for timeline, label, (start, stop) in zip(timelines, labels, shown, strict=True):
        first, last = timeline.span
        run: Run = timeline.run
        workers = f", {run.workers} worker{'s' if run.workers != '1' else ''}" if run.workers else ""
        parts.append(
            f"{label} (seed {run.seed}{workers}): seconds {start:,.1f} to {min(stop, last):,.1f} of "
            f"{first:,.1f} to {last:,.1f}"
        )
    virtual = any(timeline.run.simulated_time for timeline in timelines)
    return [
        "A row per process, coloured by what it did, white while idle. Percentages: busy share of each process over "
        "the whole run, from its first to its last training task. Shown: " + "; ".join(parts) + "."
        + (" Simulated time: durations are modelled, processes are virtual." if virtual else "")
    ]
