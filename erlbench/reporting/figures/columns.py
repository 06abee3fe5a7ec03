"""The figure of columns of train.csv: what an algorithm says of itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from erlbench.records.read import read_rows
from erlbench.records.schema import GenerationRow
from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.remarks import Warn
from erlbench.reporting.figures.axis import AXES, Axis, averaged, seed_curve, smoothing_note
from erlbench.reporting.figures.colours import colour_numbers
from erlbench.reporting.figures.model import ALWAYS, Panel, Plot, Series
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.statistics.curves import Points, band_kind, band_words

SeedPoints = tuple[int, Points]  # of a run


def columns_plot(comparison: Comparison, group: Group, options: ReportOptions, warn: Warn) -> Plot | None:
    """One figure with a panel for each group of columns that has a value; None, with a warning, where none has."""
    own = comparison.x if AXES[comparison.x].train_column else "timesteps"
    axis = AXES[options.x or own]
    known, left_out = axis.drawable(group.run_sets)
    run_sets = [run_set for run_set in known if run_set.runs]
    if left_out and not run_sets:
        warn(f"{group.env}: no figure of columns. {left_out}")
        return None
    names = [name for panel in options.columns for name in panel]
    found = {run_set.name: _read(run_set, names, axis, options.style.smooth, warn) for run_set in run_sets}
    there = {name for runs in found.values() for name, series in runs.items() if any(len(x) for _, (x, _) in series)}
    for name in names:
        if name not in there:
            warn(f"no train.csv of {group.env} has a value in a column '{name}'; nothing is drawn for it")
    panels = [panel for panel in options.columns if there & {*panel}]
    if not panels:
        return None
    band = band_kind([len({run.seed for run in averaged(run_set)}) for run_set in run_sets], options.style.band)
    ends = [float(x[-1]) for columns in found.values() for runs in columns.values() for _, (x, _) in runs if len(x)]
    label, unit = axis.unit(max(ends))
    shown = "; ".join(", ".join(panel) for panel in panels)
    note = smoothing_note(options.style.smooth, "rows")
    return Plot(
        kind="columns",
        title=group.env,
        panels={
            "+".join(panel): Panel(
                x=label, y=panel[0] if len(panel) == 1 else "", steps=True,
                series=_series(panel, run_sets, found, band, unit),
            )
            for panel in panels
        },
        paper=["+".join(panel) for panel in panels],
        caption=[
            f"{group.env}: columns of train.csv over {axis.words} ({shown}). Mean over the finished runs, where there "
            f"are several; band: {band_words(band)}.",
            *filter(None, [note and f"{note}.", left_out]),
        ],
    )  # fmt: skip


def _read(run_set: RunSet, names: Sequence[str], axis: Axis, smooth: int, warn: Warn) -> dict[str, list[SeedPoints]]:
    """For each column seed and (x, values) of each run, without its empty and NaN cells."""
    series: dict[str, list[SeedPoints]] = {name: [] for name in names}
    for run in averaged(run_set):
        over, scale = axis.train(run.evaluations)
        assert over is not None  # `ReportOptions` has refused the others
        rows = read_rows(run.path, GenerationRow, warn)
        if rows is None:
            continue
        rows = rows.reindex(columns=[over, *names])  # NaN where the algorithm has no such column
        for name in names:
            x, y = (rows[column].to_numpy(np.float64) for column in (over, name))
            series[name].append((run.seed, axis.series(x * scale, y, smooth)))
    return series


def _series(
    panel: Sequence[str],
    run_sets: Sequence[RunSet],
    found: dict[str, dict[str, list[SeedPoints]]],
    band: str,
    unit: float,
) -> list[Series]:
    """The mean of each column of a panel for each run set."""
    series, colours = [], colour_numbers(run_set.name for run_set in run_sets)
    for index, (run_set, name) in enumerate((run_set, name) for run_set in run_sets for name in panel):
        line = seed_curve([one for one in found[run_set.name][name] if len(one[1][0])], band)
        label = " ".join(
            part for part in (run_set.label if len(run_sets) > 1 else "", name if len(panel) > 1 else "") if part
        )
        if len(line.x):
            series.append(Series(
                label=label, group=label, x=line.x / unit, y=line.mean, beside=True,
                colour=colours[run_set.name] if len(panel) == 1 else index,
                bands={ALWAYS: (line.low, line.high)},
            ))  # fmt: skip
    return series
