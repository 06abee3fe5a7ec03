"""The figures of a page: learning curves, the grid of all environments, columns of train.csv, performance profiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from erlbench.records.axes import AXES
from erlbench.records.config import TRAINING
from erlbench.records.training import WINDOW
from erlbench.reporting.curves import (
    SYMBOLS,
    averaged,
    colour_numbers,
    column_lines,
    column_points,
    drawable,
    evaluation_lines,
    points_on,
    published_generations,
    published_levels,
    published_points,
    reference_lines,
    tidy,
    training_lines,
    training_points,
)
from erlbench.reporting.data.caveats import caveats
from erlbench.reporting.data.comparability import comparable
from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.remarks import Warn
from erlbench.reporting.data.score import CURVE
from erlbench.reporting.data.seeds import sample_words
from erlbench.reporting.drawing import GREY, Drawing
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.paper_style import PaperStyle, chosen
from erlbench.reporting.statistics.curves import MOST_POINTS, band_kind, band_words, time_unit
from erlbench.reporting.statistics.estimates import performance_profile
from erlbench.reporting.verdict.pairs import groups_with_baseline
from erlbench.reporting.verdict.pooled import AXIS, WORDS, normalise, pooled_scores

GRID = "grid"
FEWER_POINTS = 60  # of a mean that only the page shows
THRESHOLDS = 400  # of a profile


def learning_curves(
    comparison: Comparison, group: Group, published: Published, options: ReportOptions
) -> Drawing | None:
    """The returns of a group's evaluations. None when no run has an evaluation that can be drawn.

    Paper has the axis of the options, or else the study's own and another one. These two are training steps and
    training time where the study names none.
    """
    wanted = [options.x] if options.x else list(dict.fromkeys((comparison.x, "timesteps", "time")))[:2]
    drawn = {axis: points_on(axis, group, options.style.smooth, zero=axis in wanted) for axis in AXES}
    training = training_points(group.run_sets)
    paper = [axis for axis in wanted if drawn[axis] or axis in training] or wanted[-1:]
    if not (drawn[paper[0]] or paper[0] in training):
        return None
    numbers = colour_numbers(run_set.name for run_set in comparison.run_sets)
    levels = published_levels(comparison, group, published)
    lines, panels = [], {}
    for axis in (axis for axis in AXES if drawn[axis] or axis in training):
        of_axis = evaluation_lines(drawn[axis], numbers, levels, MOST_POINTS if axis in paper else FEWER_POINTS)
        if axis == "timesteps":
            of_axis += reference_lines([run_set for run_set, _ in drawn[axis]], numbers, published)
            of_axis += published_points(comparison, group, published)
        if axis == "generation":
            of_axis += published_generations(comparison, group, numbers, published)
        of_axis += training_lines(training.get(axis, []), numbers)
        curves = [points for _, runs in (*drawn[axis], *training.get(axis, [])) for _, points in runs]
        label, unit = axis_label(axis, max(float(x[-1]) for x, _ in curves))
        for line in of_axis:
            colour = options.style.colours.get(line.get("name", ""), "")
            lines.append({**line, "panel": axis, "colour": colour, "x": line["x"] / unit})
        panels[axis] = {"x": label, "y": "Return" if axis in training else "Evaluation return"}
    data = tidy(lines)
    run_sets = [run_set for run_set, _ in drawn[paper[0]] or training[paper[0]]]
    band = band_kind([len({run.seed for run in averaged(one)}) for one in run_sets], options.style.band)
    shown = data[data.panel.isin(paper) & (data.run == "")].drop_duplicates(["panel", "look", "name", "label"])
    caption = [_curve_sentence(group, run_sets, paper, band, shown)]
    caption += _curve_notes(comparison, group, run_sets, paper, options)
    caption += _notes_on_others(comparison, group, run_sets, published, shown)
    return Drawing(
        kind="curves", title=group.env, data=data, panels=panels, paper=paper, band=band, caption=caption
    )  # fmt: skip


def axis_label(axis: str, largest: float) -> tuple[str, float]:
    """The label with its unit for values up to `largest`, and by what to divide values."""
    if AXES[axis].column != "seconds":
        return AXES[axis].label, 1.0
    name, scale = time_unit(largest)
    return f"{AXES[axis].label} ({name})", scale


def _curve_sentence(
    group: Group, run_sets: Sequence[RunSet], paper: Sequence[str], band: str, shown: pd.DataFrame
) -> str:
    """The caption; `shown` has a row for each mean on paper."""
    which = "finished runs" if any(run_set.done for run_set in run_sets) else "runs"
    seeds = ", a seed by the mean of its runs" if any(len(one.done) > len(one.seeds) for one in run_sets) else ""
    what = "training return" if (shown["look"] == "training").all() else "return of the evaluations"
    axes = " and over ".join(AXES[axis].words for axis in paper)
    sentences = [f"{group.env}: {what} over {axes}; budget {group.limit}."]
    if max(len(averaged(run_set)) for run_set in run_sets) > 1:
        sentences.append(
            f"Lines: mean of the {which}{seeds}, up to where the first of them ends; thin: single runs; band: "
            f"{band_words(band)}."
        )
    else:
        sentences.append("Lines: single runs, no band.")
    if shown.level.notna().any():
        sentences.append("Dotted: published mean.")
    if (shown["look"] == "training").any():
        sentences.append(
            "Dashed, without markers: runs that are not finished, mean return of their last "
            f"{WINDOW} training episodes."
        )
    return " ".join(sentences)


def _curve_notes(
    comparison: Comparison, group: Group, run_sets: Sequence[RunSet], paper: Sequence[str], options: ReportOptions
) -> list[str]:
    """On scores, budgets, smoothing, and times."""
    notes = []
    if stretch := next((one.stretch for one in run_sets if one.metric == CURVE), None):
        notes.append(f"The scores of the tables are means of these curves {stretch}.")
    if nominal := [run_set.label for run_set in run_sets if run_set.nominal]:
        notes.append(f"{' and '.join(nominal)}: that budget counts a generation as one episode of full length.")
    notes += _smoothing_note(options.style.smooth, "evaluations")
    runs = [run for run_set in run_sets for run in run_set.runs]
    if "time" in paper and any(run.simulated_time for run in runs):
        notes.append("Some runs are in simulated time: their times are modelled, not measured.")
    if "time" in paper and len({run.machine.hardware for run in runs if run.machine.cpu}) > 1:
        notes.append("The runs are from several machines: their times compare no algorithms.")
    wanted = (options.x,) if options.x else (comparison.x, "time")
    return [*notes, *filter(None, dict.fromkeys(drawable(axis, group.run_sets)[1] for axis in wanted))]


def _smoothing_note(window: int, what: str) -> list[str]:
    average = f"the moving average over its last {window} {what} (at the beginning over those there are)"
    return [f"Each run's curve is {average}."] if window > 1 else []


def _notes_on_others(
    comparison: Comparison, group: Group, run_sets: Sequence[RunSet], published: Published, shown: pd.DataFrame
) -> list[str]:
    """On published numbers, imported runs, and other people's runs; `shown` has a row for each mean on paper."""
    notes = []
    if shown.level.notna().any():
        notes.append(f"Dotted: mean published in {comparison.source}, {comparison.table}, on {group.env_published}.")
    elif any(
        published.find(comparison.source, comparison.table, group.env_published, run_set.published, "mean")
        for run_set in run_sets
    ):
        other = f"environment ({group.env_published})"
        other = "budget" if comparable(group.env, group.env_published) else other
        notes.append(f"Published final values are left out: they belong to another {other}.")
    imported: dict[str, None] = {}
    for run_set in run_sets:
        for about in (run.imported for run in run_set.runs if run.imported):
            means = "; running means of training returns" if about.returns == TRAINING else ""
            imported[f"{run_set.label} ({about.origin}{means})"] = None
    if imported:
        notes.append(f"Imported: {', '.join(imported)}.")
    references = shown.note[shown["look"] == "reference"]
    if len(references):
        notes.append(f"Dash-dotted and hatched: reference runs of others, mean and band: {'; '.join(references)}.")
    points = shown[shown["look"] == "published"]
    if len(points) and points.number.iloc[0] == GREY:
        whose = [f"{group} (open {SYMBOLS[symbol]})" for group, symbol in zip(points.group, points.symbol, strict=True)]
        notes.append(f"Grey: points of the curves of {' and '.join(whose)} in {points.note.iloc[0]}.")
    elif len(points):
        notes.append(f"Open squares: points of the published curves, {points.note.iloc[0]}.")
    return notes


