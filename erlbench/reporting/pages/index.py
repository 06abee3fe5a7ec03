"""The report's first page: what there is, what it was measured on, what did not finish, how to repeat it."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from erlbench.bundle import strip_unpacked
from erlbench.reporting.data.comparison import run_status
from erlbench.reporting.data.remarks import Remark, folded
from erlbench.reporting.data.runs import Run
from erlbench.reporting.documents import markdown
from erlbench.reporting.documents.files import csv_value
from erlbench.reporting.documents.formats import fraction, number
from erlbench.reporting.documents.model import Block, Bullets, Code, Column, Document, Heading, Link, Table, Text
from erlbench.reporting.pages import checklist
from erlbench.reporting.pages.charts import ChartData
from erlbench.reporting.pages.page import SMOKE, SMOKE_BANNER, Page, answer_blocks
from erlbench.reporting.pages.web import write_web_page
from erlbench.reporting.tables.overview import overview
from erlbench.reporting.verdict.words import result
from erlbench.words import counted

MOST_LINES = 200  # of one list; the rest is in cells.csv
CELL_COLUMNS = (
    "env", "name", "seed", "status", "timesteps", "total_timesteps", "return_mean", "train_time_s", "updated",
    "message", "studies", "path", "command",
)  # fmt: skip


def write_index(
    out: Path, pages: Sequence[Page], runs: Sequence[Run], warnings: Sequence[Remark], charts: ChartData,
    with_checklist: bool = False,
) -> Path:  # fmt: skip
    """Write `index.md`, `index.html`, `cells.csv` and perhaps the checklist; return the path of `index.html`."""
    _write_cells(out / "cells.csv", pages, runs)
    more = {checklist.NAME: checklist.checklist(pages, runs, warnings)} if with_checklist else {}
    for name, own in more.items():
        checklist.write_checklist(out / name, own)
    document = index_document(pages, runs, warnings, with_checklist)
    (out / "index.md").write_text(markdown.document(document), encoding="utf-8")
    path = out / "index.html"
    write_web_page(path, document, pages, charts.shared(), more)
    return path


def index_document(
    pages: Sequence[Page], runs: Sequence[Run], warnings: Sequence[Remark], with_checklist: bool = False
) -> Document:
    """The page that leads to all others."""
    blocks: list[Block] = [Heading("Report", 1)]
    if before := [page.comparison for page in pages if page.known and not page.comparison.study]:
        blocks += [Heading("Reference results"), *map(overview, before), Heading("New runs")]
    own = [page.comparison for page in pages if not page.known]
    if {one.profile for one in own if one.study} == {SMOKE}:
        blocks.append(Text((SMOKE_BANNER,), banner=True))
    for page in pages:
        if page.answer and not page.known:
            blocks += [Heading(page.comparison.title), *answer_blocks(page.answer, tables=False)]
    blocks += [_summary(runs), *_overviews(pages)]
    blocks += [Heading("Contents"), _contents(pages)]
    if with_checklist:
        blocks.append(Text((Link(checklist.TITLE, f"{checklist.NAME}/index.md"),)))
    for title, section in (
        ("Warnings", _list(folded(warnings))),
        ("Runs that are not finished", _list(_unfinished(runs))),
        ("Machines and versions", _list(_machines(runs))),
        ("How to reproduce", _commands(runs)),
    ):
        if section:
            blocks += [Heading(title), *section]
    return Document(blocks)


def _summary(runs: Sequence[Run]) -> Text:
    counts = Counter(run.status for run in runs)
    states = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    times = sorted(time for run in runs for time in (*run.machine.started, run.updated) if time)
    when = f" Started and updated between {_moment(times[0])} and {_moment(times[-1])}." if times else ""
    what = f"{counted(len(runs), 'run')}{f': {states}' if states else ''}.{when} All of them, one a line: "
    return Text((what, Link("cells.csv", "cells.csv"), "."))


def _overviews(pages: Sequence[Page]) -> Iterator[Block]:
    """What the comparisons say, and the scores; with sections, what those of each say stands below its scores."""
    own = [page for page in pages if not page.known and not page.comparison.study]
    for page in own:
        said = [Text((text,))] if (text := result(page.verdicts)) else []
        scores = [overview(page.comparison)] if page.comparison.groups else []
        yield from (*said, *scores) if len(own) == 1 else (*scores, *said)


def _moment(time: str) -> str:
    """A time of meta.json to the minute, such as `2026-01-31 18:05 UTC`; another text as it is."""
    try:
        return datetime.fromisoformat(time).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return time


def _contents(pages: Sequence[Page]) -> Table[Page]:
    columns: list[Column[Page]] = [
        Column("Page", lambda page: page.comparison.name, link=lambda page: page.link),
        Column("What", lambda page: page.comparison.title),
        Column("Profile", lambda page: page.comparison.profile),
        Column("Finished runs", lambda page: (page.done, page.planned), fraction, name=("finished", "planned")),
    ]
    return Table("", "", columns, pages)


def _unfinished(runs: Sequence[Run]) -> Iterator[str]:
    for run in (run for run in runs if not run.done):
        when = f", last update {run.updated}" if run.updated else ""
        known = f", training return {number(run.training_return)}" if math.isfinite(run.training_return) else ""
        yield f"{run.name} on {run.env}, seed {run.seed}: {run_status(run)}{known}{when}"


def _machines(runs: Sequence[Run]) -> Iterator[str]:
    for texts in (Counter(run.machine.hardware for run in runs), Counter(run.machine.software for run in runs)):
        for text, count in texts.most_common():
            yield f"{text} ({counted(count, 'run')})"


def _commands(runs: Sequence[Run]) -> list[Block]:
    commands = Counter(run.machine.command for run in runs if run.machine.command)
    lines = tuple(_limited(" ".join(command.split()) for command in commands))
    unknown = len(runs) - commands.total()
    none = f"; {counted(unknown, 'run')} {'has' if unknown == 1 else 'have'} none" if unknown else ""
    words = f"The command lines of the runs (each run's last start), from meta.json{none}:"
    return [Text((words,)), Code(lines)] if lines else []


def _list(lines: Iterable[str]) -> list[Block]:
    items = tuple(_limited(lines))
    return [Bullets(items)] if items else []


def _write_cells(path: Path, pages: Sequence[Page], runs: Sequence[Run]) -> None:
    where: dict[Path, list[str]] = {}
    for page in (page for page in pages if page.comparison.study and not page.known):
        for run in page.comparison.runs:
            where.setdefault(run.path, []).append(page.comparison.name)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CELL_COLUMNS)
        for run in runs:
            last = float(run.evaluations.return_mean[-1]) if len(run.evaluations) else None
            place = strip_unpacked(str(run.path))
            values = [
                run.env, run.name, run.seed, run.status, run.timesteps, run.total_timesteps, last, run.train_time_s,
                run.updated, run.message, " ".join(where.get(run.path, [])), place, run.machine.command,
            ]  # fmt: skip
            writer.writerow(map(csv_value, values))


def _limited(lines: Iterable[str]) -> list[str]:
    lines = list(lines)
    more = len(lines) - MOST_LINES
    return lines[:MOST_LINES] + ([f"... and {more} more"] if more > 0 else [])
