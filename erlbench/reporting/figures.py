"""The figures of a page: learning curves, the grid of all environments, and columns of train.csv.

The curves of a figure are one frame: a row for each mean with its points, its band and the runs that it is over.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from erlbench.errors import nearest
from erlbench.records.axes import AXES
from erlbench.records.read import read_rows
from erlbench.records.schema import GenerationRow
from erlbench.reporting.agreement import list_caveats
from erlbench.reporting.cells import Warn, sample_words
from erlbench.reporting.documents import Figure
from erlbench.reporting.drawing import GREY, PALETTE, STYLES
from erlbench.reporting.options import PaperStyle, ReportOptions, select_items
from erlbench.reporting.page_cells import PageCells
from erlbench.reporting.published import (
    base_name,
    comparable,
    find_references,
    find_thresholds,
    points_over_generations,
)
from erlbench.reporting.statistics import Points, band_kind, band_words, group_items, mean_curve, points, time_unit
from erlbench.words import counted

# Columns of the frame: `label` in legends; `group`, which legends show and hide at once; `look` of `drawing.LOOKS`;
# `number`, from which colour, dash and marker follow, or `GREY`; `colour` that a style file names; `symbol`: a marker
# at each point; `averaged` seeds; `level`: a published mean; `note`: whose they are; `x`, `y` and the edges of the band
# (points,); `runs`: name, x and y of each single run.
CURVE = {"panel": "", "label": "", "group": "", "name": "", "look": "curve", "number": 0, "colour": "", "symbol": "",
         "averaged": 1, "level": np.nan, "note": "", "low": np.empty(0), "high": np.empty(0), "runs": ()}  # fmt: skip
GRID = "grid"
NUMBERED, SYMBOLS = STYLES["numbered"], STYLES["published"]
Curve = dict[str, Any]
RunPoints = list[tuple[Any, Points]]


def curve_frame(curves: Iterable[Curve]) -> pd.DataFrame:
    """A row for each curve; absent values are as in `CURVE`."""
    return pd.DataFrame([CURVE | curve for curve in curves])


def colour_numbers(names: Iterable[str]) -> dict[str, int]:
    """A number of the palette for each name: its usual one, else the next that is free, else one of another round.

    Names that are not listed also have a usual number, and give way to listed ones.
    """
    wanted = {name: NUMBERED.index(name) if name in NUMBERED else zlib.crc32(name.encode()) for name in names}
    colours, numbers = len(PALETTE), dict[str, int]()
    for name in sorted(wanted, key=lambda name: (wanted[name] if name in NUMBERED else len(NUMBERED), name)):
        first = len(numbers) // colours * colours
        places = (first + (wanted[name] + turn) % colours for turn in range(colours))
        numbers[name] = next(number for number in places if number not in numbers.values())
    return {name: numbers[name] for name in wanted}


def run_points(tables: Iterable[tuple[Any, Any]], x: str, y: str = "return_mean", smooth: int = 1) -> RunPoints:
    """Runs with their points, of those that have some; `tables` are runs with what has the columns `x` and `y`."""
    columns = [(run, *(np.asarray(rows[name], np.float64) for name in (x, y))) for run, rows in tables]
    return [(run, curve) for run, xs, ys in columns if len((curve := points(xs, ys, smooth))[0])]


def mean_of_runs(runs: RunPoints, band: str) -> Curve:
    """The mean over finished runs, or without any over all, with a band where it is over several, and single runs."""
    over = [pair for pair in runs if pair[0].done] or runs
    curve, single = mean_curve([(run.seed, xy) for run, xy in over], band == "interval"), len(over) == 1
    names = {run.path: f"seed {run.seed}" + ("" if run.status == "done" else f" ({run.status})") for run, _ in runs}
    return {
        **({name: curve[name] for name in "xy"} if single else curve),
        "averaged": len({run.seed for run, _ in over}),
        "runs": [(names[run.path], *xy) for run, xy in runs if not (single and run is over[0][0])],
    }


def cell_curve(cell: Any, runs: RunPoints, band: str) -> Curve:
    """The curve of a cell by the evaluations of its runs."""
    seeds, done = ({run.seed for run, _ in chosen} for chosen in (runs, [pair for pair in runs if pair[0].done]))
    words = sample_words(len(seeds), len(runs), cell.planned)
    words += f", {len(seeds - done)} unfinished" if seeds - done else ""
    return {**mean_of_runs(runs, band), "label": f"{cell.label} ({words})", "group": cell.label, "name": cell.name}


def reference_curves(cells: Sequence[Any], numbers: Mapping[str, int], last: float) -> list[Curve]:
    """Mean and band of each algorithm's first comparable source, up to the end of our longest run."""
    curves = {}
    for cell in cells:
        reference = next(iter(find_references(cell)), None)
        if reference is None or id(reference) in curves:
            continue
        runs = [(steps[steps <= last], returns[steps <= last]) for steps, returns in reference.runs]
        if max(len(steps) for steps, _ in runs) < 2:
            continue
        kind = band_kind([len(runs)])
        label = f"{reference.algorithm}, {reference.source} ({counted(len(runs), 'run')})"
        curves[id(reference)] = {
            **mean_curve([*enumerate(runs)], kind == "interval"),
            "label": label,
            "group": label,
            "number": numbers[cell.name],
            "look": "reference",
            "averaged": len(runs),
            "note": f"{label}, {reference.returns}, on {reference.env}, {band_words(kind)}",
        }
    return [*curves.values()]


