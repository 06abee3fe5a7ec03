"""The figure of worker timelines: the paper's figure 1, drawn from real runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.reporting.data.runs import Run
from erlbench.reporting.data.timeline import Timeline, windows
from erlbench.reporting.figures import style

KINDS = (  # of tasks: what the legend calls them, and their colour
    ("es", "episode of a sampled actor", 0), ("rl", "episode of a trained actor", 1), ("critic", "critic updates", 2),
    ("actor", "actor updates", 4), ("mean", "episodes of the mean", 3), ("random", "random actions", 5),
    ("evaluation", "evaluation", 7),
)  # fmt: skip


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
            busy, (_, last) = timeline.utilisation(), timeline.span
            if last < stop:
                axes.axvspan(last - start, stop - start, color="#EDEDED", linewidth=0)
            for row, process in enumerate(timeline.processes):
                mine = (timeline.process == process) & (timeline.end > start) & (timeline.start < min(stop, last))
                for kind in kinds:
                    here = mine & np.array([k == kind for k in timeline.kind])
                    if here.any():
                        left, right = timeline.start[here].clip(start), timeline.end[here].clip(max=min(stop, last))
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
        "A row per process, coloured by what it did, white while idle, grey after the run. Percentages: busy share of "
        "each process over the whole run, from its first to its last training task. Shown: "
        + "; ".join(parts)
        + "."
        + (" Simulated time: durations are modelled, processes are virtual." if virtual else "")
    ]
