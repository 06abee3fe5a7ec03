"""The figure of worker timelines: the paper's figure 1, drawn from real runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from erlbench.reporting.data.runs import Run
from erlbench.reporting.data.timeline import Bar, Timeline, bars, windows
from erlbench.reporting.figures import style

BARS = 800  # that can be told apart in a window
LONGEST = 40  # characters of a kind in the legend
KINDS = (  # of tasks: what the legend calls them, and their colour
    ("es", "episode of a sampled actor", 0), ("rl", "episode of a trained actor", 1), ("critic", "critic updates", 2),
    ("actor", "actor updates", 4), ("mean", "episodes of the mean", 3), ("random", "random actions", 5),
    ("unperturbed", "episodes of the mean", 3), ("validation", "validation episodes", 3),
    ("gradient", "gradient of the search", 6), ("evaluation", "evaluation", 7),
)  # fmt: skip


def draw_timelines(timelines: Sequence[Timeline], labels: Sequence[str], env: str, path: Path) -> list[str]:
    """One figure: a panel per run, a row per process, coloured by the kind of task; idle time stays white."""
    kinds = sorted({kind for timeline in timelines for kind in timeline.kind}, key=kind_order)
    colours = {kind: kind_colour(kind, i) for i, kind in enumerate(kinds)}
    rows = [len(timeline.processes) for timeline in timelines]
    shown = windows(timelines)
    drawn: dict[str, Any] = {}
    with style.new_figure(style.WIDTH, 0.8 + sum(0.19 * n + 0.5 for n in rows)) as figure:
        panels = figure.subplots(len(rows), 1, squeeze=False, height_ratios=[n + 0.6 for n in rows])[:, 0]
        for axes, timeline, label, window in zip(panels, timelines, labels, shown, strict=True):
            drawn |= _draw_panel(axes, timeline, label, window, colours)
        panels[-1].set_xlabel("Seconds since the window began")
        figure.suptitle(env, fontsize=10)
        order = [kind for kind in kinds if kind in drawn]
        figure.legend(
            [drawn[kind] for kind in order], [task_label(kind) for kind in order], loc="outside lower center", ncols=4
        )
        style.save(figure, path)
    return _timeline_caption(timelines, labels, shown)


def _draw_panel(
    axes: Any, timeline: Timeline, label: str, window: tuple[float, float], colours: dict[str, str]
) -> dict[str, Any]:
    """One run; by kind what the legend shows."""
    (start, stop), busy, (_, last) = window, timeline.utilisation(), timeline.span
    if last < stop:
        axes.axvspan(last - start, stop - start, color="#EDEDED", linewidth=0)
    resolution = (stop - start) / BARS
    shown = bars(timeline, start, min(stop, last), resolution)
    drawn = {kind: _draw_bars(axes, timeline, [bar for bar in shown if bar.kind == kind], start, colour, resolution)
             for kind, colour in colours.items() if any(bar.kind == kind for bar in shown)}  # fmt: skip
    for row, process in enumerate(timeline.processes):
        axes.text(
            1.01, row, f"{100 * busy[process]:.0f} %", transform=axes.get_yaxis_transform(), va="center", fontsize=7.5
        )
    average = 100 * sum(busy.values()) / len(busy)
    axes.set_title(f"{label}: {average:.0f} % busy", loc="left")
    names = ["driver" if process < 0 else str(process) for process in timeline.processes]
    axes.set(xlim=(0, stop - start), ylim=(len(names) - 0.4, -0.6))
    if len(names) > 2:
        axes.set_ylabel("Process")
    axes.set_yticks(range(len(names)), names)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    return drawn


def _draw_bars(
    axes: Any, timeline: Timeline, shown: Sequence[Bar], start: float, colour: str, resolution: float
) -> Any:  # fmt: skip
    """The bars of one kind, each as high as its busy share; only those that are wide enough have an edge."""
    from matplotlib.collections import PolyCollection

    rows = {process: row for row, process in enumerate(timeline.processes)}
    corners, edges = [], []
    for bar in shown:
        left, right, row, half = bar.start - start, bar.end - start, rows[bar.process], 0.39 * bar.busy
        corners.append([(left, row - half), (right, row - half), (right, row + half), (left, row + half)])
        edges.append(0.4 if right - left > 3 * resolution else 0.0)
    return axes.add_collection(PolyCollection(corners, facecolor=colour, edgecolor="white", linewidths=edges))


def kind_order(kind: str) -> tuple[int, str]:
    """By which kinds of tasks are sorted in legends."""
    return next((i for i, (name, _, _) in enumerate(KINDS) if name == kind), len(KINDS)), kind


def task_label(kind: str) -> str:
    """What legends call a kind of task."""
    short = kind if len(kind) <= LONGEST else f"{kind[:LONGEST]}..."
    return next((text for name, text, _ in KINDS if name == kind), short)


def kind_colour(kind: str, index: int) -> str:
    """The colour of a kind of task; `index` chooses one for a kind that is not listed."""
    return style.PALETTE[next((colour for name, _, colour in KINDS if name == kind), (2 + index) % len(style.PALETTE))]


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
        "A row per process, coloured by what it did, white while idle, grey after the run. Short tasks are merged into "
        "bars as high as their busy share. Percentages: busy share over the whole run."
        + (" Simulated time: durations are modelled, processes are virtual." if virtual else ""),
        f"Shown: {'; '.join(parts)}.",
    ]
