"""The pages of the report: of each comparison with its tables and figures, and the first one, which is index.html.

The first page has the matrix, what is decided, what did not finish, and how to repeat it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from erlbench.files import strip_unpacked
from erlbench.reporting.agreement import fairness_table, imported_table, tuning_table
from erlbench.reporting.cells import Warn, fold, list_rows
from erlbench.reporting.documents import (
    OVERVIEW,
    Content,
    Figure,
    Record,
    Table,
    build_table,
    csv_lines,
    web_page,
    write_content,
)
from erlbench.reporting.drawing import ChartData, draw
from erlbench.reporting.figures import GRID, columns_of_train, environments_grid, learning_curves, untimed_note
from erlbench.reporting.matrix import overview, paper_table
from erlbench.reporting.options import FORMATS, ReportOptions
from erlbench.reporting.page_cells import CURVES, STATISTICS, TIMES, PageCells, run_status
from erlbench.reporting.pairs import aggregate_tables, compare_pairs, pairs_table
from erlbench.reporting.reach import reach_table
from erlbench.reporting.scores import metrics_table, references_table, scores_table
from erlbench.reporting.significance import level_words
from erlbench.reporting.statistics import group_items
from erlbench.reporting.timeline import Timeline, draw_timelines, load_timeline
from erlbench.reporting.times import times_table
from erlbench.reporting.words import FILE, answer_sentence, details, effect_words, result, select_spoken, sentence
from erlbench.words import counted


def answers_table(answer: Any) -> Table:
    """A row for each pair and environment."""
    rows: list[Record] = [
        {
            **vars(pair),
            **dict(zip(("effect", "low", "high"), pair.effect, strict=True)),
            "effect_in_words": effect_words(pair),
            "verdict": str(pair.standing or pair.case or ""),
            "case": str(pair.case or ""),
            "p_holm": pair.outcome["p_holm"] if pair.outcome else math.nan,
            "seeds": " and ".join(str(len(side.scores)) for side in pair.samples or ()),
        }
        for pair in answer.answers
    ]
    tests = sum(not math.isnan(row["p_holm"]) for row in rows)
    return build_table(
        "answers",
        "What the study compares",
        rows,
        [f"Study SHA-256: {answer.study.sha256}."],
        level=level_words(),
        tests=counted(tests, "test"),
        claims=any(pair.standing is not None for pair in answer.answers),
        reasons=any(row["reason"] for row in rows),
    )


MOST_PANELS = 8  # timelines in a figure
MOST_VERDICTS = 6  # in sentences on a page
FOLDED = {  # parts of a page, shown on demand: what the names of its tables and figures begin with
    "What differs between the algorithms": ("fairness", "tuning", "imported"),
    "Other people's runs": ("reference-runs",),
    "Tests and other metrics": ("tests", "aggregate", "metrics"),
    "Times": ("times", "timeline"),
}
SMOKE = "smoke"  # the profile whose runs only show that everything works
SMOKE_BANNER = "These runs show that everything works. Their scores mean nothing."


@dataclass(frozen=True, kw_only=True)
class Maker:
    """What all pages of a report are made with."""

    out: Path
    warn: Warn
    options: ReportOptions
    charts: ChartData
    timelines: dict[Path, Timeline | None] = field(default_factory=dict)  # by runs, which several pages show

    def write(self, page: PageCells) -> PageCells:
        """Write the folder `out/<name>/` with `index.md`, tables and figures.

        The page of a study begins with its answer. The curve comes before the scores; where there are several
        environments, the scores come before their curves.
        """
        folder = self.out / page.name
        folder.mkdir(parents=True, exist_ok=True)
        curves, missing = self._draw_curves(page)
        curves = [self._write_figure(figure, folder, page) for figure in curves]
        pairs = compare_pairs(page) if CURVES in page.parts else pd.DataFrame()
        tables = [*page.tables, *self._make_tables(page, pairs)]
        others = [self._write_figure(figure, folder, page) for figure in self._draw_others(page)]
        names = [table.name for table in tables]
        place = names.index("scores") + (len(page.groups) > 1) if "scores" in names else 0
        blocks: list[Table | Figure] = [*tables[:place], *curves, *tables[place:], *others]
        parts = FOLDED if CURVES in page.parts else {}
        folded = {title: [block for block in blocks if block.name.startswith(names)] for title, names in parts.items()}
        verdicts = list_rows(pairs)
        spoken = [verdicts[i] for i in select_spoken([verdict.case for verdict in verdicts])]
        more = f" {len(spoken) - MOST_VERDICTS} more verdicts stand in {FILE}." if len(spoken) > MOST_VERDICTS else ""
        lines, answers, study = answer_blocks(page.answer) if page.answer else ([], [], [])
        if page.source:
            numbers = "" if page.item == page.table else f", next to the numbers of {page.table}"
            lines.insert(0, f"After {page.item} of the {page.source}{numbers}. Profile: {page.profile}.")
        values = {
            "title": page.title,
            "banner": SMOKE_BANNER if page.profile == SMOKE else "",
            "lines": lines,
            "answers": answers,
            "study": study,
            "result": result(verdicts) + more,
            "verdicts": [(sentence(pair), details(pair)) for pair in spoken[:MOST_VERDICTS]],
            "missing": missing,
            "first": [block for block in blocks if not block.name.startswith(sum(parts.values(), ()))],
            "parts": [(title, behind) for title, behind in folded.items() if behind],
        }
        content = Content(template="page.jinja", values=values, blocks=[*study, *blocks], name=page.name)
        write_content(content, self.out)
        return replace(page, content=content, verdicts=verdicts)

    def _write_figure(self, figure: Figure, folder: Path, page: PageCells) -> Figure:
        """A figure with the study's note, its chart, and files: in the options' formats, or as PNG without a chart."""
        has_chart = figure.kind not in ("columns", GRID)
        formats = self.options.formats or (() if has_chart else FORMATS[:1])
        formats = () if figure.kind == "timeline" else formats  # which is a chart alone
        if formats:
            draw(figure, folder / figure.name, formats)
        chart = self.charts.chart(figure) if has_chart else None
        return replace(figure, caption=[*figure.caption, *page.notes], formats=formats, chart=chart)

    def _draw_curves(self, page: PageCells) -> tuple[list[Figure], list[str]]:
        """The grid of a paper, the curves of each environment, and why others have none, which is also a warning."""
        drawn, missing = [], []
        for group in page.groups if CURVES in page.parts else ():
            if figure := learning_curves(page, group, self.options):
                drawn.append((group, figure))
            elif any(len(run.evaluations) for cell in group.cells for run in cell.runs):
                axis = self.options.x or page.x
                reason = untimed_note(group.cells) if axis == "time" else ""
                missing.append(f"{group.env}: no learning curves. {reason or f'No run has values over {axis}.'}")
                self.warn(missing[-1])
        grid = environments_grid(page, drawn, self.options.style) if self.options.paper else None
        return [*([grid] if grid else []), *(figure for _, figure in drawn)], missing

    def _draw_others(self, page: PageCells) -> Iterator[Figure]:
        """Columns of train.csv, and timelines of the runs that represent cells."""
        for group in page.groups if self.options.columns else ():
            if figure := columns_of_train(page, group, self.options, self.warn):
                yield figure
        for group in page.groups if TIMES in page.parts and not page.at else ():
            shown = [cell for cell in group.cells if cell.runs][:MOST_PANELS]
            timelines = [(cell.label, timeline) for cell in shown if (timeline := self._find_timeline(cell))]
            if timelines:
                yield draw_timelines(
                    f"timeline-{group.slug}", f"Worker timeline, {group.environment}", group.env, timelines
                )

    def _find_timeline(self, cell: Any) -> Timeline | None:
        """The tasks of the run that represents a cell: the first that is done, else the first."""
        for run in (cell.done or cell.runs)[:1]:
            if run.path not in self.timelines:
                self.timelines[run.path] = load_timeline(run, self.warn)
            return self.timelines[run.path]
        return None

    def _make_tables(self, page: PageCells, pairs: pd.DataFrame) -> list[Table]:
        parts, options = page.parts, self.options
        tables: list[Table | None] = []
        if options.paper and CURVES in parts:
            tables.append(paper_table(page, options.style.statistic, options.style))
        tables += [imported_table(page), fairness_table(page)]
        if CURVES in parts:
            tables.append(scores_table(page, pairs))
            tables.append(None if page.by_time else references_table(page))
            if options.reach is not None:
                tables.append(reach_table(page, options.reach, self.warn))
        if STATISTICS in parts:
            tables += [pairs_table(page, pairs), *aggregate_tables(page), metrics_table(page)]
            tables.append(tuning_table(page))
        if TIMES in parts and not page.at:
            tables.append(times_table(page, self.warn, self._find_timeline))
        return [table for table in tables if table is not None]


def answer_blocks(answer: Any) -> tuple[list[str], list[str], list[Table]]:
    """What a study's page begins with: the claim with its source, a line for each pair, their tables."""
    study = answer.study
    source = f" ({study.source})" if study.source else ""
    lines = [f"Claim: {study.claim}{source}"] if study.claim else []
    if answer.standing and len(answer.answers) > 1:
        lines.append(f"All comparisons together: {answer.standing}.")
    remarks = [] if answer.differences else ["Nothing differs from the study."]
    differences = build_table("differences", "What differs from the study", answer.differences, remarks)
    tables: list[Table] = [answers_table(answer)] if answer.answers else []
    return lines, [answer_sentence(pair) for pair in answer.answers], [*tables, differences]


