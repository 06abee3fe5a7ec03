"""The figure of columns of train.csv: what an algorithm says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.records.read import Warn, read
from erlbench.records.schema import GenerationRow
from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.figures import style
from erlbench.reporting.figures.axis import AXES, Axis, Series, smoothing_note
from erlbench.reporting.figures.curves import averaged
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.statistics.curves import Curve, band_kind, band_words, curve


def draw_columns(comparison: Comparison, group: Group, options: ReportOptions, path: Path, warn: Warn) -> list[str]:
    """One figure with a row per panel. Returns its caption's sentences; none, and no file, when there is no value."""
    own = comparison.x if AXES[comparison.x].train_column else "timesteps"
    axis, panels = AXES[options.x or own], options.panels
    known, left_out = axis.drawable(group.run_sets)
    run_sets = [run_set for run_set in known if run_set.runs]
    if left_out and not run_sets:
        warn(f"{group.env}: no figure of columns. {left_out}")
        return []
    names = [name for panel in panels for name in panel]
    found = {run_set.name: _read(run_set, names, axis, options.smooth, warn) for run_set in run_sets}
    for name in names:
        if not any(len(x) for runs in found.values() for x, _ in runs[name]):
            warn(f"no train.csv of {group.env} has a value in a column '{name}'; nothing is drawn for it")
    panels = tuple(
        panel for panel in panels if any(len(x) for runs in found.values() for n in panel for x, _ in runs[n])
    )
    if not panels:
        return []
    band = band_kind([len(averaged(run_set)) for run_set in run_sets], options.band)
    largest = max(float(x[-1]) for runs in found.values() for n in names for x, _ in runs[n] if len(x))
    with style.new_figure(style.WIDTH, 0.6 + 1.7 * len(panels)) as figure:
        rows = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for axes, panel in zip(rows, panels, strict=True):
            _draw_panel(axes, panel, run_sets, found, band, axis.unit(largest)[1])
        axis.finish(rows[-1], axis.unit(largest)[0])
        figure.suptitle(group.env, fontsize=10)
        style.save(figure, path)
    shown = "; ".join(", ".join(panel) for panel in panels)
    return [
        f"{group.env}: columns of train.csv over {axis.words} ({shown}). Mean over the finished runs, where there are "
        f"several; band: {band_words(band)}.",
        *([f"{note}."] if (note := smoothing_note(options.smooth, "rows")) else []),
        *([left_out] if left_out else []),
    ]


def _read(run_set: RunSet, names: Sequence[str], axis: Axis, smooth: int, warn: Warn) -> dict[str, list[Series]]:
    """For each column the (x, values) of each run, without its empty and NaN cells."""
    series: dict[str, list[Series]] = {name: [] for name in names}
    for run in averaged(run_set):
        over, scale = axis.train(run.evaluations)
        assert over is not None  # `ReportOptions` has refused the others
        rows = read(run.path, GenerationRow, warn)
        if rows is None:
            continue
        rows = rows.reindex(columns=[over, *names])  # NaN where the algorithm has no such column
        for name in names:
            x, y = (rows[column].to_numpy(np.float64) for column in (over, name))
            series[name].append(axis.series(x * scale, y, smooth))
    return series


def _draw_panel(
    axes: Any, panel: Sequence[str], run_sets: Sequence[RunSet], found: dict[str, dict[str, list[Series]]], band: str,
    unit: float,
) -> None:  # fmt: skip
    pairs = [(run_set, name) for run_set in run_sets for name in panel]
    for index, (run_set, name) in enumerate(pairs):
        line: Curve = curve([series for series in found[run_set.name][name] if len(series[0])], band)
        if not len(line.x):
            continue
        look = {**style.line_style(index), "marker": "" if len(line.x) > 1 else "o"}
        label = " ".join(
            part for part in (run_set.label if len(run_sets) > 1 else "", name if len(panel) > 1 else "") if part
        )
        axes.fill_between(line.x / unit, line.low, line.high, color=look["color"], alpha=0.16, linewidth=0)
        axes.plot(line.x / unit, line.mean, **look, label=label)
    axes.set(ylabel=panel[0] if len(panel) == 1 else "")
    if len(pairs) > 1:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
