"""The figure of worker timelines: the paper's figure 1, drawn from real runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from erlbench.reporting.data.timeline import Timeline, bars, windows
from erlbench.reporting.figures.model import PALETTE, Panel, Plot, TaskBars

SHORTEST = 1 / 800  # of a window: shorter tasks are merged, as nobody can see them
LONGEST = 40  # characters of a kind in the legend
KINDS = {  # of tasks, in the order of the legend: what it calls them, and their colour
    "es": ("episode of a sampled actor", 0), "rl": ("episode of a trained actor", 1), "critic": ("critic updates", 2),
    "actor": ("actor updates", 4), "mean": ("episodes of the mean", 3), "random": ("random actions", 5),
    "unperturbed": ("episodes of the mean", 3), "validation": ("validation episodes", 3),
    "gradient": ("gradient of the search", 6), "evaluation": ("evaluation", 7),
}  # fmt: skip


def timelines_plot(timelines: Sequence[Timeline], labels: Sequence[str], env: str) -> Plot:
    """A panel for each run, a row for each process, coloured by the kind of task; idle time stays white."""
    shown = windows(timelines)
    there = {kind for timeline in timelines for kind in timeline.kind}
    kinds = [*(kind for kind in KINDS if kind in there), *sorted(there - {*KINDS})]
    panels = {
        str(number): _panel(timeline, label, window, kinds)
        for number, (timeline, label, window) in enumerate(zip(timelines, labels, shown, strict=True))
    }
    caption = _timeline_caption(timelines, labels, shown)
    return Plot(kind="timeline", title=env, panels=panels, paper=[*panels], caption=caption)


def _panel(timeline: Timeline, label: str, window: tuple[float, float], kinds: Sequence[str]) -> Panel:
    """One run. A bar is as high as its busy share."""
    (start, stop), busy, (_, last) = window, timeline.utilisation(), timeline.span
    rows = {process: row for row, process in enumerate(timeline.processes)}
    found = bars(timeline, start, min(stop, last), SHORTEST * (stop - start))
    of_kind = {kind: [bar for bar in found if bar.kind == kind] for kind in kinds}
    average = 100 * sum(busy.values()) / len(busy)
    return Panel(
        x="Seconds since the window began",
        y="Process",
        title=f"{label}: {average:.0f} % busy",
        bars=[
            TaskBars(
                *_look(kind, number),
                row=np.array([rows[bar.process] for bar in own]),
                start=np.array([bar.start - start for bar in own]),
                length=np.array([bar.end - bar.start for bar in own]),
                share=np.array([bar.busy for bar in own]),
            )
            for number, (kind, own) in enumerate(of_kind.items())
        ],
        rows=[("driver" if process < 0 else str(process), busy[process]) for process in rows],
        length=stop - start,
        end=last - start,
    )


def _look(kind: str, number: int) -> tuple[str, int]:
    """What legends call a kind of task, and its colour; `number` chooses one for a kind that is not listed."""
    short = kind if len(kind) <= LONGEST else f"{kind[:LONGEST]}..."
    return KINDS.get(kind, (short, (2 + number) % len(PALETTE)))


def _timeline_caption(
    timelines: Sequence[Timeline], labels: Sequence[str], shown: Sequence[tuple[float, float]]
) -> list[str]:
    parts = []
    for timeline, label, (start, stop) in zip(timelines, labels, shown, strict=True):
        first, last = timeline.span
        run = timeline.run
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
