"""The figure of worker timelines: the paper's figure 1, drawn from real runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from erlbench.reporting.data.timeline import Timeline, bars, windows
from erlbench.reporting.figures.model import PALETTE, Panel, Plot, Row, TaskBars

SHORTEST = 1 / 800  # of a window: shorter tasks are merged, as nobody can see them
LONGEST = 40  # characters of a kind in the legend
KINDS = (  # of tasks: what the legend calls them, and their colour
    ("es", "episode of a sampled actor", 0), ("rl", "episode of a trained actor", 1), ("critic", "critic updates", 2),
    ("actor", "actor updates", 4), ("mean", "episodes of the mean", 3), ("random", "random actions", 5),
    ("unperturbed", "episodes of the mean", 3), ("validation", "validation episodes", 3),
    ("gradient", "gradient of the search", 6), ("evaluation", "evaluation", 7),
)  # fmt: skip


def timelines_plot(timelines: Sequence[Timeline], labels: Sequence[str], env: str) -> Plot:
    """A panel for each run, a row for each process, coloured by the kind of task; idle time stays white."""
    shown = windows(timelines)
    kinds = sorted({kind for timeline in timelines for kind in timeline.kind}, key=kind_order)
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
                task_label(kind),
                kind_colour(kind, number),
                row=np.array([rows[bar.process] for bar in own]),
                start=np.array([bar.start - start for bar in own]),
                length=np.array([bar.end - bar.start for bar in own]),
                share=np.array([bar.busy for bar in own]),
            )
            for number, (kind, own) in enumerate(of_kind.items())
        ],
        rows=[Row("driver" if process < 0 else str(process), busy[process]) for process in rows],
        length=stop - start,
        end=last - start,
    )


def kind_order(kind: str) -> tuple[int, str]:
    """By which kinds of tasks are sorted in legends."""
    return next((i for i, (name, _, _) in enumerate(KINDS) if name == kind), len(KINDS)), kind


def task_label(kind: str) -> str:
    """What legends call a kind of task."""
    short = kind if len(kind) <= LONGEST else f"{kind[:LONGEST]}..."
    return next((text for name, text, _ in KINDS if name == kind), short)


def kind_colour(kind: str, index: int) -> int:
    """The colour of a kind of task, a number of the palette; `index` chooses one for a kind that is not listed."""
    return next((colour for name, _, colour in KINDS if name == kind), (2 + index) % len(PALETTE))


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
