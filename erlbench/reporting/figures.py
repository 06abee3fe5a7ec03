"""The figures of a page: learning curves, the grid of all environments, and columns of train.csv."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from erlbench.records.axes import AXES
from erlbench.records.read import read_rows
from erlbench.records.schema import GenerationRow
from erlbench.reporting.agreement import caveats
from erlbench.reporting.cells import Warn
from erlbench.reporting.curves import (
    SYMBOLS,
    RunPoints,
    cell_curve,
    colour_numbers,
    curve_frame,
    mean_of_runs,
    published_curves,
    reference_curves,
    run_points,
)
from erlbench.reporting.documents import Figure
from erlbench.reporting.drawing import GREY
from erlbench.reporting.options import PaperStyle, ReportOptions, chosen
from erlbench.reporting.page_cells import PageCells
from erlbench.reporting.published import comparable, similar_budget
from erlbench.reporting.score import CURVE
from erlbench.reporting.statistics import MOST_POINTS, Points, band_kind, band_words, time_unit

GRID = "grid"
FEWER_POINTS = 60  # of a mean that only the page shows


def learning_curves(page: PageCells, group: Any, options: ReportOptions) -> Figure | None:
    """The returns of a group's evaluations. None when no run has an evaluation that can be drawn.

    Paper has the axis of the options, or else the study's own and another one. These two are training steps and
    training time where the study names none; on Atari frames stand in place of steps.
    """
    steps = "frames" if any(run.frames_of_step > 0 for cell in group.cells for run in cell.runs) else "timesteps"
    usual = (steps if page.x == "timesteps" else page.x, steps, "time")
    wanted = [options.x] if options.x else list(dict.fromkeys(usual))[:2]
    numbers, levels = colour_numbers(cell.name for cell in page.rows), _published_levels(page, group)
    curves, panels, cells = [], {}, dict[str, list[Any]]()
    for axis in AXES:
        drawn: list[tuple[Any, RunPoints]] = []
        for cell in group.cells:
            tables = [(run, run.evaluations) for run in cell.runs]
            runs = run_points(tables, AXES[axis].column, smooth=options.style.smooth)
            if runs := [pair for pair in runs if axis in wanted or pair[1][0][-1] > 0]:
                drawn.append((cell, runs))
        if not drawn:
            continue
        label, unit = axis_label(axis, (points for _, runs in drawn for _, points in runs))
        panels[axis], cells[axis] = {"x": label, "y": "Evaluation return"}, [cell for cell, _ in drawn]
        most = MOST_POINTS if axis in wanted else FEWER_POINTS
        on_axis = [
            {**cell_curve(cell, runs, most), "number": numbers[cell.name], "level": levels.get(cell.name, np.nan)}
            for cell, runs in drawn
        ]
        if axis == "timesteps":
            on_axis += reference_curves(cells[axis], numbers)
        for curve in on_axis + published_curves(page, group, axis, numbers):
            single = [(name, x / unit, y) for name, x, y in curve.get("runs", ())]
            colour = options.style.colours.get(curve.get("name", ""), "")
            curves.append({**curve, "panel": axis, "colour": colour, "x": curve["x"] / unit, "runs": single})
    paper = [axis for axis in wanted if axis in panels]
    if not paper:
        return None
    figure = Figure(
        name=f"curves-{group.slug}",
        title=f"Learning curves, {group.environment}",
        caption=(),
        heading=group.env,
        data=curve_frame(curves),
        panels=panels,
        paper=paper,
        band=_band(cells[paper[0]], options),
    )
    return replace(figure, caption=_caption(page, group, cells[paper[0]], figure, options))


def _averaged(cell: Any) -> tuple[Any, ...]:
    """The runs that the mean is over."""
    return cell.done or cell.runs


def _band(cells: Sequence[Any], options: ReportOptions) -> str:
    return band_kind([len({run.seed for run in _averaged(cell)}) for cell in cells], options.style.band)


def _published_levels(page: PageCells, group: Any) -> dict[str, float]:
    """The published means that may be drawn beside our curves, by the names of their cells."""
    return {
        cell.name: number.value
        for cell in group.cells
        if comparable(group.env, group.env_published)
        and (number := page.find_published(cell, "mean"))
        and similar_budget(group.total_timesteps, number.steps)
    }


def axis_label(axis: str, curves: Iterable[Points]) -> tuple[str, float]:
    """The label with its unit for all points of some curves, and by what to divide values."""
    if AXES[axis].column != "seconds":
        return AXES[axis].label, 1.0
    name, scale = time_unit(max(float(x[-1]) for x, _ in curves))
    return f"{AXES[axis].label} ({name})", scale


def untimed_note(cells: Sequence[Any]) -> str:
    """A note on runs that no axis of time can show; empty without any."""
    left_out = []
    for cell in cells:
        if seeds := [str(run.seed) for run in cell.runs if len(run.evaluations) and not run.timed]:
            some = any(run.timed for run in cell.runs)
            left_out.append(cell.label + f" (seed {', '.join(seeds)})" * some)
    if not left_out:
        return ""
    return (
        f"Not drawn over training time: {', '.join(left_out)}. Other cells of the command ran on the cores of these "
        "runs, so that their minutes do not count; `--jobs 1` runs one cell at a time."
    )


def _caption(page: PageCells, group: Any, cells: Sequence[Any], figure: Figure, options: ReportOptions) -> list[str]:
    """What the lines are, then notes on scores, times, and other people's numbers; `cells` are those on paper."""
    shown = figure.data[figure.data.panel.isin(figure.paper)]
    references, points = (shown[shown["look"] == look] for look in ("reference", "published"))
    runs = [run for cell in cells for run in cell.runs]
    timed = runs if "time" in figure.paper else []
    dotted = shown.level.notna().any()
    which = "finished runs" if any(cell.done for cell in cells) else "runs"
    seeds = ", a seed by the mean of its runs" if any(len(cell.done) > len(cell.seeds) for cell in cells) else ""
    sentences = [
        f"{group.env}: return of the evaluations over "
        f"{' and over '.join(AXES[axis].words for axis in figure.paper)}; budget {group.limit}.",
        f"Lines: mean of the {which}{seeds}, up to where the first of them ends; thin: single runs; band: "
        f"{band_words(figure.band)}."
        if max(len(_averaged(cell)) for cell in cells) > 1
        else "Lines: single runs, no band.",
        "Dotted: published mean." if dotted else "",
    ]
    nominal = [cell.label for cell in cells if cell.nominal]
    kind = "budget" if comparable(group.env, group.env_published) else f"environment ({group.env_published})"
    names = [f"{name} (open {SYMBOLS[symbol]})" for name, symbol in zip(points.group, points.symbol)]
    notes = [
        *[f"The scores of the tables are means of these curves {cell.stretch}." for cell in cells
          if cell.metric == CURVE and cell.stretch][:1],
        f"{' and '.join(nominal)}: that budget counts a generation as one episode of full length." if nominal else "",
        _smoothing_note(options.style.smooth, "evaluations"),
        "Some runs are in simulated time: their times are modelled, not measured."
        if any(run.simulated_time for run in timed) else "",
        untimed_note(group.cells) if options.x in ("", "time") else "",
        f"Dotted: mean published in {page.source}, {page.table}, on {group.env_published}." if dotted else
        f"Published final values are left out: they belong to another {kind}."
        if any(page.find_published(cell, "mean") for cell in cells) else "",
        f"Dash-dotted and hatched: reference runs of others, mean and band: {'; '.join(references.note)}."
        if len(references) else "",
        "" if not names else f"Grey: points of the curves of {' and '.join(names)} in {points.note.iloc[0]}."
        if points.number.iloc[0] == GREY else f"Open squares: points of the published curves, {points.note.iloc[0]}.",
    ]  # fmt: skip
    return [" ".join(filter(None, sentences)), *filter(None, notes)]


