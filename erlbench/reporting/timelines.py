"""The figure of worker timelines: the paper's figure 1, drawn from real runs."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from erlbench.reporting.data.timeline import Timeline, bars, windows
from erlbench.reporting.documents.model import Figure
from erlbench.reporting.drawing import PALETTE

SHORTEST = 1 / 800  # of a window: shorter tasks are merged, as nobody can see them
LONGEST = 40  # characters of a kind in the legend
KINDS = {  # of tasks, in the order of the legend: what it calls them, and their colour
    "es": ("episode of a sampled actor", 0), "rl": ("episode of a trained actor", 1), "critic": ("critic updates", 2),
    "actor": ("actor updates", 4), "mean": ("episodes of the mean", 3), "random": ("random actions", 5),
    "unperturbed": ("episodes of the mean", 3), "validation": ("validation episodes", 3),
    "gradient": ("gradient of the search", 6), "evaluation": ("evaluation", 7),
}  # fmt: skip


def draw_timelines(name: str, title: str, env: str, timelines: Sequence[tuple[str, Timeline]]) -> Figure:
    """A panel for each labelled run, a row for each process, coloured by the kind of task; idle time stays white.

    `data` has a row for each bar, in the order of kinds; a bar is as high as the `share` of its time that was busy.
    `rows` of a panel: the name of each process and its busy share over the whole run; `end` of the run.
    """
    kinds = {kind for _, timeline in timelines for kind in timeline.tasks.kind}
    order = [*(kind for kind in KINDS if kind in kinds), *sorted(kinds - {*KINDS})]
    looks = {kind: KINDS.get(kind, (_short(kind), (2 + place) % len(PALETTE))) for place, kind in enumerate(order)}
    data, panels, parts = [], {}, []
    windows_shown = windows([timeline for _, timeline in timelines])
    for number, ((label, timeline), (start, stop)) in enumerate(zip(timelines, windows_shown, strict=True)):
        (first, last), run, busy = timeline.span, timeline.run, timeline.utilisation()
        shown = bars(timeline, start, min(stop, last), SHORTEST * (stop - start))
        kind = shown.kind.map(looks)
        shown = shown.assign(
            panel=str(number), row=shown.process.map(timeline.processes.index), length=shown.end - shown.start,
            start=shown.start - start, place=shown.kind.map(order.index), label=kind.str[0], colour=kind.str[1],
        )  # fmt: skip
        data.append(shown.sort_values("place", kind="stable"))
        panels[str(number)] = {
            "x": "Seconds since the window began", "y": "Process",
            "title": f"{label}: {100 * sum(busy.values()) / len(busy):.0f} % busy",
            "rows": [("driver" if process < 0 else str(process), busy[process]) for process in timeline.processes],
            "length": stop - start, "end": last - start,
        }  # fmt: skip
        workers = f", {run.workers} worker{'s' if run.workers != '1' else ''}" if run.workers else ""
        parts.append(
            f"{label} (seed {run.seed}{workers}): seconds {start:,.1f} to {min(stop, last):,.1f} of "
            f"{first:,.1f} to {last:,.1f}"
        )
    virtual = any(timeline.run.simulated_time for _, timeline in timelines)
    caption = [
        "A row per process, coloured by what it did, white while idle, grey after the run. Short tasks are merged into "
        "bars as high as their busy share. Percentages: busy share over the whole run."
        + (" Simulated time: durations are modelled, processes are virtual." if virtual else ""),
        f"Shown: {'; '.join(parts)}.",
    ]
    return Figure(
        name=name, title=title, kind="timeline", heading=env, data=pd.concat(data, ignore_index=True), panels=panels,
        paper=[*panels], caption=caption,
    )  # fmt: skip


def _short(kind: str) -> str:
    return kind if len(kind) <= LONGEST else f"{kind[:LONGEST]}..."