def published_curves(page: PageCells, group: Any, axis: str, numbers: Mapping[str, int], last: float) -> list[Curve]:
    """The points of the page's source, up to the end of our longest run.

    Over steps: at which each of its algorithms reached scores. Over generations: the curves of our cells, in their
    colours. The study names their environment, with the settings of its profile.
    """
    env, sets = group.env.partition(" (")[0], list[tuple[Any, ...]]()
    if axis == "timesteps":
        thresholds = [
            threshold for threshold in find_thresholds(base_name(group.env)) if threshold.score.source == page.source
        ]
        reached = group_items(
            (number.algorithm, (number.value, threshold.score.value))
            for threshold in thresholds
            for number in threshold.steps
        )
        sets = [(*curve, GREY, symbol) for curve, symbol in zip(reached.items(), SYMBOLS, strict=False)]
    elif axis == "generation" and comparable(env, group.env_published):
        for cell in (cell for cell in group.cells if cell.runs):
            coordinates = points_over_generations(page.source, page.table, group.env_published, cell.published)
            sets.append((cell.label, coordinates, numbers[cell.name], "square-open"))
    return [
        {"label": f"{name}, published", "group": name, "look": "published", "x": shown[:, 0], "y": shown[:, 1],
         "number": number, "symbol": symbol, "note": f"{name} (open {SYMBOLS[symbol]}), {page.source}"}
        for name, coordinates, number, symbol in sets
        if len(shown := np.array([point for point in coordinates if point[0] <= last], np.float64))
    ]  # fmt: skip


def learning_curves(page: PageCells, group: Any, options: ReportOptions) -> Figure | None:
    """The returns of a group's evaluations. None when no run has an evaluation that can be drawn.

    Paper has the axis of the options, or else the study's axis and another one. These two are training steps and
    training time where the study names none; on Atari frames replace steps.
    """
    steps = "frames" if any(run.frames_of_step > 0 for cell in group.cells for run in cell.runs) else "timesteps"
    usual = (steps if page.x == "timesteps" else page.x, steps, "time")
    wanted = [options.x] if options.x else list(dict.fromkeys(usual))[:2]
    numbers, colours = colour_numbers(cell.name for cell in page.rows), options.style.colours
    levels = _published_levels(page, group)
    band = _choose_band([cell for cell in group.cells if any(len(run.evaluations) for run in cell.runs)], options)
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
            cell_curve(cell, runs, band)
            | {
                "number": numbers[cell.name],
                "colour": colours.get(cell.name, ""),
                "level": levels.get(cell.name, np.nan),
            }
            for cell, runs in drawn
        ]
        if axis == "timesteps":
            on_axis += reference_curves([cell for cell, _ in drawn], numbers, last)
        for curve in on_axis + published_curves(page, group, axis, numbers, last):
            single = [(name, x / unit, y) for name, x, y in curve.get("runs", ())]
            curves.append({**curve, "panel": axis, "x": curve["x"] / unit, "runs": single})
    paper = [axis for axis in wanted if axis in panels]
    if not paper:
        return None
    data = curve_frame(curves)
    notes = [*_notes(page, group, options, bool(levels)), *_list_sources(data[data.panel.isin(paper)])]
    over = " and over ".join(AXES[axis].words for axis in paper)
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


