"""The page of one comparison: its tables and figures, written to a folder of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from erlbench.reporting.agreement import fairness_table, imported_table, tuning_table
from erlbench.reporting.cells import Warn
from erlbench.reporting.documents import Content, Figure, Record, Table, build_table, markdown, write_table
from erlbench.reporting.drawing import ChartData, draw
from erlbench.reporting.figures import (
    GRID,
    columns_of_train,
    environments_grid,
    learning_curves,
    performance_profiles,
    untimed_note,
)
from erlbench.reporting.formats import steps
from erlbench.reporting.matrix import paper_table
from erlbench.reporting.options import FORMATS, ReportOptions
from erlbench.reporting.page_cells import PageCells, PagePart
from erlbench.reporting.pairs import aggregate_tables, compare_pairs, pair_rows, pairs_table, pooled_scores
from erlbench.reporting.published import Published
from erlbench.reporting.reach import reach_table
from erlbench.reporting.scores import metrics_table, references_table, scores_table
from erlbench.reporting.significance import level_words
from erlbench.reporting.timeline import Timeline, draw_timelines, load_timeline
from erlbench.reporting.times import times_table
from erlbench.reporting.words import FILE, answer_sentence, details, effect_words, result, select_spoken, sentence
from erlbench.words import counted


def answers_table(answer: Any) -> Table:
    """A row for each pair and environment."""
    rows = [_record(one) for one in answer.answers]
    tests = sum(not math.isnan(row["p_holm"]) for row in rows)
    return build_table(
        "answers",
        "What the study compares",
        rows,
        [f"Study SHA-256: {answer.study.sha256}."],
        level=level_words(),
        tests=counted(tests, "test"),
        claims=any(one.standing is not None for one in answer.answers),
        reasons=any(row["reason"] for row in rows),
    )


def _record(one: Any) -> Record:
    effect, low, high = one.effect
    first, second = [side.simulator_steps for side in one.samples or ()] or (math.nan, math.nan)
    return {
        **vars(one), "effect": effect, "low": low, "high": high, "effect_in_words": effect_words(one),
        "verdict": str(one.standing or one.case or ""), "case": str(one.case or ""),
        "p_holm": one.outcome["p_holm"] if one.outcome else math.nan,
        "seeds": " and ".join(str(len(side.scores)) for side in one.samples or ()),
        "simulator_steps_first": first, "simulator_steps_second": second,
        "simulator_steps": f"{steps(first)} and {steps(second)}",
    }  # fmt: skip


def differences_from_study(answer: Any) -> Table:
    """What differs from the study, a row each; without rows where nothing does."""
    remarks = [] if answer.differences else ["Nothing differs from the study."]
    return build_table("differences", "What differs from the study", answer.differences, remarks)


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


@dataclass(frozen=True, kw_only=True)
class Page:
    """A written page, as the index links it."""

    comparison: PageCells
    content: Content
    verdicts: Sequence[Any] = ()  # rows of `compare_pairs`
    is_reference: bool = False  # of `--reference`
    answer: Any = None


@dataclass(frozen=True, kw_only=True)
class Maker:
    """What all pages of a report are made with."""

    out: Path
    published: Published
    warn: Warn
    options: ReportOptions
    charts: ChartData
    timelines: dict[Path, Timeline | None] = field(default_factory=dict)  # by runs, which several pages show

    def write(self, comparison: PageCells, *first: Table, answer: Any = None) -> Page:
        """Write the folder `out/<name>/` with `index.md`, tables (`first` before all others) and figures.

        The page of a study with an `answer` begins with it. The curve stands before the scores; where there are several
        environments, the scores stand before their curves.
        """
        folder = self.out / comparison.name
        folder.mkdir(parents=True, exist_ok=True)
        curves, missing = self._curves(comparison)
        curves = [self._write_figure(figure, folder, comparison) for figure in curves]
        pairs = compare_pairs(comparison) if PagePart.STATISTICS in comparison.parts else pd.DataFrame()
        tables = [*first, *self._tables(comparison, pairs)]
        others = [self._write_figure(figure, folder, comparison) for figure in self._others(comparison)]
        names = [table.name for table in tables]
        place = names.index("scores") + (len(comparison.groups) > 1) if "scores" in names else 0
        blocks: list[Table | Figure] = [*tables[:place], *curves, *tables[place:], *others]
        parts = PARTS if PagePart.CURVES in comparison.parts else {}
        folded = {title: [block for block in blocks if block.name.startswith(names)] for title, names in parts.items()}
        verdicts = pair_rows(pairs)
        lines, answers, study = answer_blocks(answer) if answer else ([], [], [])
        values = {
            "title": comparison.title,
            "banner": SMOKE_BANNER if comparison.profile == SMOKE else "",
            "lines": [*_head(comparison), *lines],
            "answers": answers,
            "study": study,
            **_verdict_words(verdicts),
            "missing": missing,
            "first": [block for block in blocks if not block.name.startswith(sum(parts.values(), ()))],
            "parts": [(title, behind) for title, behind in folded.items() if behind],
        }
        content = Content(template="page.jinja", values=values, blocks=[*study, *blocks], name=comparison.name)
        for table in (*study, *tables):
            write_table(table, folder)
        (folder / "index.md").write_text(markdown(content), encoding="utf-8")
        return Page(comparison=comparison, content=content, verdicts=verdicts, answer=answer)

    def _write_figure(self, figure: Figure, folder: Path, comparison: PageCells) -> Figure:
        """A figure with the study's note, its chart, and its files: as the options say, or where it has no chart."""
        has_chart = figure.kind not in ("columns", GRID)
        formats = self.options.formats or (() if has_chart else FORMATS[:1])
        if formats:
            draw(figure, folder / figure.name, formats)
        chart = self.charts.chart(figure) if has_chart else None
        return replace(figure, caption=[*figure.caption, *comparison.notes], formats=formats, chart=chart)

    def _curves(self, comparison: PageCells) -> tuple[list[Figure], list[str]]:
        """The grid of a paper, the curves of each environment, and why others have none; the warnings have it, too."""
        drawn, missing = [], []
        for group in comparison.groups if PagePart.CURVES in comparison.parts else ():
            if figure := learning_curves(comparison, group, self.published, self.options):
                drawn.append((group, figure))
            elif (self.options.x or comparison.x) == "time" and (reason := untimed_note(group.cells)):
                missing.append(f"{group.env}: no learning curves. {reason}")
                self.warn(missing[-1])
        grid = environments_grid(comparison, drawn, self.options.style) if self.options.paper else None
        return [*([grid] if grid else []), *(figure for _, figure in drawn)], missing

    def _others(self, comparison: PageCells) -> Iterator[Figure]:
        """Columns of train.csv, profiles, and timelines of the runs that stand for the run sets."""
        for group in comparison.groups if self.options.columns else ():
            if figure := columns_of_train(comparison, group, self.options, self.warn):
                yield figure
        if PagePart.STATISTICS in comparison.parts:
            parts = [part for part in comparison.by_budget() if pooled_scores(part)[0]]
            for number, part in enumerate(parts, 1):
                if figure := performance_profiles(part, "profile" if len(parts) == 1 else f"profile-{number}"):
                    yield figure
        for group in comparison.groups if PagePart.TIMELINES in comparison.parts and not comparison.at else ():
            shown = [run_set for run_set in group.cells if run_set.runs][:MOST_PANELS]
            timelines = [(run_set.label, timeline) for run_set in shown if (timeline := self._timeline(run_set))]
            if timelines:
                title = f"Worker timeline, {group.environment}"
                yield draw_timelines(f"timeline-{group.slug}", title, group.env, timelines)

    def _timeline(self, run_set: Any) -> Timeline | None:
        """The tasks of the run that stands for a run set: the first that is done, else the first."""
        if not run_set.runs:
            return None
        run = (run_set.done or run_set.runs)[0]
        if run.path not in self.timelines:
            self.timelines[run.path] = load_timeline(run, self.warn)
        return self.timelines[run.path]

    def _tables(self, comparison: PageCells, pairs: pd.DataFrame) -> list[Table]:
        parts, published, options = comparison.parts, self.published, self.options
        tables: list[Table | None] = []
        if options.paper and PagePart.CURVES in parts:
            tables.append(paper_table(comparison, options.style.statistic, options.style))
        tables += [imported_table(comparison), fairness_table(comparison)]
        if PagePart.CURVES in parts:
            tables.append(scores_table(comparison, published))
            tables.append(None if comparison.by_time else references_table(comparison, published))
            if options.reach is not None:
                tables.append(reach_table(comparison, options.reach, published, self.warn))
        if PagePart.STATISTICS in parts:
            tables += [pairs_table(comparison, pairs), *aggregate_tables(comparison), metrics_table(comparison)]
            tables.append(tuning_table(comparison))
        if PagePart.TIMES in parts and not comparison.at:
            tables.append(times_table(comparison, published, self.warn, self._timeline))
        return [table for table in tables if table is not None]


