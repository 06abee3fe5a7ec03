"""The data of the charts of `index.html`: runs and mean curves on every axis, timelines, performance profiles.

Runs, curves and lists of numbers are kept once, however many charts show them; a list is named by its index.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.runs import Array, Run
from erlbench.reporting.data.timeline import Bar, Timeline, bars, windows
from erlbench.reporting.documents.model import Chart
from erlbench.reporting.figures.axis import AXES
from erlbench.reporting.figures.curves import averaged, published_lines
from erlbench.reporting.figures.references import behind, published_points, reference_label
from erlbench.reporting.figures.timelines import kind_colour, kind_order, task_label
from erlbench.reporting.statistics.curves import FEWEST_RUNS, band_kind, curve
from erlbench.reporting.statistics.estimates import performance_profile
from erlbench.reporting.statistics.normalised import normalised
from erlbench.words import counted

RUN_POINTS = 40
CURVE_POINTS = 60
BARS = 300  # that a window of a timeline can tell apart
DIGITS = 5
SYMBOLS = {"s": "square", "D": "diamond", "^": "triangle-up", "v": "triangle-down"}  # Plotly's of matplotlib's


class ChartData:
    """What the charts of one page share."""

    def __init__(self, smooth: int, band: str = "auto") -> None:
        self.runs: list[dict[str, Any]] = []
        self.curves: list[dict[str, Any]] = []
        self.arrays: list[list[float]] = []
        self._array_index: dict[tuple[float, ...], int] = {}
        self._run_index: dict[tuple[Path, int], int] = {}
        self._curve_index: dict[tuple[int, ...], int] = {}
        self._smooth = smooth
        self._band = band

    def shared(self) -> dict[str, Any]:
        """Axes, runs and curves, as JSON knows them."""
        axes = {name: {"label": axis.label, "note": axis.note, "seconds": axis.seconds} for name, axis in AXES.items()}
        return {"axes": axes, "arrays": self.arrays, "runs": self.runs, "curves": self.curves}

    def of_group(self, comparison: Comparison, group: Group, published: Published, x: str) -> Chart:
        """Learning curves, first over the axis `x`; published values only of what has a curve."""
        numbered = [(index, run_set) for index, run_set in enumerate(group.run_sets) if _evaluated(run_set.runs)]
        drawn = [run_set for _, run_set in numbered]
        others = [
            {"label": reference_label(found), "name": run_set.name,
             "line": [self._array(values) for values in (line.x, line.mean, line.low, line.high)]}
            for run_set, found, line in (behind(drawn, published) if drawn else ())
        ]  # fmt: skip
        run_sets = [
            {"label": run_set.label, "name": run_set.name, "colour": index,
             "runs": [self._run(run) for run in run_set.runs], **self._mean(run_set)}
            for index, run_set in numbered
        ]  # fmt: skip
        lines = published_lines(comparison, group, drawn, published)
        points = [
            {"label": one.label, "symbol": SYMBOLS[one.marker], "x": one.steps, "y": one.scores}
            for one in published_points(comparison, group, published)
        ]
        return Chart("curves", {"env": group.env, "x": x, "band": self._band_kind(drawn, x), "runSets": run_sets,
                                "others": others, "published": [list(line) for line in lines],
                                "points": points})  # fmt: skip

    def _band_kind(self, run_sets: Sequence[RunSet], x: str) -> str:
        """The band of the figure: of the runs that it draws over the axis `x`."""
        known, _ = AXES[x].drawable(run_sets)
        drawn = [run_set for run_set in known if any(self._has_points(run, x) for run in run_set.runs)]
        return band_kind([len(averaged(run_set)) for run_set in drawn], self._band)

    def _has_points(self, run: Run, x: str) -> bool:
        return len(AXES[x].evaluations(run.evaluations, self._smooth)[0]) > 0

    def _array(self, values: Array) -> int:
        numbers = _round(values)
        key = tuple(numbers)
        if key not in self._array_index:
            self._array_index[key] = len(self.arrays)
            self.arrays.append(numbers)
        return self._array_index[key]

    def _run(self, run: Run) -> int:
        key = run.path, len(run.evaluations)  # the same run may be cut on another page
        if key not in self._run_index:
            self._run_index[key] = len(self.runs)
            self.runs.append({"seed": run.seed, "status": run.status, "axes": self._points(run)})
        return self._run_index[key]

    def _points(self, run: Run) -> dict[str, list[int]]:
        """By axis x and y; an axis on which the run has no two different points is left out."""
        found = {}
        for name, axis in AXES.items():
            x, y = axis.evaluations(run.evaluations, self._smooth)
            if len(x) > RUN_POINTS:
                keep = np.unique(np.linspace(0, len(x) - 1, RUN_POINTS).round().astype(int))
                x, y = x[keep], y[keep]
            if len(x) and (x[-1] > 0 or name == "timesteps"):
                found[name] = [self._array(x), self._array(y)]
        return found

    def _mean(self, run_set: RunSet) -> dict[str, int | None]:
        """The index of the mean curves, or of the one run that is its own mean; the other is None."""
        runs = _evaluated(averaged(run_set)) or _evaluated(run_set.runs)
        if len(runs) == 1:
            return {"curve": None, "only": self._run(runs[0])}
        return {"curve": self._curve(runs), "only": None}

    def _curve(self, runs: Sequence[Run]) -> int:
        key = tuple(self._run(run) for run in runs)
        if key not in self._curve_index:
            self._curve_index[key] = len(self.curves)
            self.curves.append({"axes": self._means(runs)})
        return self._curve_index[key]

    def _means(self, runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for name, axis in AXES.items():
            series = [axis.evaluations(run.evaluations, self._smooth) for run in runs]
            series = [one for one in series if len(one[0])]
            if not series or not all(x[-1] > 0 for x, _ in series):
                continue
            line = curve(series, "range", CURVE_POINTS)
            band = [self._array(line.low), self._array(line.high)]
            found[name] = {
                "runs": len(series), "x": self._array(line.x), "mean": self._array(line.mean), "range": band,
            }  # fmt: skip
            if len(series) >= FEWEST_RUNS:
                line = curve(series, "interval", CURVE_POINTS)
                found[name]["interval"] = [self._array(line.low), self._array(line.high)]
        return found


def _evaluated(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if len(run.evaluations)]


def profile_chart(comparison: Comparison) -> Chart | None:
    """Performance profiles; None where there are none."""
    pooled = normalised(comparison)
    scores = pooled.scores
    if len(scores) < 2:
        return None
    values = {name: np.concatenate(own) for name, own in scores.items()}
    labels = {run_set.name: run_set.label for run_set in comparison.run_sets}
    names = list(labels)
    everything = np.concatenate(list(values.values()))
    x = np.linspace(min(0.0, everything.min()), 1.02 * everything.max(), 150)
    lines = [
        {"label": f"{labels[name]} ({counted(own.size, 'run')})", "colour": names.index(name),
         "y": _round(performance_profile(own, x))}
        for name, own in values.items()
    ]  # fmt: skip
    return Chart("profile", {"x": _round(x), "lines": lines, "xlabel": pooled.axis, "ylabel": "Share of runs above"})


def timeline_chart(timelines: Sequence[Timeline], labels: Sequence[str]) -> Chart:
    """Who worked when, in the windows that the figure shows."""
    kinds = sorted({kind for timeline in timelines for kind in timeline.kind}, key=kind_order)
    panels = []
    for timeline, text, (start, stop) in zip(timelines, labels, windows(timelines), strict=True):
        stop = min(stop, timeline.span[1])
        busy = timeline.utilisation()
        shown = bars(timeline, start, stop, (stop - start) / BARS)
        rows = {process: row for row, process in enumerate(timeline.processes)}
        panels.append({
            "label": text, "seed": timeline.run.seed, "length": stop - start,
            "processes": ["driver" if process < 0 else str(process) for process in timeline.processes],
            "busy": _round(np.array([busy[process] for process in timeline.processes])),
            "bars": [[rows[bar.process], kinds.index(bar.kind), *_bar(bar, start)] for bar in shown],
        })  # fmt: skip
    return Chart("timeline", {
        "kinds": [[task_label(kind), kind_colour(kind, i)] for i, kind in enumerate(kinds)], "panels": panels,
    })  # fmt: skip


def _bar(bar: Bar, start: float) -> list[float]:
    return _round(np.array([bar.start - start, bar.end - bar.start, bar.busy]))


def _round(values: Array) -> list[float]:
    """Finite numbers that are short in JSON: five digits, whole ones without a point."""
    size = np.floor(np.log10(np.abs(values), where=values != 0, out=np.zeros(len(values))))
    up, down = 10.0 ** np.maximum(DIGITS - 1 - size, 0), 10.0 ** np.maximum(size - DIGITS + 1, 0)
    rounded = np.round(values * up / down) / up * down
    return [int(value) if value.is_integer() else value for value in rounded.tolist()]
