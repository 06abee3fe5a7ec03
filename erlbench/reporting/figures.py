"""The figures of a page: learning curves, the grid of all environments, and columns of train.csv."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from erlbench.records.axes import AXES
from erlbench.records.read import read_rows
from erlbench.records.schema import GenerationRow
from erlbench.reporting.agreement import caveats
from erlbench.reporting.cells import Warn
from erlbench.reporting.curves import (
    cell_curve,
    colour_numbers,
    curve_frame,
    mean_of_runs,
    published_curves,
    reference_curves,
    run_points,
)
from erlbench.reporting.documents import Figure
from erlbench.reporting.options import PaperStyle, ReportOptions, chosen
from erlbench.reporting.page_cells import PageCells
from erlbench.reporting.published import comparable, similar_budget
from erlbench.reporting.statistics import band_kind, band_words, time_unit

GRID = "grid"


def learning_curves(page: PageCells, group: Any, options: ReportOptions) -> Figure | None:
    """The returns of a group's evaluations. None when no run has an evaluation that can be drawn.

    Paper has the axis of the options, or else the study's own and another one. These two are training steps and
    training time where the study names none; on Atari frames stand in place of steps.
    """
    steps = "frames" if any(run.frames_of_step > 0 for cell in group.cells for run in cell.runs) else "timesteps"
    usual = (steps if page.x == "timesteps" else page.x, steps, "time")
    wanted = [options.x] if options.x else list(dict.fromkeys(usual))[:2]
    numbers, colours = colour_numbers(cell.name for cell in page.rows), options.style.colours
    levels = {  # published means that may be drawn beside our curves
        cell.name: number.value
        for cell in group.cells
        if comparable(group.env, group.env_published)
        and (number := page.find_published(cell, "mean"))
        and similar_budget(group.total_timesteps, number.steps)
    }
    band = _band([cell for cell in group.cells if any(len(run.evaluations) for run in cell.runs)], options)
    curves, panels = [], {}
    for axis in AXES:
        drawn = []
        for cell in group.cells:
            tables = [(run, run.evaluations) for run in cell.runs]
            runs = run_points(tables, AXES[axis].column, smooth=options.style.smooth)
            if runs := [pair for pair in runs if axis in wanted or pair[1][0][-1] > 0]:
                drawn.append((cell, runs))
        if not drawn:
            continue
        last = max(float(x[-1]) for _, runs in drawn for _, (x, _) in runs)
        label, unit = axis_label(axis, last)
        panels[axis] = {"x": label, "y": "Evaluation return"}
        on_axis = [
            {**cell_curve(cell, runs, band), "number": numbers[cell.name], "colour": colours.get(cell.name, ""),
             "level": levels.get(cell.name, np.nan)}
            for cell, runs in drawn
        ]  # fmt: skip
        if axis == "timesteps":
            on_axis += reference_curves([cell for cell, _ in drawn], numbers, last)
        for curve in on_axis + published_curves(page, group, axis, numbers, last):
            single = [(name, x / unit, y) for name, x, y in curve.get("runs", ())]
            curves.append({**curve, "panel": axis, "x": curve["x"] / unit, "runs": single})
    paper = [axis for axis in wanted if axis in panels]
    if not paper:
        return None
    data = curve_frame(curves)
    over = " and over ".join(AXES[axis].words for axis in paper)
    beside = dict.fromkeys(filter(None, data.note[data.panel.isin(paper)]))
    nominal = [cell.label for cell in group.cells if cell.nominal]
    notes = [
        f"{' and '.join(nominal)}: that budget counts a generation as one episode of full length." if nominal else "",
        _smoothing_note(options.style.smooth, "evaluations"),
        untimed_note(group.cells) if options.x in ("", "time") else "",
        "Runs in simulated time: their times are modelled, not measured."
        if any(run.simulated_time for cell in group.cells for run in cell.runs) else "",
        f"Dotted: mean published in {page.source}, {page.table}, on {group.env_published}." if levels else "",
        f"Not ours: {'; '.join(beside)}." if beside else "",
    ]  # fmt: skip
    return Figure(
        name=f"curves-{group.slug}",
        title=f"Learning curves, {group.environment}",
        caption=[
            f"{group.env}: return of the evaluations over {over}; budget {group.limit}. Lines: mean of the finished "
            "runs, if there are some, up to where the first of them ends; thin: single runs; band: "
            f"{band_words(band)}.",
            *filter(None, notes),
        ],
        heading=group.env,
        data=data,
        panels=panels,
        paper=paper,
        band=band,
    )


def _band(cells: Sequence[Any], options: ReportOptions) -> str:
    return band_kind([len({run.seed for run in cell.done or cell.runs}) for cell in cells], options.style.band)


def axis_label(axis: str, last: float) -> tuple[str, float]:
    """The label with its unit for values up to `last`, and by what to divide them."""
    if AXES[axis].column != "seconds":
        return AXES[axis].label, 1.0
    name, scale = time_unit(last)
    return f"{AXES[axis].label} ({name})", scale


def untimed_note(cells: Sequence[Any]) -> str:
    """A note on runs that no axis of time can show; empty without any."""
    left_out = []
    for cell in cells:
        if seeds := [str(run.seed) for run in cell.runs if len(run.evaluations) and not run.timed]:
            some = any(run.timed for run in cell.runs)
            left_out.append(cell.label + f" (seed {', '.join(seeds)})" * some)
    shared = "other cells ran on their cores; `--jobs 1` runs one at a time"
    return f"Not drawn over training time: {', '.join(left_out)}: {shared}." if left_out else ""


def _smoothing_note(window: int, what: str) -> str:
    return f"Each run's curve is the moving average over its last {window} {what}." if window > 1 else ""


def environments_grid(page: PageCells, figures: Sequence[tuple[Any, Figure]], style: PaperStyle) -> Figure | None:
    """One figure of the curves of environments, each over the axis that it has on paper first; None without any.

    Other people's runs, published numbers, single runs and training returns are left out.
    """
    names = {cell.name: style.label(cell.name, cell.label) for cell in page.entries}
    order = chosen(names, style.algorithms, str)
    shown = chosen(figures, style.environments, lambda pair: pair[0].env)
    parts, panels = [], {}
    for group, figure in shown:
        data = figure.data[(figure.data.panel == figure.paper[0]) & (figure.data["look"] == "curve")]
        data = data[data["name"].isin(order)]
        if len(data):
            labels = data["name"].map(names)
            parts.append(data.assign(panel=group.slug, label=labels, level=np.nan, runs=labels.map(lambda _: ())))
            twice = sum(other.env == group.env for other, _ in shown) > 1
            title = style.label(group.env, group.environment if twice else group.env)
            panels[group.slug] = {**figure.panels[figure.paper[0]], "title": title}
    if not parts:
        return None
    bands = " or ".join(dict.fromkeys(band_words(figure.band) for _, figure in shown))
    words = f"Evaluation returns on all environments of the page, mean over runs; band: {bands}."
    return Figure(
        name=GRID,
        title="Learning curves, all environments",
        kind=GRID,
        panels=panels,
        paper=[*panels],
        data=pd.concat(parts).sort_values("name", key=lambda column: column.map(order.index), kind="stable"),
        caption=[words, *caveats(page)],
    )


def columns_of_train(page: PageCells, group: Any, options: ReportOptions, warn: Warn) -> Figure | None:
    """A panel for each group of columns of train.csv that has a value; None, with a warning, where none has."""
    axis = options.x or (page.x if AXES[page.x].train_column else "timesteps")
    over, left_out = AXES[axis].train_column, untimed_note(group.cells) if axis == "time" else ""
    tables = {
        cell.name: [
            (run, rows.assign(**{name: np.nan for name in sum(options.columns, ()) if name not in rows}))
            for run in cell.done or cell.runs
            if (run.timed or axis != "time") and (rows := read_rows(run.path, GenerationRow, warn)) is not None
        ]
        for cell in group.cells
    }
    band, numbers, curves, there = _band(group.cells, options), colour_numbers(tables), [], set[str]()
    for columns in options.columns:
        single = len(columns) == 1
        for place, (cell, column) in enumerate(itertools.product(group.cells, columns)):
            if runs := run_points(tables[cell.name], over, column, options.style.smooth):
                there.add(column)
                words = cell.label if len(group.cells) > 1 else "", "" if single else column
                look = {"label": " ".join(filter(None, words)), "number": numbers[cell.name] if single else place}
                curves.append({**mean_of_runs(runs, band), **look, "panel": "+".join(columns), "runs": ()})
    for name in (name for columns in options.columns for name in columns if name not in there):
        message = f"no train.csv of {group.env} has a value in a column '{name}'; nothing is drawn for it"
        warn(f"{message}. {left_out}" if left_out else message)
    if not curves:
        return None
    data = curve_frame(curves)
    label, unit = axis_label(axis, max(float(x[-1]) for x in data.x))
    panels = {name: {"x": label, "y": "" if "+" in name else name} for name in data.panel}
    caption = (
        f"{group.env}: columns of train.csv over {AXES[axis].words} ({'; '.join(panels).replace('+', ', ')}). Mean "
        f"over the finished runs, where there are several; band: {band_words(band)}."
    )
    return Figure(
        name=f"columns-{group.slug}",
        title=f"Columns of train.csv, {group.environment}",
        kind="columns",
        heading=group.env,
        data=data.assign(x=[x / unit for x in data.x]),
        panels=panels,
        paper=[*panels],
        band=band,
        caption=[caption, *filter(None, [_smoothing_note(options.style.smooth, "rows"), left_out])],
    )