def _published_levels(page: PageCells, group: Any) -> dict[str, float]:
    """The published means that may be drawn with our curves, by the names of their cells."""
    return {
        cell.name: number.value
        for cell in group.cells
        if comparable(group.env, group.env_published)
        and (number := page.find_published(cell, "mean"))
        and number.steps
        and 0.9 * number.steps <= group.total_timesteps <= 1.1 * number.steps
    }


def _notes(page: PageCells, group: Any, options: ReportOptions, dotted: bool) -> Iterator[str]:
    """Further sentences for the caption of a group's curves, some of them empty."""
    if nominal := [cell.label for cell in group.cells if cell.nominal]:
        yield f"{' and '.join(nominal)}: that budget counts a generation as one episode of full length."
    yield _smoothing_note(options.style.smooth, "evaluations")
    yield untimed_note(group.cells) if options.x in ("", "time") else ""
    if any(run.simulated_time for cell in group.cells for run in cell.runs):
        yield "Some runs are in simulated time: their times are modelled, not measured."
    if dotted:
        yield f"Dotted: mean published in {page.source}, {page.table}, on {group.env_published}."


def _list_sources(data: pd.DataFrame) -> Iterator[str]:
    """The sources of the curves that are not ours."""
    if notes := dict.fromkeys(filter(None, data.note)):
        yield f"Not ours: {'; '.join(notes)}."


def _choose_band(cells: Sequence[Any], options: ReportOptions) -> str:
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
    order = select_items(names, style.algorithms, str)
    shown = select_items(figures, style.environments, lambda pair: pair[0].env)
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
        caption=[words, *list_caveats(page, style)],
    )


def columns_of_train(page: PageCells, group: Any, options: ReportOptions, warn: Warn) -> Figure | None:
    """A panel for each group of columns of train.csv that has a value; None, with a warning, where none has."""
    axis = options.x or (page.x if AXES[page.x].train_column else "timesteps")
    over, left_out = AXES[axis].train_column, untimed_note(group.cells) if axis == "time" else ""
    names = [*dict.fromkeys(sum(options.columns, ()))]
    tables = {
        cell.name: [
            (
                run,
                rows.assign(seconds=rows.train_time_s - rows.paused_s.fillna(0.0)).reindex(
                    columns=[*dict.fromkeys((*rows, "seconds", *names))]
                ),
            )
            for run in cell.done or cell.runs
            if (run.timed or axis != "time") and (rows := read_rows(run.path, GenerationRow, warn)) is not None
        ]
        for cell in group.cells
    }
    band, numbers, curves, drawn_columns = _choose_band(group.cells, options), colour_numbers(tables), [], set[str]()
    for columns in options.columns:
        single = len(columns) == 1
        for place, (cell, column) in enumerate(itertools.product(group.cells, columns)):
            if runs := run_points(tables[cell.name], over, column, options.style.smooth):
                drawn_columns.add(column)
                words = cell.label if len(group.cells) > 1 else "", "" if single else column
                look = {"label": " ".join(filter(None, words)), "number": numbers[cell.name] if single else place}
                curves.append({**mean_of_runs(runs, band), **look, "panel": "+".join(columns), "runs": ()})
    missing = [name for name in names if name not in drawn_columns]
    valid = sorted({str(column) for runs in tables.values() for _, rows in runs for column in rows} - {*missing})
    for name in missing:
        message = f"no train.csv of {group.env} has a value in a column '{name}'; nothing is drawn for it"
        message += nearest(name, valid)
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
