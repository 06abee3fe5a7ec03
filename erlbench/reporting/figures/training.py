"""Training returns of runs that are not finished: dashed, beside the curves of evaluations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from erlbench.records.read import read_rows
from erlbench.records.schema import EpisodeRow
from erlbench.records.training import WINDOW, running_means, thinned
from erlbench.reporting.data.comparison import RunSet
from erlbench.reporting.data.runs import Run
from erlbench.reporting.figures.model import LineLook, RunLine, Series
from erlbench.reporting.statistics.curves import MOST_POINTS, curve

DASHED = LineLook("dash", 1.2)
DASHED_RUNS = (
    f"Dashed, without markers: runs that are not finished, mean return of their last {WINDOW} training episodes."
)

Training = Mapping[str, Sequence[tuple[RunSet, Sequence[RunLine]]]]  # by axis


def training_of(run_sets: Sequence[RunSet]) -> Training:
    """The training returns of the runs without an evaluation to draw, over the axes that episodes.csv has."""
    found: dict[str, list[tuple[RunSet, list[RunLine]]]] = {}
    for run_set in run_sets:
        lines: dict[str, list[RunLine]] = {}
        for run in (run for run in run_set.runs if not run.done and len(run.evaluations) < 2):
            for axis, line in _lines(run).items():
                lines.setdefault(axis, []).append(line)
        for axis, own in lines.items():
            found.setdefault(axis, []).append((run_set, own))
    return found


def training_series(run_set: RunSet, lines: Sequence[RunLine], colour: int, unit: float) -> Series:
    """The mean over the runs as far as the shortest goes, and each of them; `unit` divides the axis."""
    mean = curve([(line.x / unit, line.y) for line in lines], "range")
    states = Counter(run.status for run in run_set.runs if not run.done)
    label = f"{run_set.label}, training ({', '.join(f'{count} {state}' for state, count in states.items())})"
    return Series(
        label=label, group=label, x=mean.x, y=mean.mean, colour=colour, look=DASHED, averaged=len(lines),
        runs=[RunLine(one.name, one.x / unit, one.y) for one in lines] if len(lines) > 1 else (),
    )  # fmt: skip


def _lines(run: Run) -> dict[str, RunLine]:
    """One run's training returns by axis; empty without an episode."""
    rows = read_rows(run.path, EpisodeRow)
    if rows is None or rows.empty:
        return {}
    rows = running_means(rows).assign(episodes=lambda frame: np.arange(1.0, len(frame) + 1))
    rows = rows.iloc[thinned(len(rows), MOST_POINTS)]
    name, found = f"seed {run.seed} ({run.status}), training", {}
    for axis, column in (("timesteps", "timesteps"), ("time", "t"), ("episodes", "episodes")):
        x, y = rows[column].to_numpy(np.float64), rows["mean"].to_numpy(np.float64)
        there = np.isfinite(x) & np.isfinite(y)
        x, y = x[there], y[there]
        last = np.append(x[1:] > x[:-1], True)[: len(x)]  # of several at one x
        if last.any():
            found[axis] = RunLine(name, x[last], y[last])
    return found