MOST_LINES = 200  # of one list; the rest is in cells.csv
CELL_COLUMNS = [
    "env", "name", "seed", "status", "timesteps", "total_timesteps", "return_mean", "train_time_s", "updated",
    "message", "studies", "path", "command",
]  # fmt: skip


def write_index(
    out: Path,
    pages: Sequence[PageCells],
    runs: Sequence[Any],
    warnings: Iterable[str],
    charts: ChartData,
    checklist: Content | None = None,
) -> Path:
    """Write `index.md`, `index.html` and `cells.csv`; return the path of `index.html`."""
    _write_cells(out / "cells.csv", pages, runs)
    index = Content(
        template="index.jinja", title="Overview", values={**_fill_index(pages, runs, warnings), "checklist": checklist}
    )
    write_content(index, out)
    contents, studies = [index], Counter(page.study for page in pages)
    for page in pages:
        several = studies[page.study] > 1  # then the name has the profile
        contents.append(replace(page.content, title=page.name if page.study and several else page.study or page.title))
    contents += [checklist] if checklist else []
    path, first = out / "index.html", OVERVIEW
    # A reader sees the only page first, unless it has a matrix, which the overview opens with.
    if len(pages) == 1 and (len(pages[0].groups) == 1 or len({cell.name for cell in pages[0].entries}) == 1):
        first = pages[0].name
    path.write_text(web_page(contents, charts.shared(), first), encoding="utf-8")
    return path


