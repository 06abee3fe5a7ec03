"""The figure of worker timelines: the paper's figure 1, drawn from real runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from erlbench.reporting.data.timeline import Timeline, bars, windows
from erlbench.reporting.drawing import PALETTE, Drawing

SHORTEST = 1 / 800  # of a window: shorter tasks are merged, as nobody can see them
LONGEST = 40  # characters of a kind in the legend
KINDS = {  # of tasks, in the order of the legend: what it calls them, and their colour
    "es": ("episode of a sampled actor", 0), "rl": ("episode of a trained actor", 1), "critic": ("critic updates", 2),
    "actor": ("actor updates", 4), "mean": ("episodes of the mean", 3), "random": ("random actions", 5),
    "unperturbed": ("episodes of the mean", 3), "validation": ("validation episodes", 3),
    "gradient": ("gradient of the search", 6), "evaluation": ("evaluation", 7),
}  # fmt: skip


def timelines_drawing(timelines: Sequence[Timeline], labels: Sequence[str], env: str) -> Drawing:
    """A panel for each run, a row for each process, coloured by the kind of task; idle time stays white."""
    shown = windows(timelines)
    kinds = {kind for timeline in timelines for kind in timeline.kind}
    order = [*(kind for kind in KINDS if kind in kinds), *sorted(kinds - {*KINDS})]
    data, panels = [], {}
    for number, (timeline, label, window) in enumerate(zip(timelines, labels, shown, strict=True)):
        panels[str(number)] = _panel(timeline, label, window)
        data.append(_bars(timeline, window, order).assign(panel=str(number)))
    return Drawing(
        kind="timeline", title=env, data=pd.concat(data, ignore_index=True), panels=panels, paper=[*panels],
        caption=_caption(timelines, labels, shown),
    )  # fmt: skip


def _panel(timeline: Timeline, label: str, window: tuple[float, float]) -> dict[str, Any]:
    """Labels, and `rows`: the name of each process and its busy share over the whole run; `end` of the run."""
    (start, stop), busy = window, timeline.utilisation()
    average = 100 * sum(busy.values()) / len(busy)
    return {
        "x": "Seconds since the window began", "y": "Process", "title": f"{label}: {average:.0f} % busy",
        "rows": [("driver" if process < 0 else str(process), busy[process]) for process in timeline.processes],
        "length": stop - start, "end": timeline.span[1] - start,
    }  # fmt: skip


def _bars(timeline: Timeline, window: tuple[float, float], order: Sequence[str]) -> pd.DataFrame:
    """A row for each bar, in the order of kinds; a bar is as high as the `share` of its time that was busy."""
    start, stop = window
    data = bars(timeline, start, min(stop, timeline.span[1]), SHORTEST * (stop - start))
    rows = {process: row for row, process in enumerate(timeline.processes)}
    looks = {kind: KINDS.get(kind, (_short(kind), (2 + i) % len(PALETTE))) for i, kind in enumerate(order)}
    places = data.kind.map(order.index)
    looked = data.kind.map(looks)
    data = data.assign(
        row=data.process.map(rows), length=data.end - data.start, start=data.start - start, place=places,
        label=looked.str[0], colour=looked.str[1],
    )  # fmt: skip
    return data.sort_values("place", kind="stable")


def _short(kind: str) -> str:
    return kind if len(kind) <= LONGEST else f"{kind[:LONGEST]}..."


def _caption(
    timelines: Sequence[Timeline], labels: Sequence[str], shown: Sequence[tuple[float, float]]
) -> list[str]:  # fmt: skip
    parts = []
    for timeline, label, (start, stop) in zip(timelines, labels, shown, strict=True):
        (first, last), run = timeline.span, timeline.run
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
