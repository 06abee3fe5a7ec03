"""The figures of a page: learning curves, the grid of all environments, columns of train.csv, performance profiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from erlbench.records.axes import AXES
from erlbench.records.config import TRAINING
from erlbench.records.training import WINDOW
from erlbench.reporting.curves import (
    SYMBOLS,
    averaged,
    colour_numbers,
    column_points,
    curve_frame,
    evaluation_curves,
    evaluation_points,
    mean_of_runs,
    published_curves,
    published_levels,
    reference_curves,
    training_curves,
    training_points,
    untimed_note,
)
from erlbench.reporting.data.caveats import caveats
from erlbench.reporting.data.comparability import comparable
from erlbench.reporting.data.page_cells import PageCells, find_cell
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.remarks import Warn
from erlbench.reporting.data.score import CURVE
from erlbench.reporting.data.seeds import sample_words
from erlbench.reporting.documents.model import Figure
from erlbench.reporting.drawing import GREY
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.paper_style import PaperStyle, chosen
from erlbench.reporting.statistics.curves import MOST_POINTS, Points, band_kind, band_words, time_unit
from erlbench.reporting.statistics.estimates import performance_profile
from erlbench.reporting.verdict.pairs import groups_with_baseline
from erlbench.reporting.verdict.pooled import AXIS, WORDS, normalise, pooled_scores

GRID = "grid"
FEWER_POINTS = 60  # of a mean that only the page shows
THRESHOLDS = 400  # of a profile


def learning_curves(comparison: PageCells, group: Any, published: Published, options: ReportOptions) -> Figure | None:
    """The returns of a group's evaluations. None when no run has an evaluation that can be drawn.

    Paper has the axis of the options, or else the study's own and another one. These two are training steps and
    training time where the study names none.
    """
    wanted = [options.x] if options.x else list(dict.fromkeys((comparison.x, "timesteps", "time")))[:2]
    numbers = colour_numbers(run_set.name for run_set in comparison.rows)
    levels, in_training = published_levels(comparison, group, published), training_points(group.cells)
    curves, panels, run_sets = [], {}, {}
    for axis in AXES:
        drawn, training = (
            evaluation_points(axis, group, options.style.smooth, axis in wanted),
            in_training.get(axis, []),
        )
        if not (drawn or training):
            continue
        axis_curves = evaluation_curves(drawn, numbers, levels, MOST_POINTS if axis in wanted else FEWER_POINTS)
        if axis == "timesteps":
            axis_curves += reference_curves([run_set for run_set, _ in drawn], numbers, published)
        axis_curves += published_curves(comparison, group, axis, numbers, published)
        axis_curves += training_curves(training, numbers)
        label, unit = axis_label(axis, (xy for _, runs in (*drawn, *training) for _, xy in runs))
        for curve in axis_curves:
            runs = [(name, x / unit, y) for name, x, y in curve.get("runs", ())]
            colour = options.style.colours.get(curve.get("name", ""), "")
            curve |= {"panel": axis, "colour": colour, "x": curve["x"] / unit, "runs": runs}
        curves += axis_curves
        panels[axis] = {"x": label, "y": "Return" if training else "Evaluation return"}
        run_sets[axis] = [run_set for run_set, _ in drawn or training]
    paper = [axis for axis in wanted if axis in panels]
    if not paper:
        return None
    first = run_sets[paper[0]]
    figure = Figure(
        name=f"curves-{group.slug}",
        title=f"Learning curves, {group.environment}",
        caption=(),
        heading=group.env,
        data=curve_frame(curves),
        panels=panels,
        paper=paper,
        band=_band(first, options),
    )
    return replace(figure, caption=_caption(comparison, group, first, figure, published, options))


def _band(run_sets: Sequence[Any], options: ReportOptions) -> str:
    return band_kind([len({run.seed for run in averaged(run_set)}) for run_set in run_sets], options.style.band)


def axis_label(axis: str, curves: Iterable[Points]) -> tuple[str, float]:
    """The label with its unit for all points of some curves, and by what to divide values."""
    if AXES[axis].column != "seconds":
        return AXES[axis].label, 1.0
    name, scale = time_unit(max(float(x[-1]) for x, _ in curves))
    return f"{AXES[axis].label} ({name})", scale


def _caption(
    comparison: PageCells,
    group: Any,
    run_sets: Sequence[Any],
    figure: Figure,
    published: Published,
    options: ReportOptions,
) -> list[str]:
    """What the lines are, then notes on scores, times, and other people's numbers; `run_sets` are those on paper."""
    shown = figure.data[figure.data.panel.isin(figure.paper)]
    runs = [run for run_set in run_sets for run in run_set.runs]
    timed = runs if "time" in figure.paper else []
    dotted, training = shown.level.notna().any(), shown["look"] == "training"
    which = "finished runs" if any(run_set.done for run_set in run_sets) else "runs"
    seeds = ", a seed by the mean of its runs" if any(len(one.done) > len(one.seeds) for one in run_sets) else ""
    sentences = [
        f"{group.env}: {'training return' if training.all() else 'return of the evaluations'} over "
        f"{' and over '.join(AXES[axis].words for axis in figure.paper)}; budget {group.limit}.",
        f"Lines: mean of the {which}{seeds}, up to where the first of them ends; thin: single runs; band: "
        f"{band_words(figure.band)}."
        if max(len(averaged(run_set)) for run_set in run_sets) > 1 else "Lines: single runs, no band.",
        "Dotted: published mean." if dotted else "",
        f"Dashed, without markers: runs that are not finished, mean return of their last {WINDOW} training episodes."
        if training.any() else "",
    ]  # fmt: skip
    stretch = next((one.stretch for one in run_sets if one.metric == CURVE), None)
    nominal = [run_set.label for run_set in run_sets if run_set.nominal]
    kind = "budget" if comparable(group.env, group.env_published) else f"environment ({group.env_published})"
    where = comparison.source, comparison.table, group.env_published
    imported = dict.fromkeys(
        f"{run_set.label} ({run.imported.origin}"
        f"{'; running means of training returns' if run.imported.returns == TRAINING else ''})"
        for run_set in run_sets
        for run in run_set.runs
        if run.imported
    )
    references, points = (shown[shown["look"] == look] for look in ("reference", "published"))
    whose = [f"{name} (open {SYMBOLS[symbol]})" for name, symbol in zip(points.group, points.symbol, strict=True)]
    notes = [
        f"The scores of the tables are means of these curves {stretch}." if stretch else "",
        f"{' and '.join(nominal)}: that budget counts a generation as one episode of full length." if nominal else "",
        _smoothing_note(options.style.smooth, "evaluations"),
        "Some runs are in simulated time: their times are modelled, not measured."
        if any(run.simulated_time for run in timed) else "",
        "The runs are from several machines: their times compare no algorithms."
        if len({run.hardware for run in timed if run.cpu}) > 1 else "",
        untimed_note(group.cells) if options.x in ("", "time") else "",
        f"Dotted: mean published in {comparison.source}, {comparison.table}, on {group.env_published}." if dotted else
        f"Published final values are left out: they belong to another {kind}."
        if any(published.find(*where, run_set.published, "mean") for run_set in run_sets) else "",
        f"Imported: {', '.join(imported)}." if imported else "",
        f"Dash-dotted and hatched: reference runs of others, mean and band: {'; '.join(references.note)}."
        if len(references) else "",
        "" if not whose else f"Grey: points of the curves of {' and '.join(whose)} in {points.note.iloc[0]}."
        if points.number.iloc[0] == GREY else f"Open squares: points of the published curves, {points.note.iloc[0]}.",
    ]  # fmt: skip
    return [" ".join(filter(None, sentences)), *filter(None, notes)]