def _fill_index(pages: Sequence[PageCells], runs: Sequence[Any], warnings: Iterable[str]) -> Record:
    """What the template prints."""
    new = [page for page in pages if not page.is_reference]
    commands = Counter(run.command for run in runs if run.command)
    unknown = len(runs) - commands.total()
    states = ", ".join(f"{count} {status}" for status, count in sorted(Counter(run.status for run in runs).items()))
    machines = Counter(run.hardware for run in runs), Counter(run.software for run in runs)
    lists = {
        "Warnings": fold(warnings),
        "Runs that are not finished": [
            f"{run.name} on {run.env}, seed {run.seed}: {run_status(run)}"
            + f", last update {run.updated}" * bool(run.updated)
            for run in runs
            if not run.done
        ],
        "Machines and versions": [
            f"{text} ({counted(count, 'run')})" for texts in machines for text, count in texts.most_common()
        ],
    }
    contents = [
        {
            **vars(page),
            "link": f"{page.name}/index.md",
            "done": sum(len(cell.seeds) for cell in page.entries),
            "planned": sum(cell.planned for cell in page.entries),
        }
        for page in pages
    ]
    return {
        "reference": [overview(page) for page in pages if page.is_reference and not page.study],
        "banner": SMOKE_BANNER if {page.profile for page in new if page.study} == {SMOKE} else "",
        "studies": [(page.title, *answer_blocks(page.answer)[:2]) for page in new if page.answer],
        "comparisons": [
            (overview(page) if page.groups else None, result(page.verdicts)) for page in new if not page.study
        ],
        "summary": f"{counted(len(runs), 'run')}: {states}. One line per run: ",
        "contents": build_table("contents", "", contents, name=""),
        "lists": [(title, _limit(lines)) for title, lines in lists.items()],
        "commands": _limit([" ".join(command.split()) for command in commands]),
        "commands_of": "The command lines of the runs (each run's last start), from meta.json"
        + f"; {counted(unknown, 'run')} without one" * bool(unknown)
        + ":",
    }


def _write_cells(path: Path, pages: Sequence[PageCells], runs: Sequence[Any]) -> None:
    shown = (page for page in pages if page.study and not page.is_reference)
    studies = group_items((run.path, page.name) for page in shown for run in page.runs)
    rows = [
        {
            **run._asdict(),
            "return_mean": run.evaluations.return_mean[-1] if len(run.evaluations) else None,
            "studies": " ".join(studies.get(run.path, [])),
            "path": strip_unpacked(str(run.path)),
        }
        for run in runs
    ]
    path.write_text(csv_lines(rows, CELL_COLUMNS), encoding="utf-8")


def _limit(lines: list[str]) -> list[str]:
    omitted = len(lines) - MOST_LINES
    return lines[:MOST_LINES] + ([f"... and {omitted} more"] if omitted > 0 else [])
