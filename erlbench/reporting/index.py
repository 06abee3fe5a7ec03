"""The report's first page and `index.html`: the matrix, what is decided, what did not finish, how to repeat it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from erlbench.files import strip_unpacked
from erlbench.reporting.cells import fold
from erlbench.reporting.documents import (
    OVERVIEW,
    Content,
    Record,
    Table,
    build_table,
    csv_lines,
    web_page,
    write_content,
)
from erlbench.reporting.drawing import ChartData
from erlbench.reporting.matrix import overview
from erlbench.reporting.page import SMOKE, SMOKE_BANNER, answer_blocks
from erlbench.reporting.page_cells import PageCells, run_status
from erlbench.reporting.statistics import group_items
from erlbench.reporting.words import result
from erlbench.words import counted

MOST_LINES = 200  # of one list; the rest is in cells.csv
CELL_COLUMNS = [
    "env", "name", "seed", "status", "timesteps", "total_timesteps", "return_mean", "train_time_s", "updated",
    "message", "studies", "path", "command",
]  # fmt: skip


def write_index(
    out: Path,
    pages: Sequence[PageCells],
    runs: Sequence[Any],
    warnings: Sequence[str],
    charts: ChartData,
    checklist: Content | None = None,
) -> Path:
    """Write `index.md`, `index.html` and `cells.csv`; return the path of `index.html`."""
    _write_cells(out / "cells.csv", pages, runs)
    index = Content(
        template="index.jinja", title="Overview", values={**_index(pages, runs, warnings), "checklist": checklist}
    )
    write_content(index, out)
    contents, studies = [index], Counter(page.study for page in pages)
    for page in pages:
        name, study = page.name, page.study
        title = name if study and studies[study] > 1 else study or page.title  # the name has the profile
        contents.append(replace(page.content, title=title))
    contents += [checklist] if checklist else []
    path = out / "index.html"
    path.write_text(web_page(contents, charts.shared(), _first(pages)), encoding="utf-8")
    return path


def _index(pages: Sequence[PageCells], runs: Sequence[Any], warnings: Sequence[str]) -> Record:
    """What the template prints."""
    new = [page for page in pages if not page.is_reference]
    profiles = {page.profile for page in new if page.study}
    commands = Counter(run.command for run in runs if run.command)
    unknown = len(runs) - commands.total()
    none = f"; {counted(unknown, 'run')} {'has' if unknown == 1 else 'have'} none" if unknown else ""
    machines = Counter(run.hardware for run in runs), Counter(run.software for run in runs)
    return {
        "reference": [overview(page) for page in pages if page.is_reference and not page.study],
        "banner": SMOKE_BANNER if profiles == {SMOKE} else "",
        "studies": [(page.title, *answer_blocks(page.answer)[:2]) for page in new if page.answer],
        "comparisons": [
            (overview(page) if page.groups else None, result(page.verdicts)) for page in new if not page.study
        ],
        "summary": _summary(runs),
        "contents": _contents(pages),
        "lists": [
            ("Warnings", _limited(fold(warnings))),
            ("Runs that are not finished", _limited(_unfinished(runs))),
            (
                "Machines and versions",
                _limited(
                    f"{text} ({counted(count, 'run')})" for texts in machines for text, count in texts.most_common()
                ),
            ),
        ],
        "commands": _limited(" ".join(command.split()) for command in commands),
        "commands_of": f"The command lines of the runs (each run's last start), from meta.json{none}:",
    }


def _first(pages: Sequence[PageCells]) -> str:
    """The page that a reader sees first: the only one, unless it has a matrix, which the overview opens with."""
    names = {one.name for page in pages for one in page.entries}
    if len(pages) == 1 and (len(pages[0].groups) == 1 or len(names) == 1):
        return pages[0].name
    return OVERVIEW


def _summary(runs: Sequence[Any]) -> str:
    counts = Counter(run.status for run in runs)
    states = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    return f"{counted(len(runs), 'run')}{f': {states}' if states else ''}. All of them, one a line: "


def _contents(pages: Sequence[PageCells]) -> Table:
    rows = []
    for page in pages:
        done, planned = sum(len(one.seeds) for one in page.entries), sum(one.planned for one in page.entries)
        rows.append({**vars(page), "link": f"{page.name}/index.md", "done": done, "planned": planned})
    return build_table("contents", "", rows, name="")


def _unfinished(runs: Sequence[Any]) -> Iterator[str]:
    for run in (run for run in runs if not run.done):
        when = f", last update {run.updated}" if run.updated else ""
        yield f"{run.name} on {run.env}, seed {run.seed}: {run_status(run)}{when}"


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


def _limited(lines: Iterable[str]) -> list[str]:
    lines = list(lines)
    more = len(lines) - MOST_LINES
    return lines[:MOST_LINES] + ([f"... and {more} more"] if more > 0 else [])
