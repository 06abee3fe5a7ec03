"""The page of one comparison: its tables and figures, written to a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from erlbench.records.read import Warn
from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.timeline import Timeline, load_timeline
from erlbench.reporting.documents.files import write_document
from erlbench.reporting.documents.model import Block, Chart, Document, Figure, Heading, Link, Table, Text
from erlbench.reporting.figures.axis import AXES
from erlbench.reporting.figures.columns import draw_columns
from erlbench.reporting.figures.curves import draw_curves
from erlbench.reporting.figures.profiles import draw_profiles
from erlbench.reporting.figures.timelines import draw_timelines
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.pages.charts import ChartData, profile_chart, timeline_chart
from erlbench.reporting.statistics.normalised import normalised
from erlbench.reporting.tables.aggregate import aggregate_tables
from erlbench.reporting.tables.metrics import metrics_table
from erlbench.reporting.tables.pairs import pairs_table
from erlbench.reporting.tables.reach import reach_table
from erlbench.reporting.tables.references import references_table
from erlbench.reporting.tables.scores import scores_table
from erlbench.reporting.tables.times import times_table
from erlbench.reporting.tables.tuning import tuning_table
from erlbench.reporting.tables.utilisation import utilisation_table

MOST_PANELS = 8  # timelines in a figure
SMOKE = "smoke"  # the profile whose runs only show that everything works
SMOKE_BANNER = "These runs show that everything works. Their scores mean nothing."
TIMELINES = ("time", "timeline", "all")
CURVES = ("scores", "curves", "all")  # kinds of pages with learning curves


@dataclass(frozen=True)
class Page:
    """A written page, as the index links it."""

    comparison: Comparison
    document: Document
    link: str
    done: int
    planned: int
    known: bool = False  # of reference results, which were there before


@dataclass(frozen=True)
class Maker:
    """What all pages of a report are made with."""

    out: Path
    published: Published
    warn: Warn
    options: ReportOptions
    charts: ChartData
    read: dict[Path, Timeline | None] = field(default_factory=dict)  # the timelines of runs, which several pages show

    def write(self, comparison: Comparison, *first: Table[Any]) -> Page:
        """Write the folder `out/<name>/` with `index.md`, tables (`first` before all others) and figures."""
        folder = self.out / comparison.name
        folder.mkdir(parents=True, exist_ok=True)
        tables = [*first, *self._tables(comparison)]
        figures = [*self._curves(comparison, folder), *self._others(comparison, folder)]
        for group in comparison.groups:
            name = comparison.slug(group)
            timelines, labels = self._timelines(comparison, group)
            if timelines or comparison.kind == "timeline":
                tables.append(utilisation_table(comparison, group, timelines, f"utilisation-{name}"))
            if timelines:
                caption = draw_timelines(timelines, labels, group.env, folder / f"timeline-{name}")
                title = f"Worker timeline, {comparison.group_name(group)}"
                figures += _figure(f"timeline-{name}", title, caption, timeline_chart(timelines, labels))
        content = _in_order(tables, figures)
        missing = [Text((sentence,)) for sentence in self._not_drawn(comparison, figures)]
        document = Document([*_head(comparison), *missing, *(_noted(block, comparison.note) for block in content)])
        write_document(document, folder)
        run_sets = [run_set for run_set in comparison.run_sets if run_set.exists]
        return Page(
            comparison, document, f"{comparison.name}/index.md", sum(len(run_set.done) for run_set in run_sets),
            sum(run_set.planned for run_set in run_sets),
        )  # fmt: skip

    def _curves(self, comparison: Comparison, folder: Path) -> Iterator[Figure]:
        for group in comparison.groups if comparison.kind in CURVES else ():
            name, title = f"curves-{comparison.slug(group)}", f"Learning curves, {comparison.group_name(group)}"
            caption = draw_curves(comparison, group, self.published, folder / name, self.options)
            chart = self.charts.of_group(comparison, group, self.published, self.options.x or comparison.x)
            yield from _figure(name, title, caption, chart)

    def _not_drawn(self, comparison: Comparison, figures: Sequence[Figure]) -> Iterator[str]:
        """Why an environment has no learning curves, where its runs lack the axis; the warnings have it, too."""
        axis, drawn = AXES[self.options.x or comparison.x], {figure.name for figure in figures}
        for group in comparison.groups if comparison.kind in CURVES else ():
            left_out = axis.drawable(group.run_sets)[1]
            if left_out and f"curves-{comparison.slug(group)}" not in drawn:
                sentence = f"{group.env}: no learning curves. {left_out}"
                self.warn(sentence)
                yield sentence

    def _others(self, comparison: Comparison, folder: Path) -> Iterator[Figure]:
        for group in comparison.groups if self.options.panels else ():
            name, title = f"columns-{comparison.slug(group)}", f"Columns of train.csv, {comparison.group_name(group)}"
            yield from _figure(name, title, draw_columns(comparison, group, self.options, folder / name, self.warn))
        if comparison.kind in ("scores", "all"):
            parts = [part for part in comparison.by_budget() if normalised(part).scores]
            for number, part in enumerate(parts, 1):
                name = "profile" if len(parts) == 1 else f"profile-{number}"
                yield from _figure(name, "Performance profile", draw_profiles(part, folder / name), profile_chart(part))

    def _timelines(self, comparison: Comparison, group: Group) -> tuple[list[Timeline], list[str]]:
        """One run of each run set that has tasks: the first that is done, else the first."""
        if comparison.kind not in TIMELINES or comparison.at:
            return [], []
        timelines, labels = [], []
        for run_set in [run_set for run_set in group.run_sets if run_set.runs][:MOST_PANELS]:
            if (timeline := self._timeline(run_set)) is not None:
                timelines.append(timeline)
                labels.append(run_set.label)
        return timelines, labels

    def _timeline(self, run_set: RunSet) -> Timeline | None:
        """The tasks of the run that stands for a run set: the first that is done, else the first."""
        if not run_set.runs:
            return None
        run = (run_set.done or run_set.runs)[0]
        if run.path not in self.read:
            self.read[run.path] = load_timeline(run, self.warn)
        return self.read[run.path]

    def _tables(self, comparison: Comparison) -> list[Table[Any]]:
        kind, published, options = comparison.kind, self.published, self.options
        tables: list[Table[Any] | None] = []
        if not comparison.groups:
            return []  # a plan withholds all of its runs
        if kind in CURVES:
            tables.append(scores_table(comparison, published))
            tables.append(None if comparison.by_time else references_table(comparison, published.references))
            if options.reach is not None:
                tables.append(reach_table(comparison, options.reach, published, self.warn))
        if kind in ("scores", "all"):
            tables += [pairs_table(comparison), *aggregate_tables(comparison), metrics_table(comparison)]
            tables.append(tuning_table(comparison))
        if kind in ("time", "all") and not comparison.at:
            tables.append(times_table(comparison, published, self.warn, self._timeline))
        return [table for table in tables if table is not None]


def _head(comparison: Comparison) -> Iterator[Block]:
    yield Heading(comparison.title, 1)
    yield Text((Link("Back to the report", "../index.md"),))
    if comparison.profile == SMOKE:
        yield Text((SMOKE_BANNER,), banner=True)
    if comparison.source:
        beside = "" if comparison.item == comparison.table else f", beside the numbers of {comparison.table}"
        yield Text((f"After {comparison.item} of the {comparison.source}{beside}. Profile: {comparison.profile}.",))


def _in_order(tables: Sequence[Table[Any]], figures: Sequence[Figure]) -> list[Table[Any] | Figure]:
    """The first table (the scores, if there are any), the learning curves, and then all others."""
    curves = [figure for figure in figures if figure.name.startswith("curves-")]
    return [*tables[:1], *curves, *tables[1:], *(figure for figure in figures if figure not in curves)]


def _noted(block: Table[Any] | Figure, note: str) -> Table[Any] | Figure:
    """Scores, times and figures with the study's note in the caption."""
    if not note:
        return block
    if isinstance(block, Figure):
        return replace(block, notes=(*block.notes, note))
    return replace(block, remarks=(*block.remarks, note)) if block.name in ("scores", "times") else block


def _figure(name: str, title: str, caption: list[str], chart: Chart | None = None) -> Iterator[Figure]:
    """The figure, unless nothing was drawn and there is no caption."""
    if caption:
        yield Figure(name, title, caption[0], tuple(caption[1:]), chart=chart)