def environments_grid(
    comparison: Comparison, drawings: Sequence[tuple[Group, Drawing]], style: PaperStyle
) -> Drawing | None:
    """One figure of the curves of environments, each over the axis that it has on paper first; None without any.

    Other people's runs, published numbers, single runs and training returns are left out.
    """
    names = {one.name: style.label(one.name, one.label) for one in comparison.run_sets if one.exists}
    order = chosen(names, style.algorithms, str)
    shown = chosen(drawings, style.environments, _environment)
    parts, panels = [], {}
    for group, drawing in shown:
        data = drawing.data[(drawing.data.panel == drawing.paper[0]) & (drawing.data["look"] == "curve")]
        data = data[(data.run == "") & data["name"].isin(order)]
        if len(data):
            panel = comparison.slug(group)
            labels = data["name"].map(names)
            parts.append(data.assign(panel=panel, label=labels, group=labels, level=np.nan))
            twice = sum(other.env == group.env for other, _ in shown) > 1
            title = style.label(group.env, comparison.group_name(group) if twice else group.env)
            panels[panel] = {**drawing.panels[drawing.paper[0]], "title": title}
    if not parts:
        return None
    data = pd.concat(parts, ignore_index=True)
    data = data.sort_values("name", key=lambda column: column.map(order.index), kind="stable")
    bands = {drawing.band for _, drawing in shown}
    band = bands.pop() if len(bands) == 1 else "range"
    caption = [
        f"Evaluation returns on all environments of the page, mean over runs; band: {band_words(band)}.",
        *caveats(comparison),
    ]
    return Drawing(kind=GRID, title="", data=data, panels=panels, paper=[*panels], band=band, caption=caption)