def _head(comparison: PageCells) -> Iterator[str]:
    if comparison.source:
        beside = "" if comparison.item == comparison.table else f", beside the numbers of {comparison.table}"
        yield f"After {comparison.item} of the {comparison.source}{beside}. Profile: {comparison.profile}."


def answer_blocks(answer: Any) -> tuple[list[str], list[str], list[Table]]:
    """What a study's page begins with: the claim with its source, a line for each pair, their tables."""
    study = answer.study
    source = f" ({study.source})" if study.source else ""
    lines = [f"Claim: {study.claim}{source}"] if study.claim else []
    if answer.standing and len(answer.answers) > 1:
        lines.append(f"All comparisons together: {answer.standing}.")
    tables: list[Table] = [answers_table(answer)] if answer.answers else []
    return lines, [answer_sentence(one) for one in answer.answers], [*tables, differences_from_study(answer)]


def _verdict_words(verdicts: Sequence[Any]) -> dict[str, Any]:
    """What the page's comparisons say: one sentence over all, then each, decided ones first."""
    spoken = [verdicts[i] for i in select_spoken([one.case for one in verdicts])]
    more = f" {len(spoken) - MOST_VERDICTS} more verdicts stand in {FILE}." if len(spoken) > MOST_VERDICTS else ""
    sentences = [(sentence(one), details(one)) for one in spoken[:MOST_VERDICTS]]
    return {"result": result(verdicts) + more if verdicts else "", "verdicts": sentences}
