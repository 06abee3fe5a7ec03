"""The page of one comparison: its tables and figures, written to a folder of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from erlbench.reporting.data.comparison import Cell, Comparison, Group
from erlbench.reporting.data.csvfile import Warn
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.runs import Run
from erlbench.reporting.data.timeline import Timeline, load_timeline
from erlbench.reporting.documents.files import write_document
from erlbench.reporting.documents.model import Block, Document, Figure, Heading, Link, Table, Text
from erlbench.reporting.figures.columns import draw_columns
from erlbench.reporting.figures.curves import draw_curves
from erlbench.reporting.figures.profiles import draw_profiles
from erlbench.reporting.figures.timelines import draw_timelines
from erlbench.reporting.options import Options
from erlbench.reporting.tables.aggregate import aggregate_table
from erlbench.reporting.tables.metrics import metrics_table
from erlbench.reporting.tables.reach import reach_table
from erlbench.reporting.tables.references import references_table
from erlbench.reporting.tables.scores import scores_table
from erlbench.reporting.tables.times import times_table
from erlbench.reporting.tables.utilisation import utilisation_table

MOST_PANELS = 8  # timelines in a figure
TIMELINES = ("time", "timeline", "all")


@dataclass(frozen=True)
class Page:
    """A written page, as the index links it."""

    comparison: Comparison
    document: Document
    link: str
    done: int
    planned: int


def write_page(comparison: Comparison, out: Path, published: Published, warn: Warn, options: Options) -> Page:
    """Write the folder `out/<name>/` with its `index.md`."""
    folder = out / comparison.name
    folder.mkdir(parents=True, exist_ok=True)
    tables = _tables(comparison, published, warn, options)
    figures = list(_figures(comparison, folder, published, warn, options))
    for group in comparison.groups:
        name = _slug(comparison, group)
        timelines, labels = _timelines(comparison, group, warn)
        if timelines or comparison.kind == "timeline":
            tables.append(utilisation_table(comparison, group, timelines, f"utilisation-{name}"))
        if timelines:
            caption = draw_timelines(timelines, labels, group.env, folder / f"timeline-{name}")
            figures += _figure(f"timeline-{name}", f"Worker timeline, {group.env}", caption)
    content: list[Table[Any] | Figure] = [*tables, *figures]
    document = Document([*_head(comparison), *(_noted(block, comparison.note) for block in content)])
    write_document(document, folder)
    cells = [cell for cell in comparison.cells if cell.exists]
    return Page(
        comparison, document, f"{comparison.name}/index.md", sum(len(cell.done) for cell in cells),
        sum(cell.planned for cell in cells),
    )  # fmt: skip


def _head(comparison: Comparison) -> Iterator[Block]:
    yield Heading(comparison.title, 1)
    yield Text((Link("Back to the report", "../index.md"),))
    if comparison.source:
        yield Text((f"After {comparison.table} of the {comparison.source}, profile {comparison.profile}.",))


def _noted(block: Table[Any] | Figure, note: str) -> Table[Any] | Figure:
    """Scores, times and figures with the study's note in the caption."""
    if not note:
        return block
    if isinstance(block, Figure):
        return replace(block, notes=(*block.notes, note))
    return replace(block, remarks=(*block.remarks, note)) if block.name in ("scores", "times") else block


def _tables(comparison: Comparison, published: Published, warn: Warn, options: Options) -> list[Table[Any]]:
    kind = comparison.kind
    tables: list[Table[Any] | None] = []
    if kind in ("scores", "curves", "all"):
        tables += [scores_table(comparison, published), references_table(comparison, published.references)]
        if options.reach is not None:
            tables.append(reach_table(comparison, options.reach, published, warn))
    if kind in ("scores", "all"):
        tables += [aggregate_table(comparison), metrics_table(comparison)]
    if kind in ("time", "all"):
        tables.append(times_table(comparison, published, warn))
    return [table for table in tables if table is not None]


def _figures(
    comparison: Comparison, folder: Path, published: Published, warn: Warn, options: Options
) -> Iterator[Figure]:
    curves = comparison.groups if comparison.kind in ("scores", "curves", "all") else ()
    for group in curves:
        name, title = f"curves-{_slug(comparison, group)}", f"Learning curves, {comparison.group_name(group)}"
        yield from _figure(name, title, draw_curves(comparison, group, published, folder / name, options))
    for group in comparison.groups if options.panels else ():
        name, title = f"columns-{_slug(comparison, group)}", f"Columns of train.csv, {comparison.group_name(group)}"
        yield from _figure(name, title, draw_columns(group, options, folder / name, warn))
    if comparison.kind == "scores":
        yield from _figure("profile", "Performance profile", draw_profiles(comparison, folder / "profile"))


def _figure(name: str, title: str, caption: list[str]) -> Iterator[Figure]:
    """The figure, unless nothing was drawn and there is no caption."""
    if caption:
        yield Figure(name, title, caption[0], tuple(caption[1:]))


def _timelines(comparison: Comparison, group: Group, warn: Warn) -> tuple[list[Timeline], list[str]]:
    """One run of each cell that has tasks: the first that is done, else the first."""
    if comparison.kind not in TIMELINES:
        return [], []
    timelines, labels = [], []
    for cell in [cell for cell in group.cells if cell.runs][:MOST_PANELS]:
        timeline = load_timeline(_representative(cell), warn)
        if timeline is not None:
            timelines.append(timeline)
            labels.append(cell.label)
    return timelines, labels


def _representative(cell: Cell) -> Run:
    return (cell.done or cell.runs)[0]


def _slug(comparison: Comparison, group: Group) -> str:
    budget = f"-{group.total_timesteps}" if comparison.kind == "all" else ""
    return re.sub(r"[^A-Za-z0-9.-]+", "_", group.env) + budget
