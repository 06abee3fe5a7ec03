"""The page of one comparison: its tables and figures, written to a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from erlbench.reporting.curves import drawable
from erlbench.reporting.data.comparison import Comparison, Group, PagePart, RunSet
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.remarks import RemarkKind, Warn, remark
from erlbench.reporting.data.timeline import Timeline, load_timeline
from erlbench.reporting.documents.files import write_table
from erlbench.reporting.documents.model import Figure, Table
from erlbench.reporting.documents.render import Content, markdown
from erlbench.reporting.drawing import Drawing, draw
from erlbench.reporting.figures import GRID, columns_of_train, environments_grid, learning_curves, performance_profiles
from erlbench.reporting.options import FORMATS, ReportOptions
from erlbench.reporting.pages.charts import ChartData
from erlbench.reporting.statistics.significance import Case
from erlbench.reporting.tables.aggregate import aggregate_tables
from erlbench.reporting.tables.answers import answers_table, differences_from_study
from erlbench.reporting.tables.metrics import metrics_table
from erlbench.reporting.tables.origins import fairness_table, imported_table, tuning_table
from erlbench.reporting.tables.pairs import pairs_table
from erlbench.reporting.tables.paper import paper_table
from erlbench.reporting.tables.reach import reach_table
from erlbench.reporting.tables.references import references_table
from erlbench.reporting.tables.scores import scores_table
from erlbench.reporting.tables.times import times_table
from erlbench.reporting.timelines import timelines_drawing
from erlbench.reporting.verdict.answers import StudyAnswer
from erlbench.reporting.verdict.pairs import compare_pairs, pair_rows
from erlbench.reporting.verdict.pooled import pooled_scores
from erlbench.reporting.verdict.words import FILE, answer_sentence, details, result, sentence

MOST_PANELS = 8  # timelines in a figure
MOST_VERDICTS = 6  # that a page says in words
PARTS = {  # of a page, shown on demand: what the names of its tables and figures begin with
    "What differs between the algorithms": ("fairness", "tuning", "imported"),
    "Other people's runs": ("reference-runs",),
    "Tests and other metrics": ("tests", "aggregate", "metrics", "profile"),
    "Times": ("times", "timeline"),
}
SMOKE = "smoke"  # the profile whose runs only show that everything works
SMOKE_BANNER = "These runs show that everything works. Their scores mean nothing."

Named = tuple[str, str, Drawing]  # the name of its files, its title, a figure


@dataclass(frozen=True, kw_only=True)
class Page:
    """A written page, as the index links it."""

    comparison: Comparison
    content: Content
    link: str
    done: int
    planned: int
    verdicts: Sequence[Any] = ()  # rows of `compare_pairs`
    known: bool = False  # of reference results, which were there before
    answer: StudyAnswer | None = None


@dataclass(frozen=True, kw_only=True)
class Maker:
    """What all pages of a report are made with."""

    out: Path
    published: Published
    warn: Warn
    options: ReportOptions
    charts: ChartData
    read: dict[Path, Timeline | None] = field(default_factory=dict)  # the timelines of runs, which several pages show

    def write(self, comparison: Comparison, *first: Table, answer: StudyAnswer | None = None) -> Page:
        """Write the folder `out/<name>/` with `index.md`, tables (`first` before all others) and figures.

        The page of a study with an `answer` begins with it.
        """
        folder = self.out / comparison.name
        folder.mkdir(parents=True, exist_ok=True)
        drawn = [*self._curves(comparison)]
        grid = environments_grid(comparison, [(group, drawing) for group, (_, _, drawing) in drawn], self.options.style)
        named = [(GRID, "Learning curves, all environments", grid)] if grid and self.options.paper else []
        curves = [self._figure(folder, *plot) for plot in (*named, *(plot for _, plot in drawn))]
        pairs = compare_pairs(comparison) if PagePart.STATISTICS in comparison.parts else pd.DataFrame()
        tables = [*first, *self._tables(comparison, pairs)]  # while the curves are drawn
        plots = [*self._others(comparison)]
        for group in comparison.groups:
            name = comparison.slug(group)
            timelines, labels = self._timelines(comparison, group)
            if timelines:
                title = f"Worker timeline, {comparison.group_name(group)}"
                plots.append((f"timeline-{name}", title, timelines_drawing(timelines, labels, group.env)))
        figures = [self._figure(folder, *plot) for plot in plots]
        blocks = [*_arranged(tables, curves, comparison), *figures]
        blocks = [_noted(block, comparison) if isinstance(block, Figure) else block for block in blocks]
        verdicts = pair_rows(pairs)
        lines, answers, study = answered(answer) if answer else ([], [], [])
        parts = [(title, [block for block in blocks if block.name.startswith(names)]) for title, names in PARTS.items()]
        if PagePart.CURVES not in comparison.parts:
            parts = []
        folded = {block.name for _, behind in parts for block in behind}
        values = {
            "title": comparison.title,
            "banner": SMOKE_BANNER if comparison.profile == SMOKE else "",
            "lines": [*_head(comparison), *lines],
            "answers": answers,
            "study": study,
            **_said(verdicts),
            "missing": list(self._not_drawn(comparison, curves)),
            "first": [block for block in blocks if block.name not in folded],
            "parts": [(title, behind) for title, behind in parts if behind],
        }
        content = Content("page.jinja", values, [*study, *blocks])
        for block in content.blocks:
            if isinstance(block, Table):
                write_table(block, folder)
        (folder / "index.md").write_text(markdown(content), encoding="utf-8")
        run_sets = [run_set for run_set in comparison.run_sets if run_set.exists]
        return Page(
            comparison=comparison,
            content=content,
            link=f"{comparison.name}/index.md",
            done=sum(len(run_set.seeds) for run_set in run_sets),
            planned=sum(run_set.planned for run_set in run_sets),
            verdicts=verdicts,
            answer=answer,
        )

    def _figure(self, folder: Path, name: str, title: str, drawing: Drawing) -> Figure:
        """The figure of a drawing: a chart of the page, and on paper where the options ask, or there is no chart."""
        has_chart = drawing.kind not in ("columns", GRID)
        formats = self.options.formats or (() if has_chart else FORMATS[:1])
        if formats:
            draw(drawing, folder / name, formats)
        chart = self.charts.chart(drawing) if has_chart else None
        return Figure(
            name=name,
            title=title,
            caption=drawing.caption[0],
            notes=tuple(drawing.caption[1:]),
            formats=formats,
            chart=chart,
        )

    def _curves(self, comparison: Comparison) -> Iterator[tuple[Group, Named]]:
        for group in comparison.groups if PagePart.CURVES in comparison.parts else ():
            if (plot := learning_curves(comparison, group, self.published, self.options)) is not None:
                title = f"Learning curves, {comparison.group_name(group)}"
                yield group, (f"curves-{comparison.slug(group)}", title, plot)

    def _not_drawn(self, comparison: Comparison, figures: Sequence[Figure]) -> Iterator[str]:
        """Why an environment has no learning curves, where its runs lack the axis; the warnings have it, too."""
        axis, drawn = self.options.x or comparison.x, {figure.name for figure in figures}
        for group in comparison.groups if PagePart.CURVES in comparison.parts else ():
            left_out = drawable(axis, group.run_sets)[1]
            if left_out and f"curves-{comparison.slug(group)}" not in drawn:
                missing = remark(RemarkKind.NO_CURVES, env=group.env, reason=left_out)
                self.warn(missing)
                yield str(missing)

    def _others(self, comparison: Comparison) -> Iterator[Named]:
        for group in comparison.groups if self.options.columns else ():
            if (plot := columns_of_train(comparison, group, self.options, self.warn)) is not None:
                title = f"Columns of train.csv, {comparison.group_name(group)}"
                yield f"columns-{comparison.slug(group)}", title, plot
        if PagePart.STATISTICS in comparison.parts:
            parts = [part for part in comparison.by_budget() if pooled_scores(part)[0]]
            for number, part in enumerate(parts, 1):
                if (plot := performance_profiles(part)) is not None:
                    yield "profile" if len(parts) == 1 else f"profile-{number}", "Performance profile", plot

    def _timelines(self, comparison: Comparison, group: Group) -> tuple[list[Timeline], list[str]]:
        """The runs that stand for the run sets, if they have tasks, and their labels."""
        if PagePart.TIMELINES not in comparison.parts or comparison.at:
            return [], []
        drawn = [run_set for run_set in group.run_sets if run_set.runs][:MOST_PANELS]
        found = [(timeline, run_set.label) for run_set in drawn if (timeline := self._timeline(run_set)) is not None]
        return [timeline for timeline, _ in found], [label for _, label in found]

    def _timeline(self, run_set: RunSet) -> Timeline | None:
        """The tasks of the run that stands for a run set: the first that is done, else the first."""
        if not run_set.runs:
            return None
        run = (run_set.done or run_set.runs)[0]
        if run.path not in self.read:
            self.read[run.path] = load_timeline(run, self.warn)
        return self.read[run.path]

    def _tables(self, comparison: Comparison, pairs: pd.DataFrame) -> list[Table]:
        parts, published, options = comparison.parts, self.published, self.options
        tables: list[Table | None] = []
        if options.paper and PagePart.CURVES in parts:
            tables.append(paper_table(comparison, options.style.statistic, options.style))
        tables += [imported_table(comparison), fairness_table(comparison)]
        if PagePart.CURVES in parts:
            tables.append(scores_table(comparison, published))
            tables.append(None if comparison.by_time else references_table(comparison, published.references))
            if options.reach is not None:
                tables.append(reach_table(comparison, options.reach, published, self.warn))
        if PagePart.STATISTICS in parts:
            tables += [pairs_table(comparison, pairs), *aggregate_tables(comparison), metrics_table(comparison)]
            tables.append(tuning_table(comparison))
        if PagePart.TIMES in parts and not comparison.at:
            tables.append(times_table(comparison, published, self.warn, self._timeline))
        return [table for table in tables if table is not None]


def _head(comparison: Comparison) -> Iterator[str]:
    if comparison.source:
        beside = "" if comparison.item == comparison.table else f", beside the numbers of {comparison.table}"
        yield f"After {comparison.item} of the {comparison.source}{beside}. Profile: {comparison.profile}."


def answered(answer: StudyAnswer) -> tuple[list[str], list[str], list[Table]]:
    """What a study's page begins with: the claim with its source, a line for each pair, their tables."""
    study = answer.study
    source = f" ({study.source})" if study.source else ""
    lines = [f"Claim: {study.claim}{source}"] if study.claim else []
    if answer.standing and len(answer.answers) > 1:
        lines.append(f"All comparisons together: {answer.standing}.")
    tables: list[Table] = [answers_table(answer)] if answer.answers else []
    return lines, [answer_sentence(one) for one in answer.answers], [*tables, differences_from_study(answer)]


def _said(verdicts: Sequence[Any]) -> dict[str, Any]:
    """What the page's comparisons say: one sentence over all, then each, decided ones first."""
    order = sorted(verdicts, key=lambda one: list(Case).index(one.case))
    more = f" {len(order) - MOST_VERDICTS} more verdicts stand in {FILE}." if len(order) > MOST_VERDICTS else ""
    said = [(sentence(one), details(one)) for one in order[:MOST_VERDICTS]]
    return {"result": result(order) + more if order else "", "verdicts": said}


def _arranged(tables: Sequence[Table], curves: Sequence[Figure], comparison: Comparison) -> list[Table | Figure]:
    """The curve before the scores; where there are several environments, the scores before their curves."""
    names = [table.name for table in tables]
    place = names.index("scores") if "scores" in names else 0
    place += len(comparison.groups) > 1 and "scores" in names
    return [*tables[:place], *curves, *tables[place:]]


def _noted(figure: Figure, comparison: Comparison) -> Figure:
    """The figure with the study's note in its caption, as scores and times have it."""
    return replace(figure, notes=(*figure.notes, *comparison.notes))