def _smoothing_note(window: int, what: str) -> str:
    average = f"the moving average over its last {window} {what} (at the beginning over those there are)"
    return f"Each run's curve is {average}." if window > 1 else ""


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
    bands = {figure.band for _, figure in shown}
    band = bands.pop() if len(bands) == 1 else "range"
    words = f"Evaluation returns on all environments of the page, mean over runs; band: {band_words(band)}."
    return Figure(
        name=GRID,
        title="Learning curves, all environments",
        kind=GRID,
        panels=panels,
        paper=[*panels],
        band=band,
        data=pd.concat(parts).sort_values("name", key=lambda column: column.map(order.index), kind="stable"),
        caption=[words, *caveats(page)],
    )


def columns_of_train(page: PageCells, group: Any, options: ReportOptions, warn: Warn) -> Figure | None:
    """A panel for each group of columns of train.csv that has a value; None, with a warning, where none has."""
    axis = options.x or (page.x if AXES[page.x].train_column else "timesteps")
    over, left_out = AXES[axis].train_column, untimed_note(group.cells) if axis == "time" else ""
    tables = {
        cell.name: [
            (run, rows)
            for run in _averaged(cell)
            if (run.timed or axis != "time") and (rows := read_rows(run.path, GenerationRow, warn)) is not None
        ]
        for cell in group.cells
    }
    drawn: list[tuple[tuple[str, ...], str, Any, int, RunPoints]] = []
    for columns in options.columns:
        for place, (cell, column) in enumerate(itertools.product(group.cells, columns)):
            columns_of = [(run, rows.reindex(columns=[over, column])) for run, rows in tables[cell.name]]
            if runs := run_points(columns_of, over, column, options.style.smooth):
                drawn.append((columns, column, cell, place, runs))
    there = {column for _, column, *_ in drawn}
    for name in (name for columns in options.columns for name in columns if name not in there):
        message = f"no train.csv of {group.env} has a value in a column '{name}'; nothing is drawn for it"
        warn(f"{message}. {left_out}" if left_out else message)
    if not drawn:
        return None
    label, unit = axis_label(axis, (points for *_, runs in drawn for _, points in runs))
    band, numbers, curves, panels = _band(group.cells, options), colour_numbers(tables), [], {}
    for columns, column, cell, place, runs in drawn:
        panel, single = "+".join(columns), len(columns) == 1
        panels[panel] = {"x": label, "y": column if single else ""}
        words = cell.label if len(group.cells) > 1 else "", "" if single else column
        curve = mean_of_runs(runs, band == "interval")
        curves.append(
            {
                **curve,
                "panel": panel,
                "label": " ".join(filter(None, words)),
                "x": curve["x"] / unit,
                "runs": (),
                "number": numbers[cell.name] if single else place,
            }
        )
    caption = (
        f"{group.env}: columns of train.csv over {AXES[axis].words} ({'; '.join(panels).replace('+', ', ')}). Mean "
        f"over the finished runs, where there are several; band: {band_words(band)}."
    )
    return Figure(
        name=f"columns-{group.slug}",
        title=f"Columns of train.csv, {group.environment}",
        kind="columns",
        heading=group.env,
        data=curve_frame(curves),
        panels=panels,
        paper=[*panels],
        band=band,
        caption=[caption, *filter(None, [_smoothing_note(options.style.smooth, "rows"), left_out])],
    )