def _smoothing_note(window: int, what: str) -> str:
    average = f"the moving average over its last {window} {what} (at the beginning over those there are)"
    return f"Each run's curve is {average}." if window > 1 else ""


def environments_grid(comparison: PageCells, figures: Sequence[tuple[Any, Figure]], style: PaperStyle) -> Figure | None:
    """One figure of the curves of environments, each over the axis that it has on paper first; None without any.

    Other people's runs, published numbers, single runs and training returns are left out.
    """
    names = {one.name: style.label(one.name, one.label) for one in comparison.rows if one.exists}
    order = chosen(names, style.algorithms, str)
    shown = chosen(figures, style.environments, lambda pair: pair[0].env)
    parts, panels = [], {}
    for group, figure in shown:
        data = figure.data[(figure.data.panel == figure.paper[0]) & (figure.data["look"] == "curve")]
        data = data[data["name"].isin(order)]
        if len(data):
            panel = group.slug
            labels = data["name"].map(names)
            parts.append(data.assign(panel=panel, label=labels, level=np.nan, runs=labels.map(lambda _: ())))
            twice = sum(other.env == group.env for other, _ in shown) > 1
            title = style.label(group.env, group.environment if twice else group.env)
            panels[panel] = {**figure.panels[figure.paper[0]], "title": title}
    if not parts:
        return None
    data = pd.concat(parts).sort_values("name", key=lambda column: column.map(order.index), kind="stable")
    bands = {figure.band for _, figure in shown}
    band = bands.pop() if len(bands) == 1 else "range"
    caption = [
        f"Evaluation returns on all environments of the page, mean over runs; band: {band_words(band)}.",
        *caveats(comparison),
    ]
    return Figure(
        name=GRID,
        title="Learning curves, all environments",
        kind=GRID,
        data=data,
        panels=panels,
        paper=[*panels],
        band=band,
        caption=caption,
    )