def _environment(drawing: tuple[Group, Drawing]) -> str:
    return drawing[0].env


def columns_of_train(comparison: Comparison, group: Group, options: ReportOptions, warn: Warn) -> Drawing | None:
    """A panel for each group of columns of train.csv that has a value; None, with a warning, where none has."""
    axis = options.x or (comparison.x if AXES[comparison.x].train_column else "timesteps")
    usable, left_out = drawable(axis, group.run_sets)
    run_sets = [run_set for run_set in usable if run_set.runs]
    if left_out and not run_sets:
        warn(f"{group.env}: no figure of columns. {left_out}")
        return None
    names = [name for panel in options.columns for name in panel]
    curves = {one.name: column_points(one, names, axis, options.style.smooth, warn) for one in run_sets}
    known = pd.concat([*curves.values()])
    for name in names:
        if name not in set(known.column):
            warn(f"no train.csv of {group.env} has a value in a column '{name}'; nothing is drawn for it")
    shown = {"+".join(panel): panel for panel in options.columns if {*panel} & {*known.column}}
    if not shown:
        return None
    band = band_kind([len({run.seed for run in averaged(one)}) for one in run_sets], options.style.band)
    label, unit = axis_label(axis, max(float(x[-1]) for x, _ in known.points))
    lines = [
        {**line, "panel": panel, "x": line["x"] / unit}
        for panel, columns in shown.items()
        for line in column_lines(run_sets, columns, curves, band)
    ]
    columns = "; ".join(", ".join(panel) for panel in shown.values())
    caption = [
        f"{group.env}: columns of train.csv over {AXES[axis].words} ({columns}). Mean over the finished runs, where "
        f"there are several; band: {band_words(band)}.",
        *_smoothing_note(options.style.smooth, "rows"),
        *filter(None, [left_out]),
    ]
    panels = {name: {"x": label, "y": panel[0] if len(panel) == 1 else ""} for name, panel in shown.items()}
    return Drawing(
        kind="columns", title=group.env, data=tidy(lines), panels=panels, paper=[*panels], band=band, caption=caption
    )  # fmt: skip


def performance_profiles(comparison: Comparison) -> Drawing | None:
    """Run-score distributions over all environments (Agarwal et al. 2021).

    None without scores that can be pooled (`pooled_scores`) or with single runs only.
    """
    scores = normalise(*pooled_scores(comparison))
    if len(scores) < 2 or max(len(values) for own in scores.values() for values in own) < 2:
        return None
    values = {name: np.concatenate(own) for name, own in scores.items()}
    labels, runs = {}, Counter[str]()
    for run_set in (one for group in groups_with_baseline(comparison) for one in group.run_sets if one.exists):
        labels[run_set.name] = run_set.label
        runs[run_set.name] += sum(map(len, run_set.run_scores))
    numbers, every = colour_numbers(labels), np.concatenate(list(values.values()))
    x = np.linspace(min(0.0, every.min()), 1.02 * every.max(), THRESHOLDS)
    lines = [
        {"label": f"{labels[name]} ({sample_words(own.size, runs[name])})", "group": name, "name": name,
         "number": numbers[name], "x": x, "y": performance_profile(own, x)}
        for name, own in values.items()
    ]  # fmt: skip
    environments = ", ".join(group.env for group in comparison.groups if group.run_set(comparison.baseline))
    caption = (
        f"Performance profile: share of all runs on {environments} whose {comparison.score_title} is above "
        f"the threshold; returns: {WORDS}; after {comparison.budget}."
    )
    panel = {"x": AXIS, "y": "Share of runs above", "shares": True}
    return Drawing(kind="profile", title="", data=tidy(lines), panels={"": panel}, paper=("",), caption=[caption])