def columns_of_train(comparison: PageCells, group: Any, options: ReportOptions, warn: Warn) -> Figure | None:
    """A panel for each group of columns of train.csv that has a value; None, with a warning, where none has."""
    axis = options.x or (comparison.x if AXES[comparison.x].train_column else "timesteps")
    left_out = untimed_note(group.cells) if axis == "time" else ""
    run_sets = [one for one in group.cells if any(run.timed or axis != "time" for run in one.runs)]
    if left_out and not run_sets:
        warn(f"{group.env}: no figure of columns. {left_out}")
        return None
    names = [name for panel in options.columns for name in panel]
    points_by_name = {one.name: column_points(one, names, axis, options.style.smooth, warn) for one in run_sets}
    for name in names:
        if not any(name in columns for columns in points_by_name.values()):
            warn(f"no train.csv of {group.env} has a value in a column '{name}'; nothing is drawn for it")
    every = [xy for columns in points_by_name.values() for runs in columns.values() for _, xy in runs]
    if not every:
        return None
    band, numbers, (label, unit) = _band(run_sets, options), colour_numbers(points_by_name), axis_label(axis, every)
    curves, panels = [], {}
    for columns in options.columns:
        cells = [(run_set, column) for run_set in run_sets for column in columns]
        for place, (run_set, column) in enumerate(cells):
            if runs := points_by_name[run_set.name].get(column):
                panel, one = "+".join(columns), len(columns) == 1
                panels[panel] = {"x": label, "y": column if one else ""}
                words = run_set.label if len(run_sets) > 1 else "", "" if one else column
                curve = mean_of_runs(runs, runs, band == "interval")
                curves.append(
                    {
                        **curve,
                        "panel": panel,
                        "label": " ".join(filter(None, words)),
                        "x": curve["x"] / unit,
                        "runs": (),
                        "number": numbers[run_set.name] if one else place,
                    }
                )
    caption = [
        f"{group.env}: columns of train.csv over {AXES[axis].words} ({'; '.join(panels).replace('+', ', ')}). Mean "
        f"over the finished runs, where there are several; band: {band_words(band)}.",
        *filter(None, [_smoothing_note(options.style.smooth, "rows"), left_out]),
    ]
    return Figure(
        name=f"columns-{group.slug}",
        title=f"Columns of train.csv, {group.environment}",
        kind="columns",
        heading=group.env,
        data=curve_frame(curves),
        panels=panels,
        paper=[*panels],
        band=band,
        caption=caption,
    )


def performance_profiles(comparison: PageCells, name: str = "profile") -> Figure | None:
    """Run-score distributions over all environments (Agarwal et al. 2021).

    None without scores that can be pooled (`pooled_scores`) or with single runs only.
    """
    scores = normalise(*pooled_scores(comparison))
    if len(scores) < 2 or max(len(values) for own in scores.values() for values in own) < 2:
        return None
    values = {entry: np.concatenate(own) for entry, own in scores.items()}
    labels, runs = {}, Counter[str]()
    for run_set in (one for group in groups_with_baseline(comparison) for one in group.cells if one.exists):
        labels[run_set.name] = run_set.label
        runs[run_set.name] += sum(map(len, run_set.run_scores))
    numbers, every = colour_numbers(labels), np.concatenate(list(values.values()))
    x = np.linspace(min(0.0, every.min()), 1.02 * every.max(), THRESHOLDS)
    curves = [
        {"label": f"{labels[entry]} ({sample_words(own.size, runs[entry])})", "group": entry, "name": entry,
         "number": numbers[entry], "x": x, "y": performance_profile(own, x)}
        for entry, own in values.items()
    ]  # fmt: skip
    environments = ", ".join(group.env for group in comparison.groups if find_cell(group, comparison.baseline))
    caption = (
        f"Performance profile: share of all runs on {environments} whose {comparison.score_title} is above "
        f"the threshold; returns: {WORDS}; after {comparison.budget}."
    )
    panel = {"x": AXIS, "y": "Share of runs above", "shares": True}
    return Figure(
        name=name,
        title="Performance profile",
        kind="profile",
        data=curve_frame(curves),
        panels={"": panel},
        paper=("",),
        caption=[caption],
    )
